// Text form of a chain: one line a step, so that a change of bits shows in a diff where it begins.
#include "determinism/golden.h"

#include <sstream>

#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep::determinism {
namespace {

std::uint64_t number(const std::string& digits, const std::string& path) {
  const auto bytes = from_hex(digits);
  if (!bytes || bytes->size() != 8) failf(Category::data, "{}: {} is not 16 hexadecimal digits", path, quote(digits));
  std::uint64_t out = 0;
  for (const std::uint8_t b : *bytes) out = out << 8U | b;
  return out;
}

}  // namespace

Final final_of(const Json& report) {
  Final out;
  out.state_hash = report.at("state_hash").string();
  for (const auto& [name, metric] : report.at("metrics").members())
    if (name.starts_with("val")) out.metrics += (out.metrics.empty() ? "" : ", ") + name + " " + metric.at("last").dump();
  return out;
}

Golden read_golden(const std::string& path) {
  Golden out;
  std::string last;
  std::istringstream lines(real_files().read_file(path));
  ChainRecord previous = chain_start();
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "state") {
      words >> out.end.state_hash;
    } else if (key == "metrics") {
      out.end.metrics = line.substr(key.size() + 1);
    } else if (key == "chain") {
      words >> last;
    } else {
      std::array<std::string, 6> f;
      for (std::string& w : f) words >> w;
      const auto value = [&](std::size_t i) { return number(f[i], path); };
      if (key != std::to_string(previous.t + 1)) failf(Category::data, "{}: step {} follows step {}", path, key, previous.t);
      previous = chain_next(previous, {value(0), value(1)}, std::bit_cast<double>(value(2)), std::bit_cast<double>(value(3)), {value(4), value(5)});
      out.chain.push_back(previous);
    }
  }
  if (out.chain.empty() || hex(previous.h) != last)
    failf(Category::data, "{}: the steps hash to {}, and the file says {}; write it anew with --write-golden", path, hex(previous.h), quote(last));
  return out;
}

void write_golden(const std::string& path, const Golden& golden, const std::string& what) {
  std::string out = fmt::format("# {}\n# step, batch digest (two words), loss bits, gradient-norm bits, state fingerprint (two words)\n", what);
  out += fmt::format("state {}\nmetrics {}\nchain {}\n", golden.end.state_hash, golden.end.metrics, hex(golden.chain.back().h));
  for (const ChainRecord& r : golden.chain)
    out += fmt::format("{} {} {} {} {} {} {}\n", r.t, hex(r.batch.a), hex(r.batch.b), hex(r.loss_bits), hex(r.grad_norm_bits), hex(r.fingerprint.a), hex(r.fingerprint.b));
  atomic_write(real_files(), path, std::string_view(out));
}

std::optional<Difference> compare(const Golden& golden, const std::string& chain_path, const Final& end, const std::string& scratch) {
  const std::string reference = join_path(scratch, "reference.bin");
  real_files().unlink(reference);
  append_chain(real_files(), reference, golden.chain);
  if (const auto d = compare_chains(real_files(), reference, chain_path)) return Difference{d->t, std::string(d->what)};
  const auto steps = static_cast<std::int64_t>(golden.chain.size());
  if (end.state_hash != golden.end.state_hash) return Difference{steps, "state"};
  if (end.metrics != golden.end.metrics) return Difference{steps, "metrics"};
  return std::nullopt;
}

}  // namespace lockstep::determinism
