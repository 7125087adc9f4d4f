// Composes a configuration: file, `extends`, overrides, references.
#include "lockstep/config/compose.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/core.h>

#include "config/merge.h"
#include "config/override.h"
#include "config/references.h"
#include "config/walk.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/config/load_yaml.h"

namespace lockstep {
namespace {

class Composer {
 public:
  Composer(Diagnostics& diagnostics, const MergeRules& rules)
      : diagnostics_(diagnostics), rules_(rules), merger_(out_, rules, diagnostics) {}

  Composed run(const SourceRef& source, std::span<const std::string> overrides) {
    out_.root = Node::make_map({source, 1, 1});
    add_file(source, absolute_path(source->name));
    for (std::size_t i = 0; i < overrides.size(); ++i) {
      apply_override(overrides[i], static_cast<int>(i) + 1, out_, merger_, rules_, used_, diagnostics_);
    }
    resolve_references(out_.root, diagnostics_);
    report_unused_vars(out_.root, used_, diagnostics_);
    if (const Node* vars = out_.root.find("vars")) out_.vars = *vars;
    out_.root.erase("vars");
    return std::move(out_);
  }

 private:
  /// Merges what `source` extends, then `source` itself.
  void add_file(const SourceRef& source, const std::string& path) {
    if (std::ranges::find(out_.files, source->name) == out_.files.end()) out_.files.push_back(source->name);
    Node tree = load_yaml(source, diagnostics_);
    if (tree.is_null()) return;
    if (!tree.is_map()) {
      diagnostics_.error(tree.origin, {}, fmt::format("a config is a map of keys, but this is {}", tree.shown()));
      return;
    }
    refuse_inner_extends(tree, diagnostics_, true);
    open_.push_back(path);
    if (const Node* extends = tree.find("extends")) {
      if (extends->is_list()) {
        for (const Node& item : extends->items) extend(item, source);
      } else {
        extend(*extends, source);
      }
    }
    open_.pop_back();
    tree.erase("extends");
    collect_references(tree, used_);
    merger_.merge(std::move(tree));
  }

  void extend(const Node& item, const SourceRef& source) {
    const auto error = [&](std::string message, std::string note = {}, Site site = {}) {
      diagnostics_.error(item.origin, "extends", std::move(message), {}, std::move(note), site);
    };
    if (!item.is_scalar()) return error(fmt::format("'extends' is a path or a list of paths, but this is {}", item.shown()));
    if (item.scalar.find("${") != std::string::npos) {
      return error("a reference cannot stand in 'extends'", "references are resolved after the files were merged");
    }
    if (item.scalar.empty()) return error("'extends' is empty; it is a path or a list of paths");
    // Two files that each name the next one twice double what is merged at every step.
    if (++extended_ > kMostMerged) {
      if (extended_ == kMostMerged + 1) error(fmt::format("more than {} files are merged by 'extends'", kMostMerged), "a file that several others extend is merged for each of them");
      return;
    }
    const std::filesystem::path written(item.scalar);
    // Named as the user named the config: relative stays relative.
    const std::filesystem::path beside = std::filesystem::path(source->name).parent_path() / written;
    const std::string shown = written.is_absolute() ? item.scalar : beside.lexically_normal().string();
    const std::string path = (std::filesystem::path(source->folder) / written).lexically_normal().string();
    if (std::ranges::find(open_, path) != open_.end()) {
      return error(fmt::format("'{}' extends itself", item.scalar), "the chain is: " + join(open_, " -> ") + " -> " + path);
    }
    try {
      SourceRef& known = sources_[path];   // a file that two others extend is read once and merged twice
      if (known == nullptr) known = read_source(shown);
      add_file(SourceRef(known), path);
    } catch (const Error& e) {
      error(e.message, fmt::format("'extends' is relative to the folder of {}", source->name));
    }
  }

  static constexpr int kMostMerged = 1000;

  Diagnostics& diagnostics_;
  const MergeRules& rules_;
  int extended_ = 0;
  Composed out_;
  Merger merger_;
  std::set<std::string> used_;        // paths that any reference names, also in values that were replaced
  std::map<std::string, SourceRef> sources_;  // by absolute path
  std::vector<std::string> open_;     // files whose `extends` is being followed
};

}  // namespace

Composed compose(const SourceRef& source, std::span<const std::string> overrides, Diagnostics& diagnostics,
                 const MergeRules& rules) {
  return Composer(diagnostics, rules).run(source, overrides);
}

Composed compose(const std::string& file, std::span<const std::string> overrides, Diagnostics& diagnostics,
                 const MergeRules& rules) {
  return compose(read_source(file), overrides, diagnostics, rules);
}

std::string explain(const Composed& c, std::string_view path) {
  std::vector<std::string> segments;
  const Found found = split_path(path, segments) ? locate(c.root, segments) : Found{};
  if (found.node == nullptr) {
    const std::vector<std::string> known = all_paths(c.root);
    const auto near = nearest(path, known);
    failf(Category::usage, "nothing is written at '{}'{}", path, near ? fmt::format("; did you mean '{}'?", *near) : "");
  }
  const std::string full = path_text(found.path);
  std::string out = fmt::format("{} = {}\n  set at {}\n", full, one_line(*found.node), found.node->origin.text());
  if (const auto it = c.shadowed.find(full); it != c.shadowed.end()) {
    for (auto s = it->second.rbegin(); s != it->second.rend(); ++s) {
      out += fmt::format("  shadows {} at {}\n", s->value, s->origin.text());
    }
  }
  return out;
}

}  // namespace lockstep
