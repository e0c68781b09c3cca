// The definitions of ops. One file per op, ir/ops/<op>.cpp, fills in one OpDef; the table of all is
// generated.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.h"
#include "ir/graph.h"
#include "ir/reference/gemm_f8.h"

namespace tcc::ir {

class Builder;

// ---- attributes

enum class AttrType : uint8_t { boolean, integer, number, text, dtype, ints, numbers };

struct AttrDef {
  std::string name;
  AttrType type;
  std::optional<Attr> default_value;      // required when absent
  std::vector<std::string> choices = {};  // text only: what it may be
  bool scalar_to_list = false;            // ints: a single int n stands for {n} (the op widens it)
  // It says how large or where, not what: kernels that differ in it, and in sizes that follow from
  // it, are of one family (scheduler/family.h).
  bool is_size = false;
};

// The same attribute, marked as a size.
inline AttrDef size_attr(AttrDef attr) {
  attr.is_size = true;
  return attr;
}

// ---- shape rule

// The argument of a shape rule. The fail() functions throw Error(bad_input) prefixed with location
// and op.
struct InferContext {
  const Node& node;
  std::span<const Type* const> inputs;  // null for an omitted optional operand
  [[noreturn]] void fail(const std::string& reason) const;
  void require(bool condition, const std::string& reason) const {
    if (!condition) fail(reason);
  }
  // `dim` of a rank-`rank` tensor, negative counted from the end; fails when out of range.
  int normalize_dim(int64_t dim, int rank) const;
  // The common shape under broadcasting; fails naming both shapes.
  Shape broadcast(const Shape& a, const Shape& b) const;
};

// ---- loop expressions

// The argument of an element function.
class ElementContext {
 public:
  virtual ~ElementContext() = default;
  virtual const Node& node() const = 0;
  // The element of operand `k` at `index` (one SymInt per dim, in range wherever the result is
  // used). Its dtype is compute_dtype(operand dtype).
  virtual Expr operand(int k, std::span<const SymInt> index) = 0;
  // A fresh axis in [0, extent) for a serial `reduce`.
  virtual SymInt new_axis(const SymInt& extent) = 0;
  // An index from a loaded integer: negative values count from the end, then clamped into [0,
  // extent).
  virtual SymInt indirect(const Expr& value, const SymInt& extent) = 0;
  const Type& operand_type(int k) const { return node().inputs[static_cast<size_t>(k)]->type; }
};

// One index map of a contraction: where an operand's element lies, and whether it exists (null:
// always). An element that does not exist counts as zero.
struct Access {
  std::vector<SymInt> index;
  Expr valid;
};

// out[out(b, m, n)] = sum over k of A[a(b, m, k)] * B[b(b, k, n)], each of b, m, n, k a list of
// axes.
struct Contraction {
  int a_operand = 0, b_operand = 1;
  std::vector<SymInt> batch, m, n, k;  // extents, outermost first
  std::function<Access(std::span<const SymInt> batch, std::span<const SymInt> m,
                       std::span<const SymInt> k)>
      a;
  std::function<Access(std::span<const SymInt> batch, std::span<const SymInt> k,
                       std::span<const SymInt> n)>
      b;
  std::function<std::vector<SymInt>(std::span<const SymInt> batch, std::span<const SymInt> m,
                                    std::span<const SymInt> n)>
      out;
};

// ---- reference semantics

// A value in the reference interpreter: f64 for floats, i64 for integers and bool (u64 as its
// bits). Row-major.
struct RefTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<double> f;   // floats
  std::vector<int64_t> i;  // integers, bool
  RefTensor() = default;
  RefTensor(DType d, std::vector<int64_t> s);  // zero-filled
  int64_t numel() const { return static_cast<int64_t>(tcc::is_float(dtype) ? f.size() : i.size()); }
  bool is_float() const { return tcc::is_float(dtype); }
};

// The argument of a reference function: inputs, and outputs that are allocated with the inferred
// types. It computes in f64 / i64; the interpreter rounds results to the working type and wraps
// integers.
struct EvalContext {
  const Node& node;
  std::span<const RefTensor* const> inputs;  // null for an omitted optional operand
  std::span<RefTensor> outputs;
  F8Sums f8_sums = F8Sums::exact;
};

// ---- the op

constexpr int kMaxCompositions = 32;  // within each other; ops nest a few deep

enum class OpKind : uint8_t {
  pointwise,    // `element` reads operands at arbitrary indices; fuses with anything
  view,         // `element` only reads operand 0 at another index: no arithmetic, may be free
  reduce,       // reduces `x` over attribute dim(s) with `reduction`; the inner-most loops of a
                // reduction region
  contraction,  // `contraction`
  scan,         // a prefix operation along `dim`
  sort,         // orders runs of elements along `dim`: sort_runs
  suppress,     // keeps elements of a row that none before them excludes: suppress
  composite,    // `compose`
  external,  // a step between kernels: calls a function of the host's (ir/external.h), reads a size
};

// A case for the tests that loop over the table: inputs by type, attributes. Float inputs are drawn
// from [lo, hi).
struct OpSample {
  std::vector<Type> inputs;
  Attrs attrs = {};
  double lo = -2, hi = 2;          // floats
  int64_t int_lo = 0, int_hi = 8;  // integers
};

struct OpDef {
  std::string name;
  OpKind kind = OpKind::pointwise;
  // Operand names, for messages: "x"; "bias?" is optional; "xs..." (last) stands for one or more.
  std::vector<std::string> operands;
  std::vector<AttrDef> attrs;
  std::vector<std::string> results = {
      "out"};  // names; an op's result count is fixed, unless num_results says else
  std::function<int(const Node&)> num_results;
  std::string doc;  // one line; source of the semantics (torch.nn.functional.gelu, ...)

  // The types of the outputs.
  std::function<std::vector<Type>(const InferContext&)> infer;
  // Plain C++ reference semantics. Composites may omit it: their composition is then evaluated in
  // f64.
  std::function<void(EvalContext&)> reference;

  // Exactly one of these, by kind.
  std::function<Expr(ElementContext&, std::span<const SymInt> index)> element;  // pointwise, view
  std::optional<ReduceKind> reduction;                                          // reduce, scan
  std::function<Contraction(const Node&)> contraction;                          // contraction
  // Composite ops have it. Where the composition depends on a size that comes at run time, it makes
  // nothing and returns nothing.
  std::function<std::vector<Value*>(Builder&, const Node&)> compose;

  // view: where element `index` of operand 0 goes in the output, when the map is a bijection
  // (permute, reshape): lets a producer store through it.
  std::function<std::vector<SymInt>(const Node&, std::span<const SymInt> operand_index)> inverse;

  // The gradients of the operands given those of the results: graph to graph. Null until AOT
  // autograd arrives, for every op: "not differentiable yet".
  std::function<std::vector<Value*>(Builder&, const Node&, std::span<Value* const> grad_outputs)>
      gradient;

  // Operand 0 is a state, in which the result is stored when the run ends. The element function
  // does not read operand 0.
  bool stores = false;
  // The same of a part of the state (ir/append.h), which the element function gives alone. The
  // result lies in the state's memory.
  bool appends = false;
  // An op that counts: its attribute `size` is the symbol of a dim whose size each run gives, at
  // most this (ir/counted_dims.h). Compositions end in `read_size`.
  std::function<SymInt(const Node&)> most_counted;
  // Pointwise ops of one operand: how far the f32 function of a device may be from the exact result
  // at x, where that is more than a few ulp of it. Null: nowhere. Noise (ir/reference/noise.h) is
  // that large.
  std::function<double(const Node&, double x)> device_error;
  // Operands and results may be f8: elements are moved, converted or multiplied into an
  // `out_dtype`. Of views they may anyway.
  bool takes_f8 = false;
  // Results are compared by the rule of ir/reference/compare.h. Near ties, rounding allows several
  // results of these ops (argmax, comparisons on computed floats); tests compare them by rules of
  // their own.
  bool tie_sensitive = false;

  std::vector<OpSample> samples;
};

// The table. Lookup by name; null when unknown.
const OpDef* find_op(std::string_view name);
std::span<const OpDef> all_ops();  // sorted by name
// The closest name, or "" when none is close: for "unknown op 'sofmax'; did you mean 'softmax'?".
std::string suggest_op(std::string_view name);

// The types of a node's outputs, from its op, attributes and the types of its inputs. Throws
// Error(bad_input) with the op's words.
std::vector<Type> infer_types(const Node& node);

// Checks attrs against the op (unknown, missing, wrong type, bad choice) and fills defaults in.
// Throws bad_input.
void complete_attrs(const OpDef& op, Attrs& attrs);

}  // namespace tcc::ir
