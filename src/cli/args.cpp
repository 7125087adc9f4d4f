// Arguments as commands ask for them.
#include <algorithm>

#include "cli/command.h"
#include "cli/parse.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

// The option's definition; asking for one that the command does not declare is a mistake in the command.
const OptionDef& definition(const Args& args, std::string_view option) {
  if (args.command != nullptr) {
    for (const OptionDef& def : args.command->options) {
      if (def.name == option) return def;
    }
  }
  for (const OptionDef& def : global_options()) {
    if (def.name == option) return def;
  }
  failf(Category::internal, "the command {} asks for the option {}, which it does not declare",
        quote(args.command == nullptr ? "" : args.command->name), option);
}

}  // namespace

bool Args::has(std::string_view option) const {
  definition(*this, option);
  return options.find(option) != options.end();
}

std::optional<std::string> Args::value(std::string_view option) const {
  const OptionDef& def = definition(*this, option);
  if (const auto at = options.find(option); at != options.end() && !at->second.empty()) return at->second.back();
  // The fallback of an option with optional value is what the bare option means, not what its absence means.
  if (def.kind == OptionKind::optional_value || def.fallback.empty()) return std::nullopt;
  return std::string(def.fallback);
}

std::optional<std::int64_t> Args::integer(std::string_view option, std::int64_t low, std::int64_t high) const {
  const auto word = value(option);
  if (!word) return std::nullopt;
  const auto parsed = parse_int(*word);
  if (!parsed || *parsed < low || *parsed > high) {
    failf(Category::usage, "{} does not take {}: it is an integer from {} to {}", option, quote(*word), low, high);
  }
  return parsed;
}

std::optional<double> Args::number(std::string_view option, double low, double high) const {
  const auto word = value(option);
  if (!word) return std::nullopt;
  const auto parsed = parse_double(*word);
  if (!parsed || *parsed < low || *parsed > high) {
    failf(Category::usage, "{} does not take {}: it is a number from {} to {}", option, quote(*word), low, high);
  }
  return parsed;
}

std::vector<std::string> Args::list(std::string_view option) const {
  definition(*this, option);
  const auto at = options.find(option);
  return at == options.end() ? std::vector<std::string>() : at->second;
}

std::string Args::positional(std::string_view name) const {
  const auto at = positionals.find(name);
  return at == positionals.end() ? std::string() : at->second.front();
}

std::vector<std::string> Args::rest(std::string_view name) const {
  const auto at = positionals.find(name);
  return at == positionals.end() ? std::vector<std::string>() : at->second;
}

}  // namespace lockstep
