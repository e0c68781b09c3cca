// Element-wise parts that share no work, of outputs of other sizes, as one launch: some workgroups
// do the one, the next ones another. A decoder has such parts of a product's columns for queries,
// keys and values.
#include <algorithm>
#include <set>

#include "ir/append.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/elements.h"

namespace tcc::sched::template_side_by_side {
namespace {

using Outputs = std::vector<const ir::Value*>;

// The nodes of the region that `value` is made of, views aside.
void find_nodes(const Region& region, const ir::Value* value, std::set<const ir::Node*>& nodes) {
  if (!value || !region.contains(value) || region.slot_of_input(value) >= 0) return;
  const ir::Node* node = value->producer;
  if (node->op->kind != ir::OpKind::view && !nodes.insert(node).second) return;
  for (const ir::Value* input : node->inputs) find_nodes(region, input, nodes);
}

// The outputs by the nodes that they are made of: those that share none are apart.
std::vector<Outputs> parts_of(const Region& region) {
  struct Part {
    Outputs outputs;
    std::set<const ir::Node*> nodes;
  };
  std::vector<Part> parts;
  for (const ir::Value* output : region.outputs) {
    Part own{{output}, {}};
    find_nodes(region, output, own.nodes);
    for (size_t i = parts.size(); i-- > 0;) {
      const bool shares = std::ranges::any_of(
          own.nodes, [&](const ir::Node* node) { return parts[i].nodes.contains(node); });
      if (!shares) continue;
      own.outputs.insert(own.outputs.begin(), parts[i].outputs.begin(), parts[i].outputs.end());
      own.nodes.insert(parts[i].nodes.begin(), parts[i].nodes.end());
      parts.erase(parts.begin() + static_cast<long>(i));
    }
    parts.push_back(std::move(own));
  }
  std::vector<Outputs> outputs;
  for (Part& part : parts) outputs.push_back(std::move(part.outputs));
  return outputs;
}

class SideBySide : public Candidate {
 public:
  SideBySide(const Template& by, const Region& region, const Target& target,
             std::vector<Outputs> parts)
      : Candidate(by, region, target), outputs_(std::move(parts)) {}

 private:
  std::vector<ElementsPart> parts() const {
    std::vector<ElementsPart> parts;
    for (const Outputs& outputs : outputs_) parts.emplace_back(region(), outputs);
    return parts;
  }

  ConfigSpace make_space() const override { return ElementsPart::space(target()); }

  // The narrowest of the parts': short parts leave the device idle.
  Config make_default_config() const override {
    Config least;
    for (const ElementsPart& part : parts()) {
      const Config own = part.default_config(target());
      if (least.values().empty() ||
          own["vector"] * own["vectors"] < least["vector"] * least["vectors"])
        least = own;
    }
    return least;
  }

  CostModel make_cost_model() const override {
    std::vector<std::function<LaunchCost(const Config&)>> costs;
    for (const ElementsPart& part : parts())
      costs.push_back(part.cost(costs.empty() ? region_bytes(region()) : 0));
    return [costs, target = target()](const Config& config) {
      LaunchCost all = costs[0](config);
      for (size_t i = 1; i < costs.size(); ++i) {
        const LaunchCost one = costs[i](config);
        all.workgroups += one.workgroups;
        all.arithmetic += one.arithmetic;
        all.accesses += one.accesses;
        all.bank_cycles += one.bank_cycles;
        all.elements += one.elements;
        all.cache_bytes += one.cache_bytes;
        all.registers = std::max(all.registers, one.registers);
        all.bytes_in_flight = std::min(all.bytes_in_flight, one.bytes_in_flight);
        all.round_trips = std::max(all.round_trips, one.round_trips);
      }
      return predicted_seconds(all, target);
    };
  }

  KernelSequence lower(const Config& config) const override {
    Kernel kernel = start_kernel(region());
    kernel.workgroup = static_cast<int>(config["threads"]);
    struct Own {
      SymInt grid, block;
      Block body;
    };
    std::vector<Own> all;
    kernel.grid = 0;
    for (const ElementsPart& part : parts()) {
      Own own;
      own.body = part.body(config, [&](const SymInt& grid) {
        own.grid = grid;
        own.block = SymInt::axis("part", grid);
        return own.block;
      });
      kernel.grid = kernel.grid + own.grid;
      all.push_back(std::move(own));
    }
    const SymInt block = block_axis(kernel.grid);
    SymInt first = kernel.grid;
    for (size_t i = all.size(); i-- > 0;) {
      Own& own = all[i];
      first = first - own.grid;
      if (!own.block.is_const())
        own.body.insert(own.body.begin(), let_index(own.block, block - first));
      if (i + 1 == all.size())
        kernel.body = std::move(own.body);
      else
        kernel.body = {branch(ir::index_less(block, first + own.grid), std::move(own.body),
                              std::move(kernel.body))};
    }
    return kernel;
  }

  const std::vector<Outputs> outputs_;
};

class SideBySideTemplate : public Template {
 public:
  std::string_view name() const override { return "side_by_side"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  std::vector<Parameter> parameters() const override { return ElementsPart::parameters(); }
  int least_workgroup() const override { return 1; }
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    if (region.anchor || region.outputs.size() < 2)
      return Refusal{"it is no several parts of elements", true};
    for (const ir::Node* node : region.nodes)
      if (node->op->kind != ir::OpKind::pointwise && node->op->kind != ir::OpKind::view)
        return Refusal{str(node->op_name(), " is neither element-wise nor a view"), true};
    std::vector<Outputs> parts = parts_of(region);
    if (parts.size() < 2) return Refusal{"its outputs are made of the same nodes", true};
    const SymInt first = ElementsPart(region, parts[0]).elements();
    bool differ = false;  // else they are elements of one kind, as `pointwise` takes them
    for (const Outputs& outputs : parts) {
      const SymInt elements = ElementsPart(region, outputs).elements();
      differ |= !(elements == first);
      if (elements.is(0)) return Refusal{"a part has no elements", true};
      for (const ir::Value* output : outputs)
        if (!region.contains(output) ||
            !(ir::product(ir::stored_part(*output).shape()) == elements))
          return Refusal{"outputs of one part have other numbers of elements", true};
    }
    if (!differ) return Refusal{"its parts have as many elements", true};
    return std::make_shared<const SideBySide>(*this, region, target, std::move(parts));
  }
};

const RegisterTemplate<SideBySideTemplate> registered;

}  // namespace
}  // namespace tcc::sched::template_side_by_side
