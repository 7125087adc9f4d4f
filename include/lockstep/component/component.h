// What a YAML name stands for: keys, documentation, factory. Constant data; no static initialisers.
// A component file defines a Config struct, a table of fields, a class and one definition; see docs/adding.md.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lockstep/component/field.h"
#include "lockstep/component/ref.h"
#include "lockstep/component/type.h"

namespace lockstep {

struct About {
  std::string_view doc, example;
  int version = 1;
};

template <class Def, class Impl, class Config, const auto& Fields>
struct Maker;
template <class P, class... Context, class Impl, class Config, const auto& Fields>
struct Maker<ComponentOf<P, Context...>, Impl, Config, Fields> {
  using Def = ComponentOf<P, Context...>;
  static_assert(std::is_constructible_v<Impl, const Config&, Context...>,
                "a component's class has a constructor (const Config&, and what its kind passes on)");
  static std::unique_ptr<typename Def::Product> make(const void* c, Context... context) {
    return std::make_unique<Impl>(*static_cast<const Config*>(c), std::forward<Context>(context)...);
  }
  static std::shared_ptr<void> create() { return std::make_shared<Config>(); }
};

/// The definition of a component: `Impl` is built from (const Config&, Context...); `Fields` is a namespace-scope
/// constexpr array of its keys, or kNoFields.
template <class Def, class Impl, class Config, const auto& Fields>
constexpr Def component(About a) {
  using M = Maker<Def, Impl, Config, Fields>;
  Def d;
  d.doc = a.doc;
  d.example = a.example;
  d.version = a.version;
  d.kind = &kKindInfo<typename Def::Kind>;
  d.fields = Fields;
  d.create = M::create;
  d.problem = problem_of<Config>;
  d.make = M::make;
  return d;
}
/// For components without keys.
inline constexpr std::span<const Field> kNoFields{};

/// One line of the generated component table.
struct ManifestRow {
  std::string_view kind, name;
  const ComponentDef* def;
  std::string_view file{};  // registry/<kind>/<name>.cpp
};
/// Every component under registry/ that this binary links.
std::span<const ManifestRow> builtin_components();

}  // namespace lockstep
