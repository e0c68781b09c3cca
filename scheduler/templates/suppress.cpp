// Suppression of boxes that overlap better ones: a workgroup for each group of boxes.
#include <algorithm>
#include <cmath>
#include <memory>

#include "scheduler/cost.h"
#include "scheduler/refusal.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/rule_space.h"
#include "scheduler/templates/suppress_lowering.h"
#include "support/checked.h"

namespace tcc::sched::template_suppress {
namespace {

// Groups of open length are often longer than usual. They are expected to have up to kMany boxes,
// and where that is usual, up to kMost.
constexpr int64_t kMany = 8192, kMost = 30000;

struct SuppressCase {
  using Values = SuppressShape;
  using Shape = SuppressShape;
  Values values() const { return {}; }
  // Where the device bounds loops, more is done in each iteration.
  Shape shape(const Values& values) const {
    Shape shape = values;
    if (target.max_loop_iterations > 0) shape.at_once = 32 / shape.items;
    return shape;
  }
  // The boxes of a group that a thread must have loops for.
  int64_t boxes() const {
    if (plan.boxes.is_const()) return plan.boxes.value();
    return std::min(std::clamp(plan.boxes.usual() / 2 * 3, kMany, kMost), plan.boxes.range().hi);
  }

  SuppressPlan plan;
  Target target;
  bool bounds_loops;  // whether configs are those whose loops the device runs
};

constexpr Rule<SuppressShape, SuppressCase> kRules[] = {
    {"a workgroup has no more threads than the device allows",
     [](const auto& s, const auto& of) { return s.threads <= of.target.max_workgroup_size; }},
    {"a tile fits into shared memory",
     [](const auto& s, const auto& of) {
       return s.shared_bytes(of.plan.dtype) <= of.target.static_shared_bytes();
     }},
    {"a tile is shorter than two groups",
     [](const auto& s, const auto& of) {
       const int64_t most = of.plan.boxes.range().hi;
       return s.items == 1 || s.tile() < 2 * std::max<int64_t>(most, 1);
     }},
    {"loops are as short as the device allows",
     [](const auto& s, const auto& of) {
       return !of.bounds_loops || s.iterations(of.boxes()) <= of.target.max_loop_iterations;
     }},
};

std::vector<Field<SuppressShape>> all_fields() {
  return {{"threads", {}, "threads of a workgroup", &SuppressShape::threads},
          {"items", {1, 2, 4}, "boxes of a tile that a thread has", &SuppressShape::items}};
}

RuleSpace<SuppressCase> rules_of(const SuppressPlan& plan, const Target& target,
                                 bool bounds_loops) {
  std::vector<Field<SuppressShape>> fields = all_fields();
  values_of(fields, "threads") = workgroup_sizes(target);
  return {std::make_shared<const SuppressCase>(SuppressCase{plan, target, bounds_loops}),
          std::move(fields),
          {},
          kRules};
}

class Groups : public RuledCandidate<SuppressCase> {
 public:
  using RuledCandidate::RuledCandidate;

  KernelSequence lower(const Config& config) const override {
    return lower_suppress(region(), rules().of().plan, rules().shape(config));
  }

 private:
  ShapeModel shape_model() const override { return model_of(rules().of().plan.boxes.usual()); }

  std::vector<ShapeModel> models_of_sizes() const override {
    std::vector<ShapeModel> models = {shape_model()};
    const int64_t boxes = rules().of().boxes();
    if (boxes > rules().of().plan.boxes.usual()) models.push_back(model_of(boxes));
    return models;
  }

  // Seconds for groups of so many boxes, of which a quarter is kept and half are there on average.
  ShapeModel model_of(int64_t boxes) const {
    const SuppressPlan& plan = rules().of().plan;
    const auto n = static_cast<double>(std::max<int64_t>(boxes, 1)),
               groups = static_cast<double>(std::max<int64_t>(plan.groups.usual(), 1));
    const double kept = std::ceil(n / 4), element = size_bytes(plan.dtype);
    return [=, of = rules().of(), bytes = region_bytes(region())](const SuppressShape& s) {
      constexpr double kTest = 15, kLoad = 40, kStep = 6;
      const auto threads = static_cast<double>(s.threads), items = static_cast<double>(s.items),
                 tile = static_cast<double>(s.tile());
      const double tiles = std::ceil(n / tile);
      // Visits of a tile by the boxes kept in those before it.
      const double further = tiles * (tiles - 1) / 2;
      const double tests = kept / tiles * (tiles * tile / 2 + further * tile) / 2;
      const double loads = (tiles + further) * tile;
      const double steps = threads * (n / static_cast<double>(s.run()) * 20 + n / 2 * kStep);
      // Each thread reads the kept boxes.
      const double reads = 4 * threads * (kept + kept / tiles * further);
      LaunchCost cost;
      cost.threads = threads;
      cost.workgroups = groups;
      cost.registers = 32 + 8 * items;
      cost.shared_bytes = static_cast<double>(s.shared_bytes(of.plan.dtype));
      cost.arithmetic = groups * (tests * kTest + loads * kLoad + steps);
      cost.accesses = groups * (reads + loads * 4 + threads * n);
      cost.elements = groups * (reads + loads * 7 + threads * n);
      cost.memory_bytes = bytes;
      cost.cache_bytes = bytes + groups * further * tile * (4 * element + 9);
      cost.bytes_in_flight = items * 4 * element;
      cost.stalls = tiles + 2 * further;
      cost.barriers = kept + 3 * tiles;
      cost.parallelism = items;
      return predicted_seconds(cost, of.target);
    };
  }
};

OrRefusal<SuppressPlan> plan_suppress(const Region& region) {
  if (!region.anchor || region.anchor->op->kind != ir::OpKind::suppress)
    return Refusal{"it is anchored by no suppression of boxes", true};
  for (const ir::Node* node : region.nodes)
    if (node != region.anchor && node->op->kind != ir::OpKind::pointwise &&
        node->op->kind != ir::OpKind::view)
      return Refusal{str(node->op_name(), " beside a suppression of boxes")};
  SuppressPlan plan;
  plan.node = region.anchor;
  for (const ir::Value* output : region.outputs) {
    if (output->producer != plan.node) return Refusal{"an output is made of what is kept"};
    plan.keep = output;
  }
  if (!plan.keep) return Refusal{"nothing of the suppression is stored"};
  plan.group_shape = plan.keep->shape();
  plan.boxes = plan.group_shape.back();
  plan.group_shape.pop_back();
  plan.groups = ir::product(plan.group_shape);
  plan.dtype = compute_dtype(plan.node->inputs[0]->dtype());
  plan.center = plan.node->attr<bool>("center");
  return plan;
}

class Suppress : public Template {
 public:
  std::string_view name() const override { return "suppress"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  std::vector<Parameter> parameters() const override { return parameters_from(all_fields()); }
  int least_workgroup() const override { return 1; }
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<SuppressPlan> plan = plan_suppress(region);
    if (!plan) return plan.refusal();
    // Where no config has loops that are short enough, the kernel is refused for its loops.
    RuleSpace<SuppressCase> rules = rules_of(*plan, target, target.max_loop_iterations > 0);
    if (!rules.has_legal()) rules = rules_of(*plan, target, false);
    if (!rules.has_legal())
      return Refusal{str("no workgroup of ", target.id(), " has memory for a tile of boxes")};
    return std::make_shared<const Groups>(*this, region, target, std::move(rules));
  }
};

const RegisterTemplate<Suppress> registered;

}  // namespace
}  // namespace tcc::sched::template_suppress
