// The one source that includes nlohmann/json: parsing by its SAX interface, so that duplicate keys, depth and large
// integers are seen; writing is our own.
#include "lockstep/base/json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {

namespace {

// Where `offset` lies, as "line 2, column 5" counted in code points.
std::string place(std::string_view document, std::size_t offset) {
  offset = std::min(offset, document.size());
  const std::string_view before = document.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}", line, code_points(before.substr(start)) + 1);
}

class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view document, std::string_view source) : document_(document), source_(source) {}

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t& token) override {
    if (token.find_first_of(".eE") == std::string::npos) {
      failf(Category::data, "{}: the integer {} does not fit in 64 bits", source_, token);
    }
    return add(Json(value));
  }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (open_.back().find(name) != nullptr) {
      failf(Category::data, "{}: the key {} stands twice in one object; keep one of them", source_, quote(name));
    }
    keys_.back() = std::move(name);
    return true;
  }
  bool parse_error(std::size_t offset, const std::string& token, const nlohmann::json::exception&) override {
    failf(Category::data, "{}: not JSON at {}: unexpected {}", source_, place(document_, offset == 0 ? 0 : offset - 1),
          token.empty() ? std::string("end of text") : quote(token));
  }

  Json take() { return std::move(result_); }

 private:
  bool open(Json value) {
    if (open_.size() >= static_cast<std::size_t>(Json::kMaxDepth)) {
      failf(Category::data, "{}: nested more than {} levels deep", source_, Json::kMaxDepth);
    }
    open_.push_back(std::move(value));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Json value = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return add(std::move(value));
  }
  bool add(Json value) {
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (open_.back().is_array()) {
      open_.back().push(std::move(value));
    } else {
      open_.back().set(keys_.back(), std::move(value));
    }
    return true;
  }

  std::string_view document_, source_;
  std::vector<Json> open_;
  std::vector<std::string> keys_;  // the pending key of each open object
  Json result_;
};

[[noreturn]] void wrong_type(std::string_view wanted, const Json& value) {
  failf(Category::data, "a JSON value is {} where {} is expected: {}", text(value.type()), wanted,
        value.size() > 8 ? std::string("…") : value.dump());
}

// What becomes of texts that JSON or a terminal cannot take: an error, or another text.
enum class Texts : std::uint8_t { strict, shown };

void write_string(std::string& out, std::string_view s, Texts texts) {
  if (const auto bad = utf8_error(s)) {
    if (texts == Texts::shown) return write_string(out, valid_utf8(s), texts);
    failf(Category::data, "a JSON string must be UTF-8; the byte at offset {} of {} is not", *bad, quote(s.substr(0, *bad)));
  }
  out += '"';
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || (texts == Texts::shown && c == '\x7f')) {
          out += fmt::format("\\u{:04x}", static_cast<int>(c));
        } else if (texts == Texts::shown && c == '\xc2' && static_cast<unsigned char>(s[i + 1]) < 0xa0) {
          out += fmt::format("\\u{:04x}", static_cast<int>(static_cast<unsigned char>(s[++i])));   // U+0080 to U+009F
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void write_double(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
  } else if (std::isinf(value)) {
    out += value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  } else {
    std::string digits = fmt::format("{}", value);
    if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
    out += digits;
  }
}

void write(std::string& out, const Json& value, int indent, int depth, Texts texts) {
  const auto separate = [&](int level) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent * level), ' ');
  };
  switch (value.type()) {
    case Json::Type::null: out += "null"; return;
    case Json::Type::boolean: out += value.boolean() ? "true" : "false"; return;
    case Json::Type::integer: out += text(value.integer()); return;
    case Json::Type::unsigned_integer: out += text(value.unsigned_integer()); return;
    case Json::Type::number: write_double(out, value.number()); return;
    case Json::Type::string: write_string(out, value.string(), texts); return;
    case Json::Type::array: {
      out += '[';
      bool first = true;
      for (const Json& item : value.items()) {
        if (!first) out += ',';
        first = false;
        separate(depth + 1);
        write(out, item, indent, depth + 1, texts);
      }
      if (!first) separate(depth);
      out += ']';
      return;
    }
    case Json::Type::object: {
      out += '{';
      bool first = true;
      for (const auto& [key, item] : value.members()) {
        if (!first) out += ',';
        first = false;
        separate(depth + 1);
        write_string(out, key, texts);
        out += indent < 0 ? ":" : ": ";
        write(out, item, indent, depth + 1, texts);
      }
      if (!first) separate(depth);
      out += '}';
      return;
    }
  }
}

}  // namespace

std::string_view text(Json::Type type) {
  constexpr std::string_view kNames[] = {"null",   "boolean", "integer", "unsigned integer",
                                         "number", "string",  "array",   "object"};
  return kNames[static_cast<std::size_t>(type)];
}

Json::Json() = default;
// By way of a copy that is whole: a copy constructor of std::variant that runs out of memory destroys, in GCC 12's library,
// a member that was never made, because it holds that strings and vectors leave no variant without a value.
Json::Json(const Json& other) {
  std::visit([this](const auto& value) {
    auto copy = value;
    value_ = std::move(copy);
  }, other.value_);
}
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json& other) { return *this = Json(other); }
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;
Json::Json(std::string value) : value_(std::move(value)) {}
Json::Json(std::string_view value) : value_(std::string(value)) {}
Json::Json(const char* value) : value_(std::string(value)) {}
Json::Json(Array items) : value_(std::move(items)) {}
Json::Json(Object members) : value_(std::move(members)) {}

Json::Json(double value) : value_(value) {}
Json::Json(Boolean b) : value_(b.value) {}
Json::Json(Integer i) {
  if (i.is_unsigned && i.bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    value_ = i.bits;
  } else {
    value_ = static_cast<std::int64_t>(i.bits);
  }
}

bool Json::boolean() const {
  if (const bool* v = std::get_if<bool>(&value_)) return *v;
  wrong_type("a boolean", *this);
}

std::int64_t Json::integer() const {
  if (const auto* v = std::get_if<std::int64_t>(&value_)) return *v;
  wrong_type("an integer of 64 bits", *this);
}

std::uint64_t Json::unsigned_integer() const {
  if (const auto* v = std::get_if<std::uint64_t>(&value_)) return *v;
  if (const auto* v = std::get_if<std::int64_t>(&value_); v != nullptr && *v >= 0) return static_cast<std::uint64_t>(*v);
  wrong_type("an integer that is not negative", *this);
}

double Json::number() const {
  if (const auto* v = std::get_if<double>(&value_)) return *v;
  if (const auto* v = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<std::string>(&value_)) {
    if (*v == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (*v == "Infinity") return std::numeric_limits<double>::infinity();
    if (*v == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  wrong_type("a number", *this);
}

const std::string& Json::string() const {
  if (const auto* v = std::get_if<std::string>(&value_)) return *v;
  wrong_type("a string", *this);
}

const Json::Array& Json::items() const {
  if (const auto* v = std::get_if<Array>(&value_)) return *v;
  wrong_type("an array", *this);
}

const Json::Object& Json::members() const {
  if (const auto* v = std::get_if<Object>(&value_)) return *v;
  wrong_type("an object", *this);
}

std::size_t Json::size() const {
  if (const auto* v = std::get_if<Array>(&value_)) return v->size();
  if (const auto* v = std::get_if<Object>(&value_)) return v->size();
  return 0;
}

const Json* Json::find(std::string_view key) const {
  const auto* object = std::get_if<Object>(&value_);
  if (object == nullptr) return nullptr;
  for (const auto& [name, value] : *object) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* found = find(key)) return *found;
  std::vector<std::string> names;
  for (const auto& member : members()) names.push_back(quote(member.first));
  failf(Category::data, "a JSON object lacks the key {}; it has: {}", quote(key),
        names.empty() ? std::string("none") : join(names, ", "));
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object();
  if (Json* found = const_cast<Json*>(find(key))) return *found;
  static_cast<void>(members());
  auto& object = std::get<Object>(value_);
  object.emplace_back(std::string(key), Json());
  return object.back().second;
}

Json& Json::set(std::string_view key, Json value) {
  (*this)[key] = std::move(value);
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) value_ = Array();
  static_cast<void>(items());
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

bool Json::operator==(const Json& other) const { return value_ == other.value_; }

Json Json::parse(std::string_view document, std::string_view source) {
  if (const auto bad = utf8_error(document)) {
    failf(Category::data, "{}: not UTF-8 at {}", source, place(document, *bad));
  }
  Builder builder(document, source);
  nlohmann::json::sax_parse(document.begin(), document.end(), &builder);
  return builder.take();
}

std::string Json::dump(int indent) const {
  std::string out;
  write(out, *this, indent, 0, Texts::strict);
  return out;
}

std::string Json::shown(int indent) const {
  std::string out;
  write(out, *this, indent, 0, Texts::shown);
  return out;
}

}  // namespace lockstep
