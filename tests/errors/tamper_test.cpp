// `eval` against the record: it reproduces the logged values bit for bit, and says so when a stored value was changed.
#include <doctest/doctest.h>

#include <sys/wait.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lockstep/base/json.h"
#include "paths.h"
#include "print.h"
#include "temp_folder.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

struct Outcome {
  int code;
  std::string out, err;
};

// Runs the binary in `folder`, which holds tiny.yaml.
Outcome lockstep_in(const TempFolder& folder, const std::string& arguments) {
  const std::string command = "cd '" + folder.path() + "' && LOCKSTEP_RUNS= '" + std::string(kBinary) + "' " + arguments +
                              " >out 2>err </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(folder / "out"), read(folder / "err")};
}

Json eval_json(const TempFolder& folder, const std::string& arguments, int code) {
  const Outcome o = lockstep_in(folder, "eval " + arguments + " --json");
  CHECK_MESSAGE(o.code == code, o.err);
  return Json::parse(o.out, "eval");
}

// Flips the lowest bit of a number wherever a record of the database holds it: eight bytes, the first the highest.
int tamper(const fs::path& database, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  std::string old, text = read(database);
  for (int shift = 56; shift >= 0; shift -= 8) old += static_cast<char>(bits >> shift & 0xff);
  int count = 0;
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + 1)) {
    text[at + 7] = static_cast<char>(text[at + 7] ^ 1);
    ++count;
  }
  std::ofstream(database, std::ios::binary) << text;
  return count;
}

/// Copies tiny.yaml into `folder`, trains it and gives what --json said.
Json train_tiny(const TempFolder& folder, const std::string& arguments = {}) {
  fs::copy(fs::path(kSourceDir) / "tests/errors/common/tiny.yaml", folder / "tiny.yaml", fs::copy_options::overwrite_existing);
  const Outcome o = lockstep_in(folder, "train tiny.yaml -q --json " + arguments);
  REQUIRE_MESSAGE(o.code == 0, o.err);
  return Json::parse(o.out, "train");
}

}  // namespace

TEST_CASE("eval reproduces what was logged, by run id, prefix, name, config and checkpoint") {
  const TempFolder folder;
  const Json run = train_tiny(folder, "optim.lr=0.3 train.checkpoint.keep=5");
  const std::string id = run.at("run").string();

  for (const std::string& which : {id, id.substr(0, id.size() - 2), std::string("tiny"), std::string("last"), std::string("tiny.yaml optim.lr=0.3")}) {
    const Json report = eval_json(folder, which, 0);
    CHECK(report.at("matches_logged").boolean());
    CHECK(report.at("run").string() == id);
    CHECK(report.at("state_hash").string() == run.at("state_hash").string());
    CHECK(report.at("metrics").at("val/accuracy").number() == run.at("metrics").at("val/accuracy").at("last").number());
  }
  const Json best = eval_json(folder, "last --checkpoint best", 0);
  CHECK(best.at("step").integer() == run.at("metrics").at("val/accuracy").at("best_step").integer());
  CHECK(best.at("matches_logged").boolean());
  // A step without a logged value has nothing to match; batch size, threads and workers do not show.
  CHECK(eval_json(folder, "last --checkpoint 4 data.loader.eval_batch_size=7 --threads 1", 0).at("matches_logged").boolean());
  const Outcome between = lockstep_in(folder, "train tiny.yaml -q --new train.max_steps=2 train.eval_every_epochs=9");
  REQUIRE_MESSAGE(between.code == 0, between.err);
  const Json report = eval_json(folder, "last", 0);
  CHECK(report.at("step").integer() == 2);
}

TEST_CASE("a logged value that was changed is exit 6") {
  const TempFolder folder;
  train_tiny(folder);
  const double loss = eval_json(folder, "last", 0).at("metrics").at("val/loss").number();
  REQUIRE(tamper(folder / "runs/lockstep.db", loss) >= 1);
  const Json report = eval_json(folder, "last", 6);
  CHECK_FALSE(report.at("matches_logged").boolean());
  CHECK(report.at("metrics").at("val/loss").number() == loss);
  CHECK(report.at("logged").at("val/loss").number() != loss);
  const Outcome text = lockstep_in(folder, "eval last");
  CHECK(text.code == 6);
  CHECK_MESSAGE(text.out.find("LOGGED AS") != std::string::npos, text.out);
  CHECK_MESSAGE(text.err.find("warning: ") != std::string::npos, text.err);
}

TEST_CASE("hash reads what a run wrote, says the run's hash, and exit 6 when a file records another") {
  const TempFolder folder;
  const Json run = train_tiny(folder);
  const fs::path dir = fs::path(folder / "runs") / run.at("run").string();
  for (const char* file : {"model.safetensors", "checkpoints/last.ckpt"}) {
    const Outcome o = lockstep_in(folder, "hash '" + (dir / file).string() + "' --json");
    REQUIRE_MESSAGE(o.code == 0, o.err);
    const Json report = Json::parse(o.out, "hash");
    CHECK(report.at("state_hash").string() == run.at("state_hash").string());
    CHECK(report.at("tensors").find("0.weight") != nullptr);
    CHECK(report.at("tensors").members().size() == 4);
  }
  std::string bytes = read(dir / "model.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);   // of the last weight
  std::ofstream(folder / "changed.safetensors", std::ios::binary) << bytes;
  const Outcome o = lockstep_in(folder, "hash changed.safetensors");
  CHECK(o.code == 6);
  CHECK_MESSAGE(o.err.find("they were changed after it was written") != std::string::npos, o.err);
}

TEST_CASE("runs diff: a chain that was changed is exit 6") {
  const TempFolder folder;
  std::vector<std::string> ids;
  for (const char* lr : {"0.01", "0.01", "0.02"}) ids.push_back(train_tiny(folder, std::string("optim.lr=") + lr).at("run").string());
  const auto diff = [&](const std::string& a, const std::string& b, int code) {
    const Outcome o = lockstep_in(folder, "runs diff " + a + " " + b + " --json");
    CHECK_MESSAGE(o.code == code, o.err);
    return Json::parse(o.out, "diff");
  };
  CHECK(diff(ids[0], ids[1], 0).at("same_chain").boolean());
  const Json other = diff(ids[0], ids[2], 0);
  CHECK_FALSE(other.at("same_chain").boolean());
  CHECK(other.at("first_differing_step").integer() == 1);
  CHECK(other.at("first_difference").string() == "parameters");
  const std::string chain = folder / ("runs/" + ids[1] + "/chain.bin");
  std::string bytes = read(chain);
  bytes[3 * 88 + 20] = static_cast<char>(bytes[3 * 88 + 20] ^ 1);
  std::ofstream(chain, std::ios::binary) << bytes;
  CHECK(diff(ids[0], ids[1], 6).at("error").at("exit_code").integer() == 6);
}
