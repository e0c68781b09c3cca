// Pointwise regions: every output element is an expression of its own; all outputs have as many
// elements. Any op that is not anchored elsewhere runs here: serial reductions (pooling windows,
// scatter) are loops inside one thread.
#include <algorithm>

#include "ir/append.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/elements.h"
#include "scheduler/templates/product_candidate.h"

namespace tcc::sched::template_pointwise {
namespace {

class Elements : public Candidate {
 public:
  Elements(const Template& by, const Region& region, const Target& target)
      : Candidate(by, region, target) {}

 private:
  ElementsPart part() const { return {region(), region().outputs}; }

  ConfigSpace make_space() const override { return ElementsPart::space(target()); }

  Config make_default_config() const override { return part().default_config(target()); }

  CostModel make_cost_model() const override {
    return [cost = part().cost(region_bytes(region())), target = target()](const Config& config) {
      return predicted_seconds(cost(config), target);
    };
  }

 public:
  // Those of depthwise convolutions, whose channels are vectors then.
  std::vector<LayoutWish> order_wishes() const override {
    std::vector<LayoutWish> wishes;
    for (const ir::Node* node : region().nodes)
      if (node->op_name() == "convolution") {
        const auto own = convolution_wishes(region(), *node, false);
        wishes.insert(wishes.end(), own.begin(), own.end());
      }
    return wishes;
  }

  bool updates_in_place(const ir::Value* input, const ir::Value* output) const override {
    const Region& region = this->region();
    if (region.layout(input) != region.layout(output)) return false;
    Inliner inliner(region);
    const SymInt at = SymInt::axis("at", ir::max(part().elements(), 1));
    const std::vector<Sink> stored = part().sinks(inliner, at);
    const auto own = std::ranges::find(stored, region.slot_of_output(output), &Sink::buffer);
    bool is_own = own != stored.end();
    for (const Sink& sink : stored)
      ir::visit(sink.value, [&](const Expr& e) {
        if (e->kind == ir::ExprNode::Kind::load && e->buffer == region.slot_of_input(input))
          is_own &= e->index == own->offset;
      });
    return is_own;
  }

  KernelSequence lower(const Config& config) const override {
    Kernel kernel = start_kernel(region());
    kernel.workgroup = static_cast<int>(config["threads"]);
    kernel.body = part().body(config, [&](const SymInt& grid) {
      kernel.grid = grid;
      return block_axis(grid);
    });
    return kernel;
  }
};

class Pointwise : public Template {
 public:
  std::string_view name() const override { return "pointwise"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  std::vector<Parameter> parameters() const override { return ElementsPart::parameters(); }
  int least_workgroup() const override { return 1; }
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    if (region.anchor) return Refusal{"it is anchored by more than elements", true};
    if (region.outputs.empty()) return Refusal{"it stores nothing"};
    for (const ir::Node* node : region.nodes) {
      if (node->op->kind == ir::OpKind::scan || node->op->kind == ir::OpKind::sort ||
          node->op->kind == ir::OpKind::suppress)
        return Refusal{str("one thread would do all of ", node->op_name())};
      if (node->op->kind == ir::OpKind::external)
        return Refusal{"a function of the host's computes it", true};
    }
    const SymInt elements = ElementsPart(region, region.outputs).elements();
    for (const ir::Value* output : region.outputs)
      if (const SymInt others = ir::product(ir::stored_part(*output).shape());
          !(others == elements))
        return Refusal{str("outputs of ", elements, " and of ", others, " elements")};
    return std::make_shared<const Elements>(*this, region, target);
  }
};

const RegisterTemplate<Pointwise> registered;

}  // namespace

}  // namespace tcc::sched::template_pointwise
