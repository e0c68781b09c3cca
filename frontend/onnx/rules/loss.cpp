// Losses over classes.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

ir::Attrs loss_attrs(OpNode& n) {
  ir::Attrs attrs = {{"reduction", n.text("reduction", "mean")}};
  // Without the attribute no class is ignored: the default is a number that no index can have.
  attrs["ignore_index"] = n.integer("ignore_index", int64_t{-1} << 40);
  return attrs;
}

Results nll_loss(OpNode& n) {
  return {n.b.op("nll_loss", {n.in(0), n.in(1), n.maybe(2)}, loss_attrs(n))};
}

Results cross_entropy(OpNode& n) {
  ir::Attrs attrs = loss_attrs(n);
  attrs["return_log_prob"] = n.wants(1);
  return all_of(n.b.ops("cross_entropy", {n.in(0), n.in(1), n.maybe(2)}, attrs));
}

constexpr Rule kLossRules[] = {
    {"NegativeLogLikelihoodLoss", nll_loss},
    {"SoftmaxCrossEntropyLoss", cross_entropy},
};

}  // namespace

std::span<const Rule> loss_rules() { return kLossRules; }

}  // namespace tcc::onnx
