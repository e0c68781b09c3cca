// Layers that are alike: what holds for one of them is found out once.
#include <gtest/gtest.h>

#include <string>

#include "frontend/graph_file.h"
#include "ir/size_range.h"
#include "scheduler/open_dims.h"
#include "scheduler/target_profile.h"
#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

constexpr std::string_view kDevice = "the device of alike_layers_test";
int asked = 0;

// Takes nothing, and counts how often it is asked.
class AskedTemplate : public Template {
 public:
  std::string_view name() const override { return "test_asked"; }
  int version() const override { return 1; }
  int specificity() const override { return 99; }
  bool takes_open_dims() const override { return true; }
  Match match(const Region&, const Target& target) const override {
    if (target.device == kDevice) ++asked;
    return Refusal{"it is for no region", true};
  }
};

const RegisterTemplate<AskedTemplate> registered;

int asked_about(int layers) {
  std::string text =
      "tcc: 1\nname: layers\ndims: {S: 8}\ninputs: {x0: {dtype: f32, shape: [S, 64]}}\nnodes:\n";
  for (int i = 0; i < layers; ++i)
    text += str("  - {out: y", i, ", op: tanh, in: [x", i, "]}\n  - {out: x", i + 1,
                ", op: exp, in: [y", i, "]}\n");
  text += str("outputs: [x", layers, "]\n");
  const ir::Graph written = parse_yaml_graph(text, "layers.yaml", ".");
  const ir::SizeRanges dims = {{"S", {1, 64, 1}}};
  const ir::Graph graph = ir::bind_dims(written, {}, dims);
  Target target = target_by_name("cuda:sm_80");
  target.device = kDevice;
  asked = 0;
  check_open_dims(graph, written, target, {}, dims);
  return asked;
}

TEST(AlikeLayers, AreLookedAtOnceForOpenDims) {
  EXPECT_EQ(asked_about(1), 2);
  EXPECT_EQ(asked_about(9), 2);
}

}  // namespace
}  // namespace tcc::sched
