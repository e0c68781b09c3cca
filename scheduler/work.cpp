#include "scheduler/work.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

#include "ir/op.h"
#include "ir/sizes.h"
#include "scheduler/index_range.h"
#include "scheduler/inline.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Expr;
using ir::ExprNode;
using ir::OpKind;

// The most that an extent is, with the usual values of open dims.
double most_of(const SymInt& extent) {
  const SymInt usual = extent.substitute([](const ir::AtomPtr& atom) -> std::optional<SymInt> {
    if (atom->kind != ir::Atom::Kind::symbol) return std::nullopt;
    return SymInt(atom->usual);
  });
  return static_cast<double>(usual.range().hi);
}

double iterations_of(const ExprNode& loop) {
  double iterations = 1;
  for (const SymInt& axis : loop.axes) iterations *= most_of(ir::extent_of(axis));
  return iterations;
}

// Visits every distinct part of the values once, with how often one element computes it.
void visit_times(std::span<const Expr> values,
                 const std::function<void(const Expr&, double times)>& seen) {
  std::vector<Expr> parts;  // operands before users
  std::unordered_map<const ExprNode*, double> times;
  for (const Expr& value : values)
    ir::visit(value, [&](const Expr& e) {
      if (times.emplace(e.get(), 1).second) parts.push_back(e);
    });
  for (size_t i = parts.size(); i-- > 0;) {  // outer loops first
    const ExprNode& loop = *parts[i];
    if (loop.kind != ExprNode::Kind::reduce) continue;
    const double within = times.at(&loop) * iterations_of(loop);
    ir::visit(loop.args[0], [&](const Expr& e) {
      double& count = times.at(e.get());
      count = std::max(count, within);
    });
  }
  for (const Expr& part : parts) seen(part, times.at(part.get()));
}

// Issue slots of this part alone: an iteration of a loop accumulates and counts.
double slots_of(const ExprNode& e) {
  if (e.kind == ExprNode::Kind::call) return ir::info(e.fn).slots;
  return e.kind == ExprNode::Kind::reduce ? 2 * iterations_of(e) : 0;
}

double loop_of(const ExprNode& e, double times) {
  return e.kind == ExprNode::Kind::reduce ? times * iterations_of(e) : 1;
}

// Adds a part of an element that is computed so many times.
void add(Work& work, const ExprNode& e, double times) {
  work.slots += times * slots_of(e);
  work.iterations = std::max(work.iterations, loop_of(e, times));
}

// An op's element function sees this: elements of operands are variables, whose reads count.
class Operands : public ir::ElementContext {
 public:
  explicit Operands(const ir::Node& node) : node_(node) {}
  const ir::Node& node() const override { return node_; }
  Expr operand(int k, std::span<const SymInt> index) override {
    // Reads of one element are one.
    for (const Read& read : reads_)
      if (read.operand == k && std::equal(read.index.begin(), read.index.end(), index.begin()))
        return read.element;
    const DType dtype = compute_dtype(operand_type(k).dtype);
    reads_.push_back({k, {index.begin(), index.end()}, ir::read(ir::new_variable("x", dtype))});
    return reads_.back().element;
  }
  SymInt new_axis(const SymInt& extent) override {
    return SymInt::axis("r", extent, ir::AxisRole::reduction);
  }
  SymInt indirect(const Expr& value, const SymInt& extent) override {
    return indirect_index(value, extent);
  }

  // The operand of which the variable is an element, or -1.
  int operand_of(const ExprNode* variable) const {
    for (const Read& read : reads_)
      if (read.element.get() == variable) return read.operand;
    return -1;
  }

 private:
  struct Read {
    int operand;
    std::vector<SymInt> index;
    Expr element;
  };
  const ir::Node& node_;
  std::vector<Read> reads_;
};

OpWork work_of_element(const ir::Node& node) {
  OpWork work;
  work.reads.assign(node.inputs.size(), 0);
  Operands operands(node);
  std::vector<SymInt> index;
  for (const SymInt& extent : node.outputs[0]->shape()) index.push_back(SymInt::axis("i", extent));
  const Expr element = node.op->element(operands, index);
  visit_times({&element, 1}, [&](const Expr& e, double times) {
    add(work, *e, times);
    if (e->kind != ExprNode::Kind::var) return;
    const int operand = operands.operand_of(e.get());
    if (operand >= 0) work.reads[static_cast<size_t>(operand)] += times;
  });
  return work;
}

double ratio(const ir::Value* many, const ir::Value* few) {
  return static_cast<double>(usual_numel(many)) /
         std::max(1.0, static_cast<double>(usual_numel(few)));
}

}  // namespace

ElementWork element_work(std::span<const Expr> values, const SymInt& axis) {
  ElementWork work;
  visit_times(values, [&](const Expr& e, double times) {
    add(work, *e, times);
    if (e->kind != ExprNode::Kind::load) return;
    const int64_t step = coefficient(e->index, axis);
    if (step == 0) {
      work.shared += times;
      return;
    }
    (step == 1 ? work.contiguous : work.scattered) += times;
    work.bytes += times * size_bytes(e->stored);
    work.held += 1;
    work.held_bytes += size_bytes(e->stored);
  });
  return work;
}

double text_slots(std::span<const Expr> values) {
  // Counted in what NVRTC 13.0 makes of each for sm_90a.
  constexpr double kAngle = 130, kPower = 80, kNative = 10, kLibrary = 36, kUniform = 180;
  const auto text_of = [](ir::Fn fn) {
    using enum ir::Fn;
    switch (fn) {
      case sin:
      case cos:
      case tan: return kAngle;
      case pow: return kPower;
      case rand_uniform: return kUniform;
      case rand_normal: return kUniform + kAngle;
      case div:
      case sqrt:
      case rsqrt:
      case exp:
      case exp2:
      case exp_term:
      case sigmoid:
      case tanh: return kNative;
      default: return ir::info(fn).slots > kNative ? kLibrary : ir::info(fn).slots;
    }
  };
  double slots = 0;
  visit_times(values, [&](const Expr& e, double times) {
    if (e->kind == ExprNode::Kind::call) slots += times * text_of(e->fn);
  });
  return slots;
}

bool Work::is_long() const {
  constexpr double kManySlots = 80;
  return iterations > 1 || slots >= kManySlots;
}

OpWork op_work(const ir::Node& node) {
  switch (node.op->kind) {
    case OpKind::pointwise:
    case OpKind::view: return work_of_element(node);
    case OpKind::reduce: {
      const double row = ratio(node.inputs[0], node.outputs[0]);
      return {{row, row}, {row}};
    }
    case OpKind::contraction: {
      const ir::Contraction product = node.op->contraction(node);
      double terms = 1;
      for (const SymInt& extent : product.k) terms *= most_of(extent);
      return {{terms, terms}, std::vector<double>(node.inputs.size(), terms)};
    }
    // An element follows from those before it, or from all.
    case OpKind::scan:
    case OpKind::sort: {
      int64_t dim = node.attr<int64_t>("dim");
      const ir::Shape& shape = node.inputs[0]->shape();
      if (dim < 0) dim += static_cast<int64_t>(shape.size());
      const double line = shape.empty() ? 1 : most_of(shape[static_cast<size_t>(dim)]);
      return {{line, line}, std::vector<double>(node.inputs.size(), line)};
    }
    // Boxes are read with each tile before them (templates/suppress.cpp).
    case OpKind::suppress: {
      constexpr double kTile = 2048, kTest = 12, kKept = 0.25;
      const double line = most_of(node.outputs[0]->shape().back()), times = 1 + line / kTile / 2;
      return {{line * kKept * kTest, line}, {4 * times, times, 1}};
    }
    case OpKind::composite:
    case OpKind::external: break;
  }
  throw InternalError(str(node.op_name(), " is no op of a kernel"));
}

double region_slots(const Region& region) {
  // The models of the kernels that ask were fitted with so many for each short op.
  constexpr double kShortOp = 4;
  double slots = 0;
  for (const ir::Node* node : region.nodes) {
    if (node->op->kind == OpKind::pointwise) {
      const OpWork work = op_work(*node);
      slots += static_cast<double>(usual_numel(node->outputs[0])) *
               (work.is_long() ? work.slots : kShortOp);
    } else if (node->op->kind == OpKind::reduce || node->op->kind == OpKind::scan) {
      slots += static_cast<double>(usual_numel(node->inputs[0]));
    }
  }
  return slots;
}

}  // namespace tcc::sched
