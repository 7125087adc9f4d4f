// State visitors: save, load, save gives the same bytes; what does not fit is named.
#include <doctest/doctest.h>

#include "lockstep/base/error.h"
#include "lockstep/state/save_load.h"
#include "print.h"
#include "temp_folder.h"

using namespace lockstep;
using lockstep::test::TempFolder;

namespace {

struct Thing {
  Tensor weight = Tensor::of<float>({1, 2, 3, 4}, {2, 2});
  Tensor mean = Tensor::of<float>({9}, {1});
  Tensor slot = Tensor::of<double>({0.5, 0.25}, {2});
  std::int64_t step = 7;
  double best = 0.1;
  std::string note = "line\n\"quoted\"";
  std::vector<std::int64_t> skipped = {3, -1, std::int64_t{1} << 60};
  std::vector<double> scores = {1.0 / 3, -0.0, std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity()};

  void state(StateVisitor& v) {
    {
      const StateVisitor::Section model(v, "model");
      v.tensor("weight", weight, StateKind::parameter);
      v.tensor("mean", mean, StateKind::buffer);
    }
    const StateVisitor::Section nothing(v, "");
    v.tensor("optim.slot", slot, StateKind::slot);
    v.integer("step", step);
    v.real("best", best);
    v.string("note", note);
    v.integers("skipped", skipped);
    v.reals("scores", scores);
  }
};

Thing blank() {
  Thing t;
  t.weight = Tensor::zeros({2, 2});
  t.mean = Tensor::zeros({1});
  t.slot = Tensor::zeros({2}, DType::f64);
  t.step = 0;
  t.best = 0;
  t.note.clear();
  t.skipped.clear();
  t.scores.clear();
  return t;
}

}  // namespace

TEST_CASE("save, load into a blank object, save again: equal bytes") {
  const TempFolder folder;
  Thing a;
  Checkpoint saved;
  StateSaver saver(saved);
  CHECK(!saver.loading());
  a.state(saver);
  write_checkpoint(real_files(), folder / "a", saved);

  const Checkpoint read = read_checkpoint(real_files(), folder / "a");
  Thing b = blank();
  const void* place = b.weight.raw();
  StateLoader loader(read, "a");
  CHECK(loader.loading());
  b.state(loader);
  loader.finish();
  CHECK(loader.loaded() == 8);
  CHECK(b.weight.raw() == place);
  CHECK(b.step == 7);
  CHECK(b.note == a.note);
  Checkpoint again;
  StateSaver second(again);
  b.state(second);
  write_checkpoint(real_files(), folder / "b", again);
  CHECK(real_files().read_file(folder / "a") == real_files().read_file(folder / "b"));
}

TEST_CASE("missing, unexpected and mismatched state is named, all at once") {
  Thing a;
  Checkpoint c;
  StateSaver saver(c);
  a.state(saver);
  c.tensors[1].name = "model.variance";
  Thing b = blank();
  b.weight = Tensor::zeros({4});
  StateLoader loader(c, "checkpoint 'x'");
  b.state(loader);
  std::int64_t as_integer = 0;
  loader.integer("best", as_integer);
  try {
    loader.finish();
    FAIL("nothing was thrown");
  } catch (const Error& e) {
    CHECK(e.category == Category::usage);
    INFO(e.message);
    CHECK(e.message.find("checkpoint 'x'") != std::string::npos);
    CHECK(e.message.find("1 missing, 1 unexpected, 2 mismatched") != std::string::npos);
    CHECK(e.message.find("model.mean") != std::string::npos);
    CHECK(e.message.find("model.variance") != std::string::npos);
    CHECK(e.message.find("model.weight: parameter float32 [4] here, parameter float32 [2, 2]") != std::string::npos);
  }
}

TEST_CASE("a number that is not stored as its bits is a data error") {
  Thing a;
  Checkpoint c;
  StateSaver saver(c);
  a.state(saver);
  c.scalars.set("best", Json::Array{Json("real"), Json("0.1")});
  Thing b = blank();
  StateLoader loader(c, "checkpoint 'x'");
  CHECK_THROWS_WITH_AS(b.state(loader), "'0.1' is not 16 hexadecimal digits", Error);
}

TEST_CASE("a name that is visited twice is an error of ours") {
  Checkpoint c;
  StateSaver saver(c);
  std::int64_t v = 1;
  saver.integer("step", v);
  CHECK_THROWS_AS(saver.integer("step", v), Error);
}

TEST_CASE("the collector counts and sorts") {
  Thing a;
  StateCollector all;
  a.state(all);
  CHECK(all.parameter_count == 4);
  CHECK(all.parameter_bytes == 16);
  CHECK(all.buffer_bytes == 4);
  CHECK(all.slot_bytes == 16);
  REQUIRE(all.state_dict().size() == 2);
  CHECK(all.state_dict()[0].name == "model.mean");
  CHECK(all.slots[0].name == "optim.slot");
}
