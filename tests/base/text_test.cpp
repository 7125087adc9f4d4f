// Tests of base/text.h.
#include "lockstep/base/text.h"

#include <doctest/doctest.h>

#include "print.h"

using namespace lockstep;

TEST_CASE("values as messages show them") {
  CHECK(text("abc") == "abc");
  CHECK(text(true) == "true");
  CHECK(text(-3) == "-3");
  CHECK(text(0.1f) == "0.1");
  CHECK(text(100000.0) == "100000");
  CHECK(text(std::vector<std::int64_t>{2, 3}) == "[2, 3]");
  CHECK(text(std::vector<std::vector<int>>{{1}, {}}) == "[[1], []]");
  CHECK(text(std::optional<int>()) == "none");
  CHECK(join(std::vector<std::string>{"a", "b"}, ", ") == "a, b");
  CHECK(quote("it's\n\x01") == "'it\\'s\\n\\x01'");
}

TEST_CASE("the nearest word") {
  const std::string_view names[] = {"momentum", "nesterov", "lr", "weight_decay", "relu", "gelu"};
  CHECK(nearest("momentun", names) == "momentum");
  CHECK(nearest("mometnum", names) == "momentum");
  CHECK(nearest("weight-decay", names) == "weight_decay");
  CHECK(nearest("ReLU", names) == "relu");
  CHECK(nearest("l", names) == "lr");
  CHECK(nearest("celu", names) == "relu");
  const std::string_view keys[] = {"min_factor", "warmup_steps", "optims", "optim", "hidden_features"};
  CHECK(nearest("warmup", keys) == "warmup_steps");
  CHECK(nearest("hiden", keys) == "hidden_features");
  CHECK(nearest("optimizer", keys) == "optim");
  CHECK_FALSE(nearest("min", keys).has_value());
  CHECK_FALSE(nearest("scheduler", keys).has_value());
  CHECK_FALSE(nearest("betas", names).has_value());
  CHECK_FALSE(nearest("x", names).has_value());
  CHECK_FALSE(nearest("", names).has_value());
}

TEST_CASE("hexadecimal digits") {
  const std::uint8_t bytes[] = {0x00, 0xab, 0x7f};
  CHECK(hex(bytes) == "00ab7f");
  CHECK(hex(std::uint64_t{0x1234}) == "0000000000001234");
  CHECK(from_hex("00AB7f") == std::vector<std::uint8_t>{0x00, 0xab, 0x7f});
  CHECK_FALSE(from_hex("0").has_value());
  CHECK_FALSE(from_hex("0g").has_value());
  CHECK_FALSE(from_hex("+1").has_value());
}

TEST_CASE("UTF-8") {
  CHECK_FALSE(utf8_error("plain, naïve, 日本, 😀").has_value());
  CHECK(code_points("naïve日😀") == 7);
  CHECK(utf8_error("ab\xff") == 2);
  CHECK(utf8_error("\xc0\x80") == 0);          // overlong
  CHECK(utf8_error("a\xed\xa0\x80") == 1);      // surrogate
  CHECK(utf8_error("\xf4\x90\x80\x80") == 0);  // above U+10FFFF
  CHECK(utf8_error("x\xe6\x97") == 1);          // cut short
}

TEST_CASE("whole numbers and nothing else") {
  CHECK(parse_double("1e-3") == 1e-3);
  CHECK(parse_double("+5") == 5.0);
  for (const char* bad : {"", "+", "+-5", "1_000", "inf", "nan", "1e999", "1 ", " 1", "0x10"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_double(bad).has_value());
  }
  CHECK(parse_int("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(parse_int("9223372036854775808").has_value());
  CHECK_FALSE(parse_int("1.0").has_value());
}

TEST_CASE("what a terminal and a JSON document may get") {
  CHECK(printable("größe 日本\tx\n") == "größe 日本\tx\n");
  CHECK(printable("a\x1b[31mb\rc\x7f") == "a\\x1b[31mb\\x0dc\\x7f");
  CHECK(printable("a\xc2\x9b" "31m\xff\xc3") == "a\\xc2\\x9b31m\\xff\\xc3");
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");
  CHECK(valid_utf8("a\xff\xc3(é") == "a\ufffd\ufffd(é");
  CHECK_FALSE(utf8_error(valid_utf8("\xf0\x9f\x98\xed\xa0\x80")));
}
