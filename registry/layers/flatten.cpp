// flatten: joins axes into one. x [n, c, h, w] -> [n, c*h*w]
#include "lockstep/nn/module.h"
#include "lockstep/ops/ops.h"

namespace lockstep {
namespace {

struct Config {
  std::int64_t start_dim = 1;
  std::int64_t end_dim = -1;
};
constexpr Field kFields[] = {
    field<&Config::start_dim>("start_dim", "First axis to join; negative ones count from the end.").in(-8, 7),
    field<&Config::end_dim>("end_dim", "Last axis to join; negative ones count from the end.").in(-8, 7),
};

class Flatten final : public Module {
 public:
  Flatten(const Config& c, const BuildContext& b) : Module(b), c_(c) {}

 protected:
  [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override {
    return {flatten(in[0], c_.start_dim, c_.end_dim)};
  }

 private:
  Config c_;
};

}  // namespace

extern constinit const LayerDef layers_flatten = component<LayerDef, Flatten, Config, kFields>(
    {.doc = "Joins the axes from start_dim to end_dim into one.", .example = "flatten"});

}  // namespace lockstep
