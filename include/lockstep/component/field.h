// Field: one key of a config struct: its name, documentation, range and role.
#pragma once

#include <limits>
#include <string_view>
#include <type_traits>

#include "lockstep/component/type.h"

namespace lockstep {

/// What a key may influence (docs/config.md, "Roles"): the trained bits, when the run ends, nothing, or where bytes lie.
/// A nested field cannot be stronger than what holds it: everything under a `nuisance` field is a nuisance.
enum class Role : std::uint8_t { bits, horizon, nuisance, location };
std::string_view text(Role r);

/// Numbers allowed: [low, high], or (low, high] after above().
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false;
  bool open_high = false;

  [[nodiscard]] constexpr bool limited() const {
    return low > -std::numeric_limits<double>::infinity() || high < std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] constexpr bool contain(double v) const {
    return (open_low ? v > low : v >= low) && (open_high ? v < high : v <= high);
  }
};

/// One key. Made by field<&Config::member>(name, doc); the default is the member's initialiser.
/// Builders return a changed copy: field<&C::lr>("lr", "Step size.").above(0).
/// Ranges hold for the number itself, or for each number inside an optional, list, map or variant.
struct Field {
  std::string_view name;
  std::string_view doc;
  const Type* type = nullptr;
  void* (*member)(void* config) = nullptr;
  Bounds bounds{};
  Role role = Role::bits;
  bool must_be_written = false;
  std::size_t min_items = 0;                                       // of a list or map
  std::size_t max_items = std::numeric_limits<std::size_t>::max();
  std::string_view only_field{};                                   // only_when: a field of the same struct ...
  std::string_view only_value{};                                   // ... and the text of its value
  bool (*becomes_bits)(const void* root) = nullptr;                // bits_when
  std::string_view one{};                                          // singular: the key of one, whose id is `main`
  std::string_view default_component{};                            // otherwise: what an absent component field reads as

  /// Allowed range, both ends included.
  [[nodiscard]] constexpr Field in(double low, double high) const {
    Field f = *this;
    f.bounds = {low, high, false, false};
    return f;
  }
  /// Greater than `low`, up to `high`.
  [[nodiscard]] constexpr Field above(double low, double high = std::numeric_limits<double>::infinity()) const {
    Field f = *this;
    f.bounds = {low, high, true, false};
    return f;
  }
  /// `low` included, `high` excluded: a dropout probability is .from_below(0, 1).
  [[nodiscard]] constexpr Field from_below(double low, double high) const {
    Field f = *this;
    f.bounds = {low, high, false, true};
    return f;
  }
  /// At least this many.
  [[nodiscard]] constexpr Field at_least(double low) const {
    return in(low, std::numeric_limits<double>::infinity());
  }
  [[nodiscard]] constexpr Field as(Role r) const {
    Field f = *this;
    f.role = r;
    return f;
  }
  /// The key must be written; its initialiser is then only a placeholder and need not lie in the range.
  [[nodiscard]] constexpr Field required() const {
    Field f = *this;
    f.must_be_written = true;
    return f;
  }
  /// How many items a list or map may have.
  [[nodiscard]] constexpr Field items(std::size_t least, std::size_t most = std::numeric_limits<std::size_t>::max()) const {
    Field f = *this;
    f.min_items = least;
    f.max_items = most;
    return f;
  }
  /// The key has an effect only when the field `other` of the same struct reads as `value`; else writing it is an error.
  [[nodiscard]] constexpr Field only_when(std::string_view other, std::string_view value) const {
    Field f = *this;
    f.only_field = other;
    f.only_value = value;
    return f;
  }
  /// The role is `bits` when Rule(root), a `bool(const Root&)`, holds for the whole resolved config.
  template <auto Rule>
  [[nodiscard]] constexpr Field bits_when() const;
  /// The field also answers to the key `key`, which takes one component; it gets the id `main`. For Many<Def>.
  [[nodiscard]] constexpr Field singular(std::string_view key) const {
    Field f = *this;
    f.one = key;
    return f;
  }
  /// An absent key reads as the component `name` with its defaults. For Ref<Def>, which is required without this.
  [[nodiscard]] constexpr Field otherwise(std::string_view component) const {
    Field f = *this;
    f.default_component = component;
    return f;
  }
};

template <class>
struct MemberOf;
template <class C, class T>
struct MemberOf<T C::*> {
  using Class = C;
  using Value = T;
};
template <class>
struct RuleOf;
template <class Root>
struct RuleOf<bool (*)(const Root&)> {
  using Class = Root;
};

template <auto Rule>
constexpr Field Field::bits_when() const {
  using Root = typename RuleOf<decltype(Rule)>::Class;
  Field f = *this;
  f.becomes_bits = [](const void* root) { return Rule(*static_cast<const Root*>(root)); };
  return f;
}

template <class C, auto M>
void* member_at(void* config) {
  return &(static_cast<C*>(config)->*M);
}

/// The key `name` stands for the member `M`. Names are snake_case; see docs/config.md for those that are reserved.
template <auto M>
constexpr Field field(std::string_view name, std::string_view doc) {
  using C = typename MemberOf<decltype(M)>::Class;
  using T = typename MemberOf<decltype(M)>::Value;
  return {.name = name,
          .doc = doc,
          .type = &kType<T>,
          .member = member_at<C, M>};
}

/// The member in a config that is only read.
inline const void* member_of(const Field& f, const void* config) { return f.member(const_cast<void*>(config)); }

}  // namespace lockstep
