// Tests of base/json.h.
#include "lockstep/base/json.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "print.h"

using namespace lockstep;

namespace {

std::string complaint(std::string_view document) {
  try {
    Json::parse(document, "x.json");
  } catch (const Error& error) {
    CHECK(error.category == Category::data);
    return error.message;
  }
  return "no error";
}

}  // namespace

TEST_CASE("values survive writing and reading") {
  Json v = Json::object();
  v.set("b", 1).set("a", Json::array().push(true).push(nullptr).push("x\"\n\u00e9"));
  v["big"] = std::uint64_t{18446744073709551615u};
  v["small"] = std::numeric_limits<std::int64_t>::min();
  v["pi"] = 0.1;
  v["whole"] = 100000.0;
  v["tiny"] = -5e-324;
  const std::string line = v.dump();
  CHECK(line == "{\"b\":1,\"a\":[true,null,\"x\\\"\\n\u00e9\"],\"big\":18446744073709551615,"
                "\"small\":-9223372036854775808,\"pi\":0.1,\"whole\":100000.0,\"tiny\":-5e-324}");
  CHECK(Json::parse(line, "x") == v);
  CHECK(Json::parse(v.dump(2), "x") == v);
  CHECK(Json::parse(line, "x").dump() == line);
  CHECK(v.at("big").unsigned_integer() == 18446744073709551615u);
  CHECK(Json::parse("[1, 1.0]", "x").dump() == "[1,1.0]");
  CHECK(Json(7u) == Json(7));
  CHECK(Json::parse("{\"a\": []}", "x").dump(2) == "{\n  \"a\": []\n}");
}

TEST_CASE("values that JSON lacks are written as strings and read back as numbers") {
  CHECK(Json(std::nan("")).dump() == "\"NaN\"");
  CHECK(std::isnan(Json::parse("\"NaN\"", "x").number()));
  CHECK(Json::parse(Json(-HUGE_VAL).dump(), "x").number() == -HUGE_VAL);
}

TEST_CASE("what is refused") {
  CHECK(complaint("{\"a\":1,\n\"a\":2}") == "x.json: the key 'a' stands twice in one object; keep one of them");
  CHECK(complaint("[1,\n 2,,]").find("not JSON at line 2, column 4") != std::string::npos);
  CHECK(complaint("").find("end of text") != std::string::npos);
  CHECK(complaint("18446744073709551616").find("does not fit in 64 bits") != std::string::npos);
  CHECK(complaint("[1] x").find("not JSON") != std::string::npos);
  CHECK(complaint("[\"\xff\"]").find("not UTF-8 at line 1, column 3") != std::string::npos);
  CHECK(complaint(std::string(100000, '[')).find("nested more than 128 levels") != std::string::npos);
  CHECK(complaint("NaN").find("not JSON") != std::string::npos);
  CHECK_THROWS_AS(Json("\xff").dump(), Error);
}

TEST_CASE("wrong types are errors of data") {
  const Json v = Json::parse("{\"a\": -1, \"s\": \"x\"}", "x");
  CHECK_THROWS_WITH_AS(v.at("c"), "a JSON object lacks the key 'c'; it has: 'a', 's'", Error);
  CHECK_THROWS_AS(v.at("s").integer(), Error);
  CHECK_THROWS_AS(v.at("a").unsigned_integer(), Error);
  CHECK_THROWS_AS(v.at("s").number(), Error);
  CHECK(v.find("c") == nullptr);
  CHECK(v.at("a").find("c") == nullptr);
}

TEST_CASE("a document is shown whatever its texts are") {
  const Json value = Json::object().set("a\xff", "x\x1b\x7f\xc2\x9b" "é\xff");
  CHECK_THROWS_AS(value.dump(), Error);
  CHECK(value.shown() == "{\"a\ufffd\":\"x\\u001b\\u007f\\u009bé\ufffd\"}");
  CHECK(Json::parse(value.shown(2), "x").at("a\ufffd").string() == "x\x1b\x7f\xc2\x9b" "é\ufffd");
  CHECK(Json::object().set("a", 1).shown(2) == Json::object().set("a", 1).dump(2));
}
