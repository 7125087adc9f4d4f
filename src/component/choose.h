// Which component a written node chooses, before its keys are read.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/component/read.h"

namespace lockstep {

/// "a layer", "an optim".
std::string with_article(std::string_view word);

/// A letter, then letters, digits, _ and -.
bool legal_id(std::string_view id);

/// Keys that stand beside a component: id, from, coef, repeat.
bool is_reserved_key(std::string_view key);

/// Those that may stand beside a component of `kind` here.
std::vector<std::string_view> keys_beside(const KindInfo& kind, Place place);

/// What a component node chooses.
struct Chosen {
  std::string name{};           // empty: nothing that can be told
  Origin origin{};              // of the name
  const Node* body = nullptr;   // the map with the component's keys; null: none
  const Node* outer = nullptr;  // the map with the reserved keys; may equal body
  std::string why{};            // when the name is empty
  std::string note{};
};
Chosen choose(const KindInfo& kind, const Node& n, Place place);

}  // namespace lockstep
