// Type: what a member of a config struct is, as data. Reading, printing, schemas and docs all walk these.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace lockstep {

struct Field;
struct KindInfo;

/// One word of an enum. A config enum E has, in E's namespace,
///   constexpr Choice kModeChoices[] = {{"mean", Mode::mean}, {"sum", Mode::sum, "what it does"}};
///   constexpr std::span<const Choice> choices_of(Mode) { return kModeChoices; }
struct Choice {
  std::string_view name;
  std::int64_t value;
  std::string_view doc;
  template <class E>
    requires std::is_enum_v<E>
  constexpr Choice(std::string_view n, E v, std::string_view d = {})
      : name(n), value(static_cast<std::int64_t>(v)), doc(d) {}
};

enum class Form : std::uint8_t {
  number, integer, boolean, text, path, choice,  // scalars
  optional, list, dict, variant, group,          // built of others; a group is a struct with fields
  component,                                     // Ref<Def>
  components,                                    // Many<Def>: a list, or a map id -> component
  one_or_many,                                   // OneOrMany<Def>: one, or a map id -> component
};

/// A member's type. The function pointers reach into a value of that type; each form has those it needs.
struct Type {
  Form form{};
  const Type* element = nullptr;                   // optional, list, dict, components, one_or_many
  std::span<const Type* const> alternatives{};     // variant
  std::span<const Choice> choices{};               // choice
  std::span<const Field> (*fields)() = nullptr;    // group
  const KindInfo& (*kind)() = nullptr;             // component forms

  std::size_t (*size)(const void*) = nullptr;                     // elements held; optional: 0 or 1
  const void* (*at)(const void*, std::size_t) = nullptr;          // an element; variant: what it holds; Ref: its AnyRef
  std::string_view (*key)(const void*, std::size_t) = nullptr;    // dict: an element's key
  void* (*add)(void*, std::string_view key) = nullptr;            // appends an element; optional: makes it hold one
  void (*clear)(void*) = nullptr;                                 // back to no elements
  std::int64_t (*get)(const void*) = nullptr;                     // choice: its value; variant: which it holds
  void* (*set)(void*, std::int64_t) = nullptr;                    // choice: sets it; variant: holds a default of that one
  std::shared_ptr<void> (*create)() = nullptr;                    // group: a struct of defaults
  std::string (*problem)(const void*) = nullptr;                  // group: what is wrong with it, or nothing
};

template <class T>
struct TypeOf;  // one specialisation a form; a member of any other type is refused in words

/// The Type of a member of type T.
template <class T>
inline constexpr Type kType = TypeOf<T>::make();

template <class T>
concept HasFields = requires(const T* p) { fields_of(p); };
template <class T>
concept HasProblem = requires(const T& t) { { t.problem() } -> std::convertible_to<std::string>; };

template <class T>
std::string problem_of(const void* v) {
  if constexpr (HasProblem<T>) return static_cast<const T*>(v)->problem();
  return {};
}

/// Nested structs and enums; anything else is an error that says what is allowed.
template <class T>
struct TypeOf {
  static_assert(std::is_enum_v<T> || HasFields<T>,
                "a config member is a double, std::int64_t, bool, std::string, std::filesystem::path, an enum with "
                "choices_of(E), std::optional, std::vector, std::map<std::string, T>, std::variant, Ref<Def>, "
                "Many<Def>, OneOrMany<Def>, or a struct with fields_of(const T*)");
  static constexpr Type make() {
    Type t;
    if constexpr (std::is_enum_v<T>) {
      t.form = Form::choice;
      t.choices = choices_of(T{});
      t.get = [](const void* v) { return static_cast<std::int64_t>(*static_cast<const T*>(v)); };
      t.set = [](void* v, std::int64_t i) { *static_cast<T*>(v) = static_cast<T>(i); return v; };
    } else {
      t.form = Form::group;
      t.fields = [] { return std::span<const Field>(fields_of(static_cast<const T*>(nullptr))); };
      t.create = []() -> std::shared_ptr<void> { return std::make_shared<T>(); };
      t.problem = problem_of<T>;
    }
    return t;
  }
};
template <> struct TypeOf<double> { static constexpr Type make() { return {.form = Form::number}; } };
template <> struct TypeOf<std::int64_t> { static constexpr Type make() { return {.form = Form::integer}; } };
template <> struct TypeOf<bool> { static constexpr Type make() { return {.form = Form::boolean}; } };
template <> struct TypeOf<std::string> { static constexpr Type make() { return {.form = Form::text}; } };
template <> struct TypeOf<std::filesystem::path> { static constexpr Type make() { return {.form = Form::path}; } };

template <class T>
struct TypeOf<std::optional<T>> {
  using C = std::optional<T>;
  static constexpr Type make() {
    Type t{.form = Form::optional, .element = &kType<T>};
    t.size = [](const void* v) { return static_cast<const C*>(v)->has_value() ? std::size_t{1} : std::size_t{0}; };
    t.at = [](const void* v, std::size_t) -> const void* { return &**static_cast<const C*>(v); };
    t.add = [](void* v, std::string_view) -> void* { return &static_cast<C*>(v)->emplace(); };
    t.clear = [](void* v) { static_cast<C*>(v)->reset(); };
    return t;
  }
};
template <class T>
struct TypeOf<std::vector<T>> {
  static_assert(!std::is_same_v<T, bool>, "a list of booleans is not a config member: name each one");
  using C = std::vector<T>;
  static constexpr Type make() {
    Type t{.form = Form::list, .element = &kType<T>};
    t.size = [](const void* v) { return static_cast<const C*>(v)->size(); };
    t.at = [](const void* v, std::size_t i) -> const void* { return &(*static_cast<const C*>(v))[i]; };
    t.add = [](void* v, std::string_view) -> void* { return &static_cast<C*>(v)->emplace_back(); };
    t.clear = [](void* v) { static_cast<C*>(v)->clear(); };
    return t;
  }
};
template <class T>
struct TypeOf<std::map<std::string, T>> {
  using C = std::map<std::string, T>;
  static constexpr Type make() {
    Type t{.form = Form::dict, .element = &kType<T>};
    t.size = [](const void* v) { return static_cast<const C*>(v)->size(); };
    t.at = [](const void* v, std::size_t i) -> const void* { return &nth(v, i)->second; };
    t.key = [](const void* v, std::size_t i) { return std::string_view(nth(v, i)->first); };
    t.add = [](void* v, std::string_view k) -> void* { return &(*static_cast<C*>(v))[std::string(k)]; };
    t.clear = [](void* v) { static_cast<C*>(v)->clear(); };
    return t;
  }
  static typename C::const_iterator nth(const void* v, std::size_t i) {
    return std::next(static_cast<const C*>(v)->begin(), static_cast<std::ptrdiff_t>(i));
  }
};
template <class... T>
struct TypeOf<std::variant<T...>> {
  using C = std::variant<T...>;
  static constexpr const Type* kAll[] = {&kType<T>...};
  static constexpr Type make() {
    Type t{.form = Form::variant};
    t.alternatives = kAll;
    t.get = [](const void* v) { return static_cast<std::int64_t>(static_cast<const C*>(v)->index()); };
    t.at = [](const void* v, std::size_t) -> const void* {
      return std::visit([](const auto& x) -> const void* { return &x; }, *static_cast<const C*>(v));
    };
    t.set = [](void* v, std::int64_t i) { return hold(*static_cast<C*>(v), i, std::index_sequence_for<T...>{}); };
    return t;
  }
  template <std::size_t... I>
  static void* hold(C& c, std::int64_t i, std::index_sequence<I...>) {
    void* out = nullptr;
    ((static_cast<std::int64_t>(I) == i ? void(out = &c.template emplace<I>()) : void()), ...);
    return out;
  }
};

}  // namespace lockstep
