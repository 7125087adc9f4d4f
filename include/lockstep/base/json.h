// One JSON value: ordered objects, exact 64-bit integers, strict parsing.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep {

// A small JSON value. Objects keep the order in which keys were added. Wrong-type access is Error{data}.
class Json {
 public:
  enum class Type : std::uint8_t { null, boolean, integer, unsigned_integer, number, string, array, object };
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  // Nesting allowed by parse().
  static constexpr int kMaxDepth = 128;

  // Not inline: in every user they would be a fifth of its compile time.
  Json();
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();
  Json(std::nullptr_t) : Json() {}
  template <class T>
    requires std::same_as<T, bool>
  Json(T value) : Json(Boolean{value}) {}
  // Signed types become integers; unsigned ones too when they fit, so that equal numbers compare equal.
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : Json(Integer{static_cast<std::uint64_t>(value), std::is_unsigned_v<T>}) {}
  Json(double value);
  Json(std::string value);
  Json(std::string_view value);
  Json(const char* value);
  Json(Array items);
  Json(Object members);

  static Json array() { return Json(Array()); }
  static Json object() { return Json(Object()); }

  Type type() const { return static_cast<Type>(value_.index()); }
  bool is_null() const { return type() == Type::null; }
  bool is_string() const { return type() == Type::string; }
  bool is_array() const { return type() == Type::array; }
  bool is_object() const { return type() == Type::object; }
  // Integer, unsigned integer or number.
  bool is_number() const { return type() >= Type::integer && type() <= Type::number; }

  bool boolean() const;
  // An integer within int64.
  std::int64_t integer() const;
  // An integer within uint64.
  std::uint64_t unsigned_integer() const;
  // Any number as double; also the strings "NaN", "Infinity", "-Infinity" that dump() writes for those values.
  double number() const;
  const std::string& string() const;
  const Array& items() const;
  const Object& members() const;
  // Items of an array or members of an object; 0 otherwise.
  std::size_t size() const;

  // The member, or null when this is no object or has no such key.
  const Json* find(std::string_view key) const;
  // The member; Error{data} naming the key when it is missing.
  const Json& at(std::string_view key) const;
  // The member, added as null when missing; a null value becomes an object first.
  Json& operator[](std::string_view key);
  // Sets a member (replacing in place, else appended) and returns *this.
  Json& set(std::string_view key, Json value);
  // Appends to an array; a null value becomes an array first. Returns *this.
  Json& push(Json value);

  // Equal type and value; objects equal in order too. NaN equals nothing.
  bool operator==(const Json& other) const;

  // Reads one document. `source` names it in errors. Error{data} with line and column for a syntax error,
  // a duplicate key, invalid UTF-8, an integer outside 64 bits, or nesting beyond kMaxDepth.
  static Json parse(std::string_view document, std::string_view source);

  // Compact by default; `indent` >= 0 puts every item on its own line. Doubles are the shortest digits that
  // read back equal and always look like doubles; NaN and infinities are written as strings.
  // Error{data} if a string is not UTF-8.
  std::string dump(int indent = -1) const;
  // As dump(), for whoever reads the output of a command: what is not UTF-8 becomes U+FFFD, and every control character is
  // escaped. Never an error, and not the text to hash or to read back.
  std::string shown(int indent = -1) const;

 private:
  struct Boolean {
    bool value;
  };
  struct Integer {
    std::uint64_t bits;
    bool is_unsigned;
  };
  explicit Json(Boolean b);
  explicit Json(Integer i);

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

// "null", "boolean", ...
std::string_view text(Json::Type type);

}  // namespace lockstep
