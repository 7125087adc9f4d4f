// Walking a tree by paths in which an item may be named by its index, its id or its component.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/config/node.h"

namespace lockstep {

/// Keys that stand beside a component in a list.
bool is_reserved(std::string_view key);

/// The index of the only key of a list item `{linear: {...}}` that is not reserved, when its value is a map or null
/// and there is no `name`; -1 otherwise.
int short_form(const Node& item);

/// The component that a list item names: `relu`, `{name: relu}`, `{relu: {}}`; empty when it names none.
std::string_view item_component(const Node& item);

/// The index that `segment` names in a list; -1 with `why` (and `near`, a legal segment) when there is none.
int item_index(const Node& list, const std::string& segment, std::string& why, std::string& near);

/// A place found in a tree.
struct Found {
  const Node* node = nullptr;
  std::vector<std::string> path;  // keys and indices only
};
/// The node at `segments`; without a node when there is none.
Found locate(const Node& root, const std::vector<std::string>& segments);

/// `a.b.c` from segments.
std::string path_text(const std::vector<std::string>& segments);

}  // namespace lockstep
