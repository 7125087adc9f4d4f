// Kinds of component, and references to a component chosen inside a config.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/component/field.h"
#include "lockstep/component/type.h"
#include "lockstep/config/node.h"

namespace lockstep {

/// A key that chooses a component where the name is left out: `layers` chooses `sequential` among models.
struct Mark {
  std::string_view key, component;
};

/// Which of the keys beside an item have a meaning for a kind; `id` has for all.
struct Beside {
  bool from = false;    // the ids of its inputs
  bool coef = false;    // a factor
  bool repeat = false;  // how often a list repeats the item
};

/// What holds for a kind. A kind is a class or tag P with `static constexpr std::string_view kKind = "optimizers";` and,
/// where it differs from the default: `kWord = "optim"` (singular, for messages), `kMarks` (an array of Mark),
/// `static constexpr Beside kBeside = {.coef = true};` (which keys may stand beside it), `using Common = OptimCommon;`
/// (keys accepted beside every component of the kind; has fields_of(const Common*)),
/// `using Made = Module;` (what a factory returns, when that is not P itself).
struct KindInfo {
  std::string_view kind, word;
  std::span<const Mark> marks{};
  const Type* common = nullptr;  // a group, or null
  Beside beside{};
};

/// The part that every component has. Its kind and name are its file's path, added by the manifest.
struct ComponentDef {
  std::string_view doc, example;  // the example is an item of a list, as a user would write it: `linear: {out_features: 10}`
  int version = 1;                // raised when an equal config would give other bits
  const KindInfo* kind = nullptr;
  std::span<const Field> fields{};
  std::shared_ptr<void> (*create)() = nullptr;             // a Config of defaults
  std::string (*problem)(const void* config) = nullptr;    // Config::problem() when it has one
};

template <class P>
constexpr KindInfo make_kind() {
  KindInfo k;
  k.kind = P::kKind;
  k.word = P::kKind.substr(0, P::kKind.size() - 1);
  if constexpr (requires { P::kWord; }) k.word = P::kWord;
  if constexpr (requires { P::kMarks; }) k.marks = P::kMarks;
  if constexpr (requires { P::kBeside; }) k.beside = P::kBeside;
  if constexpr (requires { typename P::Common; }) k.common = &kType<typename P::Common>;
  return k;
}
template <class P>
inline constexpr KindInfo kKindInfo = make_kind<P>();

template <class P>
struct MadeBy {
  using Type = P;
};
template <class P>
  requires requires { typename P::Made; }
struct MadeBy<P> {
  using Type = typename P::Made;
};

/// A definition of kind `P`, whose objects are built from (const Config&, Context...).
/// Kinds are aliases of this: `using OptimizerDef = ComponentOf<Optimizer>;`.
template <class P, class... Context>
struct ComponentOf : ComponentDef {
  using Kind = P;
  using Product = typename MadeBy<P>::Type;
  std::unique_ptr<Product> (*make)(const void* config, Context... context) = nullptr;
};

/// Fails with Error(internal) naming the kind: nothing was chosen.
[[noreturn]] void fail_empty_ref(std::string_view kind);

/// A component chosen in a config, with its config read and checked.
struct AnyRef {
  const ComponentDef* def = nullptr;    // null: none was chosen
  std::string_view name{};              // the registered name
  std::shared_ptr<const void> config{};
  std::shared_ptr<const void> common{}; // the kind's common keys, when it has any
  Origin origin{};                      // where the name is written
  std::string id{};                     // as written, or empty; `main` for a singular key
  std::vector<std::string> from{};      // ids of the inputs (graph models)
  double coef = 1.0;                    // factor (losses)
  std::int64_t repeat = 1;              // how often a list repeats the item

  explicit operator bool() const { return def != nullptr; }
  /// The kind's common keys, read: ref.common_as<OptimizerDef>().lr.
  template <class Def>
  [[nodiscard]] const typename Def::Kind::Common& common_as() const {
    if (common == nullptr) fail_empty_ref(kKindInfo<typename Def::Kind>.kind);
    return *static_cast<const typename Def::Kind::Common*>(common.get());
  }
  /// `layer 'linear' (configs/x.yaml:12:7)`: for errors.
  [[nodiscard]] std::string shown() const;
};

/// `schedule: cosine` is a Ref<ScheduleDef>. An absent key is an error unless the field is an std::optional<Ref<...>>
/// or says .otherwise("name").
template <class Def>
struct Ref : AnyRef {
  /// Builds the object.
  template <class... A>
  [[nodiscard]] auto make(A&&... context) const {
    if (def == nullptr) fail_empty_ref(kKindInfo<typename Def::Kind>.kind);
    return static_cast<const Def*>(def)->make(config.get(), std::forward<A>(context)...);
  }
};

/// Several components with ids, in the order written: a list whose items may have an `id`, or a map id -> component.
template <class Def>
struct Many {
  std::vector<Ref<Def>> items;
};
/// One component (its id is `main`), or a map id -> component, kept in the order of the ids.
template <class Def>
struct OneOrMany {
  std::vector<Ref<Def>> items;
};

template <class Def>
struct TypeOf<Ref<Def>> {
  static constexpr Type make() {
    Type t{.form = Form::component};
    t.kind = []() -> const KindInfo& { return kKindInfo<typename Def::Kind>; };
    t.size = [](const void* v) { return static_cast<const Ref<Def>*>(v)->def ? std::size_t{1} : std::size_t{0}; };
    t.at = [](const void* v, std::size_t) -> const void* {
      return static_cast<const AnyRef*>(static_cast<const Ref<Def>*>(v));
    };
    t.add = [](void* v, std::string_view) -> void* { return static_cast<AnyRef*>(static_cast<Ref<Def>*>(v)); };
    t.clear = [](void* v) { *static_cast<Ref<Def>*>(v) = {}; };
    return t;
  }
};
template <class List, class Def, Form F>
constexpr Type make_list_of_refs() {
  Type t{.form = F, .element = &kType<Ref<Def>>};
  t.kind = []() -> const KindInfo& { return kKindInfo<typename Def::Kind>; };
  t.size = [](const void* v) { return static_cast<const List*>(v)->items.size(); };
  t.at = [](const void* v, std::size_t i) -> const void* { return &static_cast<const List*>(v)->items[i]; };
  t.add = [](void* v, std::string_view) -> void* { return &static_cast<List*>(v)->items.emplace_back(); };
  t.clear = [](void* v) { static_cast<List*>(v)->items.clear(); };
  return t;
}
template <class Def>
struct TypeOf<Many<Def>> {
  static constexpr Type make() { return make_list_of_refs<Many<Def>, Def, Form::components>(); }
};
template <class Def>
struct TypeOf<OneOrMany<Def>> {
  static constexpr Type make() { return make_list_of_refs<OneOrMany<Def>, Def, Form::one_or_many>(); }
};

}  // namespace lockstep
