#include "scheduler/region_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "ir/op.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

const ir::AttrDef& definition(const ir::Node& node, std::string_view key) {
  const auto found = std::ranges::find(node.op->attrs, key, &ir::AttrDef::name);
  TCC_CHECK(found != node.op->attrs.end(), node.op_name(), ": no attribute ", key);
  return *found;
}

bool is_default(const ir::AttrDef& definition, const ir::Attr& attr) {
  return definition.default_value &&
         ir::to_string(*definition.default_value) == ir::to_string(attr);
}

bool has_size_attributes(const ir::Node& node) {
  return std::ranges::any_of(node.op->attrs, &ir::AttrDef::is_size);
}

std::string number_text(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

std::string list_text(const auto& numbers) {
  std::string text;
  for (const auto& number : numbers) text += (text.empty() ? "" : ",") + SymInt(number).to_string();
  return text;
}

class RegionWriter {
 public:
  RegionWriter(const Region& region, Sizes sizes) : region_(region), sizes_(sizes), nodes_(sizes) {}

  RegionText run() && {
    text_ = str("region ", kRegionTextVersion, "\n");
    if (region_.strict_rounding) text_ += "strict_rounding\n";
    if (region_.tf32) text_ += "tf32\n";
    if (region_.unit_sums) text_ += "unit_sums\n";
    if (sizes_ == Sizes::kept) write_ranges();
    for (size_t i = 0; i < region_.inputs.size(); ++i)
      nodes_.set_mark(region_.inputs[i], str("in", i));
    for (const ir::Value* input : region_.inputs) write_buffer("", input);
    for (const ir::Node* node : canonical_order(region_.nodes, region_.outputs)) {
      text_ += nodes_.node(*node) + "\n";
      if (has_size_attributes(*node))
        for (const ir::Value* output : node->outputs) add_extents(*output);
    }
    for (const ir::Value* output : region_.outputs) write_buffer("out ", output);
    if (region_.anchor) text_ += str("anchor ", nodes_.mark(region_.anchor->outputs[0]), "\n");
    if (sizes_ == Sizes::kept) extents_.clear();
    return {std::move(text_), std::move(extents_)};
  }

 private:
  // Kernels depend on what is known of a size that comes at run time.
  void write_ranges() {
    std::map<std::string, ir::Interval> ranges;
    for (const ir::Node* node : region_.nodes)
      for (const auto* values : {&node->inputs, &node->outputs})
        for (const ir::Value* value : *values)
          for (const SymInt& dim : value ? value->shape() : ir::Shape())
            dim.visit_atoms([&](const ir::AtomPtr& atom) {
              if (atom->kind == ir::Atom::Kind::symbol) ranges.emplace(atom->name, atom->range);
            });
    for (const auto& [name, range] : ranges)
      text_ += str("size ", name, " ", range.lo, "..", range.hi, "\n");
  }

  void add_extents(const ir::Value& value) {
    for (const SymInt& extent : value.shape()) extents_.push_back(extent.usual());
  }

  void write_buffer(std::string_view what, const ir::Value* value) {
    text_ += str(what, nodes_.mark(value), " ", nodes_.type(*value));
    const auto layout = region_.layouts.find(value);
    if (layout != region_.layouts.end()) text_ += layout_text(layout->second, value->shape());
    text_ += "\n";
    add_extents(*value);
  }

  // Row-major is the default.
  std::string layout_text(const Layout& layout, const ir::Shape& shape) const {
    if (sizes_ == Sizes::kept) {
      const Layout usual = Layout::row_major(shape);
      std::string text;
      if (layout.strides != usual.strides) text = "{" + list_text(layout.strides) + "}";
      if (layout.elements != usual.elements) text += str(" of ", layout.elements);
      return text;
    }
    const std::vector<int> order = layout.order();
    std::string text;
    if (!std::ranges::is_sorted(order)) text = "{" + list_text(order) + "}";
    if (layout.strides != Layout::ordered(shape, order).strides) text += " padded";
    return text;
  }

  const Region& region_;
  const Sizes sizes_;
  NodeText nodes_;
  std::string text_;
  std::vector<int64_t> extents_;
};

}  // namespace

std::string NodeText::type(const ir::Value& value) const {
  return sizes_ == Sizes::kept ? ir::to_string(value.type)
                               : str(name(value.dtype()), " of rank ", value.rank());
}

std::string NodeText::attributes(const ir::Node& node) const {
  std::string text;
  for (const auto& [key, attr] : node.attrs) {
    const ir::AttrDef& defined = definition(node, key);
    const bool is_dropped = defined.is_size && sizes_ == Sizes::dropped;
    if (is_dropped || is_default(defined, attr)) continue;
    text += str(text.empty() ? "" : " ", key, "=", ir::to_string(attr));
  }
  return text;
}

std::string NodeText::operand(const ir::Value* value) const {
  if (!value) return "-";
  if (const auto found = marks_.find(value); found != marks_.end()) return found->second;
  const auto splat = value->is_constant() ? value->data->splat() : std::nullopt;
  TCC_CHECK(splat, value->name, " is neither an operand nor a number");
  return sizes_ == Sizes::kept ? str(type(*value), "=", number_text(*splat)) : type(*value);
}

std::string NodeText::node(const ir::Node& node) {
  TCC_CHECK(node.subgraphs.empty(), node.op_name(), ": a part of a graph has no subgraphs");
  std::string text, operands;
  for (size_t k = 0; k < node.inputs.size(); ++k)
    operands += (operands.empty() ? "" : ", ") + operand(node.reads(k) ? node.inputs[k] : nullptr);
  if (std::string attributes = this->attributes(node); !attributes.empty())
    operands += "; " + attributes;
  for (const ir::Value* output : node.outputs) {
    set_mark(output, str("%", results_++));
    text += str(text.empty() ? "" : ", ", mark(output), " ", type(*output));
  }
  return str(text, " = ", node.op_name(), "(", operands, ")");
}

RegionText region_text(const Region& region, Sizes sizes) {
  return RegionWriter(region, sizes).run();
}

std::vector<const ir::Node*> canonical_order(std::span<const ir::Node* const> nodes,
                                             std::span<const ir::Value* const> results) {
  std::set<const ir::Node*> waiting(nodes.begin(), nodes.end());
  std::vector<const ir::Node*> order;
  struct Visit {
    const ir::Node* node;
    size_t next = 0;  // operand
  };
  // A stack of its own: a region may be a chain of any length.
  const auto visit = [&](const ir::Node* root) {
    if (waiting.erase(root) == 0) return;
    std::vector<Visit> stack = {{root}};
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next == top.node->inputs.size()) {
        order.push_back(top.node);
        stack.pop_back();
        continue;
      }
      const ir::Value* input = top.node->inputs[top.next++];
      if (input && input->producer && waiting.erase(input->producer) > 0)
        stack.push_back({input->producer});
    }
  };
  for (const ir::Value* result : results)
    if (result->producer) visit(result->producer);
  for (const ir::Node* node : nodes) visit(node);
  return order;
}

void sort_inputs(Region& region) {
  std::map<const ir::Value*, size_t> first;
  for (const ir::Node* node : canonical_order(region.nodes, region.outputs))
    for (const ir::Value* input : node->inputs) first.try_emplace(input, first.size());
  std::ranges::stable_sort(region.inputs, {}, [&](const ir::Value* input) {
    const auto found = first.find(input);
    return found == first.end() ? first.size() : found->second;
  });
}

}  // namespace tcc::sched
