#include "scheduler/templates/attention_region.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/op.h"
#include "ir/sizes.h"
#include "scheduler/axis_use.h"
#include "scheduler/templates/attention_score.h"
#include "scheduler/templates/common.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Fn;
using ir::Node;
using ir::OpKind;
using ir::ReduceKind;
using ir::Value;
using Kind = ExprNode::Kind;

bool is_same(const Expr& a, const Expr& b) { return ir::compare(a, b) == 0; }

// The nodes that attention is made of.
struct Anchors {
  const Node *first = nullptr, *second = nullptr;  // the products
  const Node *max = nullptr, *sum = nullptr;       // over the keys
};

OrRefusal<Anchors> find_anchors(const Region& region) {
  Anchors found;
  int products = 0, reductions = 0;
  for (const Node* node : region.nodes) {
    if (node->op->kind == OpKind::contraction) {
      (products++ == 0 ? found.first : found.second) = node;
    } else if (node->op->kind == OpKind::reduce) {
      ++reductions;
      if (*node->op->reduction == ReduceKind::max) found.max = node;
      if (*node->op->reduction == ReduceKind::sum) found.sum = node;
    } else if (node->op->kind != OpKind::pointwise && node->op->kind != OpKind::view) {
      return Refusal{str(node->op_name(), " beside two products"), products < 2};
    }
  }
  if (products == 2 && reductions > 2 && found.max && found.sum)
    return Refusal{
        str(reductions, " reductions stand between the products, and a softmax has two")};
  if (products != 2 || reductions != 2 || !found.max || !found.sum)
    return Refusal{"it is no two products with a softmax between them", true};
  return found;
}

// An operand of a product at some of the product's own axes.
struct ProductOperand {
  int input = 0;
  ir::Access access;
};

class Reader {
 public:
  Reader(const Region& region, const Anchors& anchors, const AttentionVariables& variables)
      : region_(region), at_(anchors), variables_(variables) {
    first_ = at_.first->op->contraction(*at_.first);
    second_ = at_.second->op->contraction(*at_.second);
    dims_ = reduction_dims(at_.max);
  }

  OrRefusal<AttentionParts> run() {
    if (auto why = check(); !why.empty()) return Refusal{why};
    std::vector<std::vector<SymInt>> digits;
    for (const SymInt& extent : dims_.kept_extents) digits.push_back({extent});
    // Dims are split where k or v depends on parts of them, then where q does.
    for (const bool with_q : {false, true}) do {
        if (auto why = read(digits); !why.empty()) return Refusal{why};
      } while (split(digits, with_q));
    if (auto why = check_softmax(); !why.empty()) return Refusal{why};
    if (auto why = store(); !why.empty()) return Refusal{why};
    return std::move(parts_);
  }

 private:
  // Parts that do not depend on the axes.
  std::string check() {
    const Value* scores = at_.max->inputs[0];
    for (const Node* product : {at_.first, at_.second}) {
      if (compute_dtype(product->outputs[0]->dtype()) != DType::f32)
        return str(product->op_name(), " of ", name(product->outputs[0]->dtype()));
      const ir::Contraction& c = product == at_.first ? first_ : second_;
      if (c.m.size() != 1 || c.n.size() != 1 || c.k.size() != 1)
        return str(product->op_name(), " is no product of matrices");
      for (const Value* operand : product->inputs)
        if (operand && !is_float(operand->dtype()))
          return str(product->op_name(), " of ", name(operand->dtype()));
    }
    if (region_.strict_rounding && is_low_precision(at_.first->outputs[0]->dtype()))
      return "scores and weights must be rounded after every op";
    if (compute_dtype(scores->dtype()) != DType::f32) return "scores are no f32";
    if (dims_.reduced.size() != 1) return "softmax is over several dims";
    const ReductionDims of_sum = reduction_dims(at_.sum);
    if (at_.sum->inputs[0]->shape() != scores->shape() || of_sum.reduced != dims_.reduced)
      return "the sum is of other rows than the maximum";
    parts_.keys = dims_.cols();
    if (!first_.k[0].is_const()) return str("a depth of ", first_.k[0]);
    parts_.depths = first_.k[0].value();
    parts_.depths_v = 1;
    if (parts_.keys.is(0) || parts_.depths == 0) return "a sum of nothing";
    return "";
  }

  // The index of scores, of a row's digits and a key.
  std::vector<SymInt> score_index() const {
    return join_index(dims_, kept_, std::vector<SymInt>{parts_.key});
  }

  // Inlines scores, q, k and v with one axis for each of `digits`, which split the kept dims.
  // Returns a reason why that is not possible.
  std::string read(const std::vector<std::vector<SymInt>>& digits) {
    inliner_.emplace(region_, Inliner::Lacking::is_noted);
    axes_.clear();
    kept_.clear();
    for (const std::vector<SymInt>& extents : digits) {
      std::vector<SymInt> own;
      for (const SymInt& extent : extents) own.push_back(SymInt::axis("b", extent));
      kept_.push_back(ir::linearize(own, extents));
      axes_.push_back(std::move(own));
    }
    parts_.key = SymInt::axis("key", parts_.keys);
    parts_.depth = SymInt::axis("d", parts_.depths);
    place_.clear();
    bind();
    parts_.score = inliner_->value_at(at_.max->inputs[0], score_index());
    if (inliner_->asked_elsewhere()) return "a score is made of several elements of the product";
    if (place_.empty()) return "the softmax is not of the product's elements";
    if (auto why = read_first(); !why.empty()) return why;
    return read_second();
  }

  // Binds what the kernel computes, at the place where it is asked for.
  void bind() {
    inliner_->bind(at_.first->outputs[0], [this](std::span<const SymInt> index) -> Expr {
      if (place_.empty()) place_.assign(index.begin(), index.end());
      return std::ranges::equal(place_, index) ? ir::read(variables_.raw) : nullptr;
    });
    for (const auto& [node, variable] : {std::pair{at_.max, max_}, {at_.sum, sum_}})
      inliner_->bind(
          node->outputs[0], [this, node, variable](std::span<const SymInt> index) -> Expr {
            return kept_index(node, dims_, index) == kept_ ? ir::read(variable) : nullptr;
          });
  }

  bool depends(const Expr& e, const SymInt& axis) {
    return !axis.is_const() && use_.of(e).free.contains(axis.as_atom());
  }

  // q and k: k is the one that depends on the key.
  std::string read_first() {
    const ContractionIndex own = contraction_index(at_.first, first_, place_);
    const std::vector<SymInt> depth = {parts_.depth};
    const ir::Access a = first_.a(own.batch, own.m, depth), b = first_.b(own.batch, depth, own.n);
    if (a.valid || b.valid) return str(at_.first->op_name(), " pads its operands");
    const Value *of_a = at_.first->inputs[static_cast<size_t>(first_.a_operand)],
                *of_b = at_.first->inputs[static_cast<size_t>(first_.b_operand)];
    const Expr x = inliner_->value_at(of_a, a.index), y = inliner_->value_at(of_b, b.index);
    if (depends(x, parts_.key) && depends(y, parts_.key))
      return "both operands of the scores depend on the key";
    const bool swapped = depends(x, parts_.key);
    parts_.q = swapped ? y : x;
    parts_.k = swapped ? x : y;
    parts_.q_value = swapped ? of_b : of_a;
    parts_.k_value = swapped ? of_a : of_b;
    return "";
  }

  // The weights' operand of the second product is the one that the scores make.
  std::string read_second() {
    const bool of_a =
        follows(at_.second->inputs[static_cast<size_t>(second_.a_operand)], at_.first);
    std::vector<SymInt> extents = second_.batch;
    extents.push_back(of_a ? second_.m[0] : second_.n[0]);
    if (!(ir::product(extents) == dims_.rows()) || !(second_.k[0] == parts_.keys))
      return str("the second product reads ", ir::product(extents), " rows of ", second_.k[0],
                 " weights, of scores of ", dims_.rows(), " rows of ", parts_.keys);
    std::vector<SymInt> batch = ir::delinearize(ir::linearize(kept_, dims_.kept_extents), extents);
    const std::vector<SymInt> row = {batch.back()}, key = {parts_.key};
    batch.pop_back();
    const SymInt& depths_v = of_a ? second_.n[0] : second_.m[0];
    if (!depths_v.is_const()) return str("a depth of ", depths_v);
    parts_.depths_v = depths_v.value();
    parts_.depth_v = SymInt::axis("e", parts_.depths_v);
    if (parts_.depths_v == 0) return "values of no elements";
    const std::vector<SymInt> depth = {parts_.depth_v};
    const std::vector<SymInt>&m = of_a ? row : depth, &n = of_a ? depth : row;
    const ir::Access a = second_.a(batch, m, key), b = second_.b(batch, key, n);
    if (a.valid || b.valid) return str(at_.second->op_name(), " pads its operands");
    weights_ = {of_a ? second_.a_operand : second_.b_operand, of_a ? a : b};
    const int of_v = of_a ? second_.b_operand : second_.a_operand;
    parts_.v_value = at_.second->inputs[static_cast<size_t>(of_v)];
    if (follows(parts_.v_value, at_.first)) return "both operands of the result are made of scores";
    parts_.v = inliner_->value_at(parts_.v_value, (of_a ? b : a).index);
    result_ = second_.out(batch, m, n);
    return "";
  }

  // Splits a dim of which k or v (or q, beside the queries) reads parts, as a head's group of
  // heads. Chooses the queries.
  bool split(std::vector<std::vector<SymInt>>& digits, bool with_q) {
    choose_query();
    bool changed = false;
    for (size_t dim = 0; dim < digits.size(); ++dim)
      for (size_t i = 0; i < digits[dim].size() && !changed; ++i) {
        const SymInt& axis = axes_[dim][i];
        if (axis.is_const() || (with_q && axis == parts_.query)) continue;
        int64_t part = 0;
        for (const Expr& e : with_q ? std::vector{parts_.q} : std::vector{parts_.k, parts_.v})
          if (part == 0) part = divisor_of(e, axis, digits[dim][i]);
        if (part == 0) continue;
        digits[dim][i] = floordiv(digits[dim][i], part);
        digits[dim].insert(digits[dim].begin() + static_cast<std::ptrdiff_t>(i) + 1, part);
        changed = true;
      }
    return changed;
  }

  // A number by which an index in `e` divides the axis, and which divides its extent; or 0.
  static int64_t divisor_of(const Expr& e, const SymInt& axis, const SymInt& extent) {
    int64_t divisor = 0;
    ir::visit(e, [&](const Expr& node) {
      if (node->kind != Kind::load) return;
      node->index.visit_atoms([&](const ir::AtomPtr& atom) {
        if (atom->kind != ir::Atom::Kind::floordiv && atom->kind != ir::Atom::Kind::mod) return;
        if (!(atom->args[0] == axis) || !atom->args[1].is_const()) return;
        const int64_t by = atom->args[1].value();
        if (by > 1 && !extent.is(by) && !extent.is(0) && extent.divisible_by(by)) divisor = by;
      });
    });
    return divisor;
  }

  // The queries are the innermost digit on which neither keys nor values depend.
  void choose_query() {
    parts_.query = 0;
    parts_.queries = 1;
    parts_.digits.clear();
    for (const std::vector<SymInt>& own : axes_)
      for (const SymInt& axis : own)
        if (!axis.is_const()) parts_.digits.push_back(axis);
    for (size_t i = parts_.digits.size(); i-- > 0;) {
      const SymInt axis = parts_.digits[i];
      if (depends(parts_.k, axis) || depends(parts_.v, axis)) continue;
      parts_.query = axis;
      parts_.queries = ir::extent_of(axis);
      parts_.digits.erase(parts_.digits.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }

  static Expr without_rounding(const Expr& e) {
    const bool widens = e->kind == Kind::cast && e->dtype == DType::f32;
    const Expr& narrow = widens ? e->args[0] : e;
    const bool rounds = narrow->kind == Kind::cast && is_low_precision(narrow->dtype) &&
                        narrow->args[0]->dtype == DType::f32;
    return widens && rounds ? narrow->args[0] : e;
  }

  // The weights as an expression of softmax's own, which is exp(score - max) / sum: perhaps
  // rounded, with 0 in the place of NaN, and multiplied with or chosen by what depends on no score.
  // Null: they are not proportional to softmax's.
  Expr in_weight(const Expr& w, const Expr& exponential) {
    const Expr plain = without_rounding(w);
    if (plain != w) return in_weight(plain, exponential);
    if (w->kind != Kind::call) return nullptr;
    const auto& args = w->args;
    const Expr sum = ir::read(sum_), inverse = ir::div(ir::constant(DType::f32, 1), sum);
    for (const Expr& softmax :
         {ir::mul(exponential, inverse), ir::mul(inverse, exponential), ir::div(exponential, sum)})
      if (is_same(w, softmax)) return ir::read(variables_.weight);
    const auto is_free = [&](const Expr& e) { return !uses(e, {variables_.raw, max_, sum_}); };
    if (is_call(w, Fn::mul) || is_call(w, Fn::div))
      for (const size_t x : {0, 1}) {
        if (!is_free(args[1 - x]) || (x == 1 && is_call(w, Fn::div))) continue;
        const Expr inner = in_weight(args[x], exponential);
        if (!inner) return nullptr;
        return w->fn == Fn::div ? ir::div(inner, args[1]) : ir::mul(inner, args[1 - x]);
      }
    if (!is_call(w, Fn::select)) return nullptr;
    if (is_call(args[0], Fn::isnan) && ir::is_const(args[1], 0) &&
        is_same(without_rounding(args[0]->args[0]), without_rounding(args[2]))) {
      parts_.safe = true;
      return in_weight(args[2], exponential);
    }
    // The weights of a row without a sum are NaN, and so is what a kernel makes of it: where a
    // choice by row replaces all of them by 0, it would be wrong.
    const bool drops = ir::is_const(args[1], 0) || ir::is_const(args[2], 0);
    if (!is_free(args[0]) || (drops && !depends(args[0], parts_.key))) return nullptr;
    std::vector<Expr> chosen = {args[0]};
    for (const size_t x : {1, 2}) {
      chosen.push_back(ir::is_const(args[x], 0) ? args[x] : in_weight(args[x], exponential));
      if (!chosen.back()) return nullptr;
    }
    return ir::select(chosen[0], chosen[1], chosen[2]);
  }

  std::string check_softmax() {
    const Expr e = inliner_->value_at(at_.sum->inputs[0], score_index());
    const Expr max = ir::read(max_);
    if (!is_same(e, ir::call(Fn::exp, {ir::sub(parts_.score, max)})))
      return "what is summed is not the exponential of scores minus their maximum";
    const Expr w = inliner_->value_at(at_.second->inputs[static_cast<size_t>(weights_.input)],
                                      weights_.access.index);
    if (inliner_->asked_elsewhere())
      return str(at_.second->op_name(), " reads the weights in another order than the scores'");
    parts_.weight = in_weight(w, e);
    return parts_.weight ? "" : "the weights are no softmax, nor proportional to one";
  }

  bool uses(const Expr& e, std::initializer_list<ir::Variable> variables) const {
    bool found = false;
    ir::visit(e, [&](const Expr& node) {
      if (node->kind == Kind::var)
        found |= std::ranges::find(variables, node->variable) != variables.end();
    });
    return found;
  }

  // Whether the value is made of the node's results.
  bool follows(const Value* value, const Node* node) const {
    std::set<const Value*> seen;
    std::vector<const Value*> open = {value};
    while (!open.empty()) {
      const Value* next = open.back();
      open.pop_back();
      if (!next || !region_.contains(next) || !seen.insert(next).second) continue;
      if (next->producer == node) return true;
      open.insert(open.end(), next->producer->inputs.begin(), next->producer->inputs.end());
    }
    return false;
  }

  // The index of the element of `value` that is made of the result's element, or of the row's
  // maximum and sum, which views may have moved; nothing where there is none.
  std::optional<std::vector<SymInt>> place_of(const Value* value) const {
    const Node* node = value ? value->producer : nullptr;
    if (!node || !region_.contains(node)) return std::nullopt;
    if (node == at_.second) return result_;
    if (node->op->kind == OpKind::reduce) {
      if (!node->attr<bool>("keepdim")) return kept_;
      return join_index(dims_, kept_, std::vector<SymInt>{0});
    }
    if (node->op->kind == OpKind::view) {
      if (!node->op->inverse) return std::nullopt;
      const auto index = place_of(node->inputs[0]);
      return index ? std::optional(node->op->inverse(*node, *index)) : std::nullopt;
    }
    if (node->op->kind != OpKind::pointwise) return std::nullopt;
    for (const Value* input : node->inputs)
      if (input && input->shape() == value->shape())
        if (auto index = place_of(input)) return index;
    return std::nullopt;
  }

  // The stores of the result and of the log-sum-exp.
  std::string store() {
    inliner_->bind(at_.second->outputs[0], [this](std::span<const SymInt> index) -> Expr {
      return std::ranges::equal(result_, index) ? ir::read(variables_.acc) : nullptr;
    });
    for (const Value* output : region_.outputs) {
      const bool of_result = follows(output, at_.second);
      const SymInt elements = of_result ? ir::elements_of(at_.second->outputs[0]) : dims_.rows();
      constexpr std::string_view kElsewhere =
          "scores, weights, their maximum or their sum are read elsewhere, too";
      if (!(ir::elements_of(output) == elements))
        return of_result ? str("an output of ", ir::elements_of(output), " elements beside ",
                               elements, " of the result")
                         : std::string(kElsewhere);
      const StoredThrough through = peel_views(region_, output);
      const auto index = place_of(through.base);
      if (!index) return str(output->name, " is no view of the result");
      Expr value = inliner_->value_at(through.base, *index);
      if (!of_result) value = of_log_sum(value);
      if (inliner_->asked_elsewhere() || uses(value, {variables_.raw, max_, sum_}))
        return std::string(of_result ? "an output needs other elements than its own" : kElsewhere);
      (of_result ? parts_.outputs : parts_.sums)
          .push_back({region_.slot_of_output(output),
                      region_.layout(output).offset(through.output_index(*index)), value});
    }
    if (parts_.outputs.empty()) return "nothing reads its result";
    return "";
  }

  // The maximum plus the logarithm of the sum as one variable.
  Expr of_log_sum(const Expr& value) const {
    const Expr max = ir::read(max_), log = ir::call(Fn::log, {ir::read(sum_)}),
               result = ir::read(variables_.sum);
    const Expr joined = ir::rewrite(value, [&](const Expr& e) -> Expr {
      return is_same(e, ir::add(log, max)) || is_same(e, ir::add(max, log)) ? result : nullptr;
    });
    return ir::rewrite(joined, [&](const Expr& e) -> Expr {
      return is_same(e, ir::select(ir::call(Fn::isinf, {max}), max, result)) ? result : nullptr;
    });
  }

  const Region& region_;
  const Anchors& at_;
  const AttentionVariables& variables_;
  std::optional<Inliner> inliner_;
  ir::Contraction first_, second_;
  ReductionDims dims_;  // of the scores
  const ir::Variable max_ = ir::new_variable("max", DType::f32),
                     sum_ = ir::new_variable("sum", DType::f32);
  AxisUse use_;
  std::vector<std::vector<SymInt>> axes_;  // of each kept dim
  std::vector<SymInt> kept_;               // the kept dims of the axes
  std::vector<SymInt> place_;              // of the first product's element in its result
  std::vector<SymInt> result_;             // of the second's
  ProductOperand weights_;
  AttentionParts parts_;
};

}  // namespace

OrRefusal<AttentionParts> read_attention(const Region& region,
                                         const AttentionVariables& variables) {
  const OrRefusal<Anchors> anchors = find_anchors(region);
  if (!anchors) return anchors.refusal();
  return Reader(region, *anchors, variables).run();
}

}  // namespace tcc::sched
