// One step: the order in which shards are added.
#include "lockstep/runtime/step.h"

#include "lockstep/autograd/autograd.h"
#include "lockstep/data/loader.h"
#include "lockstep/ops/ops.h"
#include "runtime/runs.h"

using namespace lockstep;
using namespace lockstep::test;

TEST_CASE("gradients of shards are paired by index: with 3 rows in 4 shards the empty one shifts nobody") {
  const Place place;
  const LoadedConfig loaded = place.config({"data.loader.batch_size=3", "train.shards=4", "optim={name: sgd, lr: 1}", "model.hidden_features=[16]"});
  Experiment e(loaded.config);
  Loader loader(*e.train.dataset, e.train.transforms, e.config.data.loader, e.seed(), Pass::training);
  Batch batch;
  REQUIRE(loader.next(batch));
  REQUIRE(batch.fields.size() == 3);

  // Rows 0, 1, 2 are the shards 1, 2, 3; shard 0 is empty: 0 + g1, g2 + g3, then both.
  std::vector<Tensors> g;
  for (std::int64_t row = 0; row < 3; ++row) {
    Scope s = scope;
    s.grad = s.training = true;
    const Within within(s);
    g.push_back(gradients(mul_scalar(e.task->terms(e.task->phases().front(), batch.fields.rows(row, row + 1)).front().sum, 1.0 / 3), e.optim->parameters()));
  }
  std::vector<std::vector<double>> expected, shifted;
  {
    const NoGrad off;
    for (std::size_t p = 0; p < e.optim->parameters().size(); ++p) {
      const Tensor w = e.optim->parameters()[p];
      const auto after = [&](const Tensor& sum) { return sub(w, sum).to_doubles(); };
      expected.push_back(after(add(g[0][p], add(g[1][p], g[2][p]))));
      shifted.push_back(after(add(add(g[0][p], g[1][p]), g[2][p])));
    }
  }
  CHECK(expected != shifted);   // else this shows nothing
  Stepper(e).run(batch);
  for (std::size_t p = 0; p < expected.size(); ++p) CHECK(e.optim->parameters()[p].to_doubles() == expected[p]);
}
