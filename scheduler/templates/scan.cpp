// Scans (cumsum): one thread walks one line. Simple on purpose: right and deterministic; a parallel
// scan comes with the sort templates.
#include <algorithm>
#include <cmath>

#include "scheduler/templates/common.h"
#include "scheduler/templates/cost.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// Elements summed on their own before they join the total: long lines of one running sum would lose
// digits.
constexpr int64_t kBlock = 64;

class Scan : public Template {
 public:
  std::string_view name() const override { return "scan"; }
  int version() const override { return 1; }

  bool accepts(const Region& region, const Target&) const override {
    return region.anchor && region.anchor->op->kind == ir::OpKind::scan &&
           region.outputs.size() == 1 && region.outputs[0] == region.anchor->outputs[0];
  }

  ConfigSpace space(const Region&, const Target& target) const override {
    ConfigSpace space;
    space.parameters = {{"threads", {32, 64, 128, 256}, "threads of a workgroup"}};
    space.constraints = {
        {"a workgroup of this device has fewer threads",
         [max = target.max_workgroup_size](const Config& c) { return c["threads"] <= max; }}};
    return space;
  }

  Config default_config(const Region&, const Target&) const override { return {{"threads", 32}}; }

  CostModel cost_model(const Region& region, const Target& target) const override {
    std::vector<int64_t> shape = const_shape(*region.outputs[0]);
    if (shape.empty()) shape = {1};
    int64_t dim = region.anchor->attr<int64_t>("dim");
    if (dim < 0) dim += static_cast<int64_t>(shape.size());
    const auto count = static_cast<double>(numel(region.outputs[0]));
    const auto length = static_cast<double>(std::max<int64_t>(1, shape[static_cast<size_t>(dim)]));
    const std::vector<int64_t>& strides = region.layout(region.outputs[0]).strides;
    const bool along_memory = strides.empty() || strides[static_cast<size_t>(dim)] == 1;
    const double arithmetic = region_arithmetic(region), bytes = region_bytes(region);
    return [=](const Config& c) {
      LaunchCost cost;
      cost.threads = static_cast<double>(c["threads"]);
      cost.workgroups = std::max(1.0, std::ceil(count / length / cost.threads));
      cost.arithmetic = arithmetic + 8 * count;
      cost.accesses = 2 * count;
      cost.bank_cycles =
          along_memory ? 2 * count * 31 / 32 : 0;  // each thread has a line of its own
      cost.elements = 2 * count;
      cost.memory_bytes = cost.cache_bytes = bytes;
      cost.bytes_in_flight = 4;
      cost.round_trips = length;
      cost.parallelism = 1;
      return predicted_seconds(cost, target);
    };
  }

  Kernel lower(const Region& region, const Config& config, const Target&) const override {
    const ir::Node* node = region.anchor;
    Kernel kernel = start_kernel(region);
    Inliner inliner(region);
    std::vector<int64_t> shape = const_shape(*node->outputs[0]);
    const bool is_scalar = shape.empty();
    if (is_scalar) shape = {1};
    std::vector<int64_t> lines_shape = shape;
    int64_t dim = node->attr<int64_t>("dim");
    if (dim < 0) dim += static_cast<int64_t>(shape.size());
    auto along = static_cast<size_t>(dim);
    int64_t length = shape[along];
    lines_shape.erase(lines_shape.begin() + dim);
    int64_t lines = 1;
    for (int64_t extent : lines_shape) lines *= extent;

    int64_t threads = config["threads"];
    kernel.workgroup = static_cast<int>(threads);
    kernel.grid = std::max<int64_t>(1, ceil_div(lines, threads));
    SymInt number = block_axis(kernel.grid) * threads + thread_axis(threads);
    SymInt line = SymInt::axis("line", lines);
    SymInt outer = SymInt::axis("o", ceil_div(length, kBlock)), inner = SymInt::axis("i", kBlock);
    SymInt at = outer * kBlock + inner;

    ir::ReduceKind kind = *node->op->reduction;
    DType dtype = compute_dtype(node->outputs[0]->dtype());
    auto index_at = [&](const SymInt& position) {
      if (is_scalar) return std::vector<SymInt>();
      std::vector<SymInt> index = delinearize_ints(line, lines_shape);
      index.insert(index.begin() + dim, position);
      return index;
    };
    const bool exclusive = node->attr<bool>("exclusive"), reverse = node->attr<bool>("reverse");
    SymInt step_of = ir::min(at, length - 1);
    SymInt safe = reverse ? length - 1 - step_of : step_of;
    Expr element = ir::cast(inliner.value_at(node->inputs[0], index_at(safe)), dtype);
    Expr total = ir::variable("total", dtype), part = ir::variable("part", dtype);
    Block step = combine(kind, {"part"}, {element});
    step.insert(exclusive ? step.begin() : step.end(),
                store(region.slot_of_output(region.outputs[0]),
                      region.layout(region.outputs[0]).offset(index_at(safe)),
                      combine_values(kind, total, part)));
    if (length % kBlock != 0) step = {branch(ir::index_less(at, length), std::move(step))};
    Block block = {declare("part", identity_value(kind, dtype)), loop(inner, std::move(step)),
                   assign("total", combine_values(kind, total, part))};
    Block body;
    if (!line.is_const()) body.push_back(let_index(line, number));
    body.push_back(declare("total", identity_value(kind, dtype)));
    body.push_back(loop(outer, std::move(block)));
    kernel.body = {branch(ir::index_less(number, lines), std::move(body))};
    return kernel;
  }
};

}  // namespace

const Template& scan_template() {
  static const Scan instance;
  return instance;
}

}  // namespace tcc::sched
