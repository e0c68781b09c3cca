#include <algorithm>

#include "ir/builder.h"
#include "ir/op.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_contraction.h"
#include "ir/ops/_gemm.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_matmul {
namespace {

// Returns how many dims of an operand are batch dims: all but the last two, none of a vector.
size_t batch_rank(const Shape& shape) { return shape.size() <= 2 ? 0 : shape.size() - 2; }

std::vector<Type> infer_matmul(const InferContext& context) {
  const Type& a = *context.inputs[0];
  const Type& b = *context.inputs[1];
  const auto shapes = [&] { return shape_text(a.shape) + " and " + shape_text(b.shape); };
  const DType dtype = contracted_dtype(context);
  context.require(!a.shape.empty() && !b.shape.empty(), "a scalar has no matmul");
  const SymInt& b_k = b.shape[b.shape.size() == 1 ? 0 : b.shape.size() - 2];
  context.require(may_be_equal(a.shape.back(), b_k),
                  str("the inner dims of ", shapes(), " differ: ", a.shape.back(), " and ", b_k));
  const auto batch = [](const Shape& shape) {
    return Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch_rank(shape)));
  };
  Shape out = context.broadcast(batch(a.shape), batch(b.shape));
  if (a.shape.size() > 1) out.push_back(a.shape[a.shape.size() - 2]);
  if (b.shape.size() > 1) out.push_back(b.shape.back());
  return {{dtype, checked_shape(context, std::move(out))}};
}

// The index into the batch dims of an operand of the output's batch index: aligned at the end, 0
// where it broadcasts.
std::vector<SymInt> batch_index(const Shape& operand, std::span<const SymInt> batch) {
  const size_t rank = batch_rank(operand);
  std::vector<SymInt> index;
  for (size_t d = 0; d < rank; ++d)
    index.push_back(operand[d].is(1) ? SymInt(0) : batch[batch.size() - rank + d]);
  return index;
}

// The last two dims of the operands; 1 stands for the row of a vector a and the column of a vector
// b.
SymInt rows(const Shape& a) { return a.size() == 1 ? SymInt(1) : a[a.size() - 2]; }
SymInt columns(const Shape& b) { return b.size() == 1 ? SymInt(1) : b.back(); }

Contraction matmul_contraction(const Node& node) {
  const Shape a = node.inputs[0]->shape(), b = node.inputs[1]->shape();
  const Shape& out = node.outputs[0]->shape();
  const size_t matrix_dims = (a.size() > 1) + (b.size() > 1);
  using Indices = std::span<const SymInt>;
  Contraction c;
  c.batch = {out.begin(), out.end() - static_cast<std::ptrdiff_t>(matrix_dims)};
  c.m = {rows(a)};
  c.n = {columns(b)};
  c.k = {a.back()};
  c.a = [a](Indices batch, Indices m, Indices k) -> Access {
    std::vector<SymInt> index = batch_index(a, batch);
    if (a.size() > 1) index.push_back(m[0]);
    index.push_back(k[0]);
    return {index, nullptr};
  };
  c.b = [b](Indices batch, Indices k, Indices n) -> Access {
    std::vector<SymInt> index = batch_index(b, batch);
    index.push_back(k[0]);
    if (b.size() > 1) index.push_back(n[0]);
    return {index, nullptr};
  };
  c.out = [has_m = a.size() > 1, has_n = b.size() > 1](Indices batch, Indices m, Indices n) {
    std::vector<SymInt> index(batch.begin(), batch.end());
    if (has_m) index.push_back(m[0]);
    if (has_n) index.push_back(n[0]);
    return index;
  };
  return c;
}

void matmul_reference(EvalContext& context) {
  const RefTensor& a = *context.inputs[0];
  const RefTensor& b = *context.inputs[1];
  RefTensor& out = context.outputs[0];
  const int64_t m = a.shape.size() == 1 ? 1 : a.shape[a.shape.size() - 2];
  const int64_t n = b.shape.size() == 1 ? 1 : b.shape.back();
  const int64_t k = a.shape.back();
  if (out.numel() == 0) return;
  const auto batch = [](const std::vector<int64_t>& shape) {
    const size_t matrix_dims = std::min<size_t>(2, shape.size());
    return std::span<const int64_t>(shape).first(shape.size() - matrix_dims);
  };
  const size_t matrix_dims = (a.shape.size() > 1) + (b.shape.size() > 1);
  const auto out_batch = std::span<const int64_t>(out.shape).first(out.shape.size() - matrix_dims);
  // One product after the other: each of them is parallel.
  std::vector<int64_t> index(out_batch.size(), 0);
  const int64_t count = count_of(out_batch);
  for (int64_t i = 0; i < count; ++i, advance(index, out_batch)) {
    const int64_t a_offset = broadcast_offset(index, batch(a.shape)) * m * k;
    const int64_t b_offset = broadcast_offset(index, batch(b.shape)) * k * n;
    const int64_t c_offset = i * m * n;
    const auto multiply = [&](const auto& x, const auto& y, auto& z) {
      gemm(m, n, k, x.data() + a_offset, k, 1, y.data() + b_offset, n, 1, z.data() + c_offset, n);
    };
    if (is_f8(a.dtype)) {
      gemm_f8(context.f8_sums, m, n, k, a.f.data() + a_offset, k, 1, b.f.data() + b_offset, n, 1,
              out.f.data() + c_offset, n);
    } else if (out.is_float()) {
      multiply(a.f, b.f, out.f);
    } else {
      multiply(a.i, b.i, out.i);
    }
  }
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "matmul";
  op.kind = OpKind::contraction;
  op.operands = {"a", "b"};
  op.attrs = {out_dtype_attr()};
  op.doc =
      "Matrix product of vectors, matrices or batches of matrices; batch dims broadcast; the "
      "operands share one dtype, which is the output's, but integers with an out_dtype may be "
      "mixed, as may f8, which needs one; integer sums wrap; torch.matmul, torch._int_mm, "
      "torch._scaled_mm";
  op.infer = infer_matmul;
  op.contraction = matmul_contraction;
  op.reference = matmul_reference;
  op.takes_f8 = true;
  op.samples = {
      {{{DType::f32, {5, 7}}, {DType::f32, {7, 3}}}},
      {{{DType::f32, {1, 33}}, {DType::f32, {33, 1}}}},
      {{{DType::f32, {65, 130}}, {DType::f32, {130, 67}}}},
      {{{DType::f32, {7}}, {DType::f32, {7}}}},
      {{{DType::f32, {7}}, {DType::f32, {7, 3}}}},
      {{{DType::f32, {2, 5, 7}}, {DType::f32, {7}}}},
      {{{DType::f32, {2, 1, 5, 7}}, {DType::f32, {3, 7, 4}}}},
      {{{DType::f32, {4, 16, 32}}, {DType::f32, {32, 24}}}},
      {{{DType::f32, {3, 0}}, {DType::f32, {0, 4}}}},
      {{{DType::f32, {0, 5}}, {DType::f32, {5, 4}}}},
      {{{DType::f16, {64, 64}}, {DType::f16, {64, 64}}}},
      {{{DType::bf16, {33, 40}}, {DType::bf16, {40, 17}}}},
      {{{DType::bf16, {2, 16, 128}}, {DType::bf16, {2, 128, 64}}}},
      {{{DType::f64, {9, 21}}, {DType::f64, {21, 6}}}},
      {{{DType::i32, {5, 7}}, {DType::i32, {7, 3}}}, {}, -2, 2, -9, 9},
      {{{DType::i8, {5, 7}}, {DType::i8, {7, 3}}}, {}, -2, 2, -100, 100},
      {{{DType::i8, {33, 70}}, {DType::i8, {70, 40}}}, {{"out_dtype", "i32"}}, -2, 2, -128, 128},
      {{{DType::i8, {17, 64}}, {DType::u8, {64, 32}}}, {{"out_dtype", "i32"}}, -2, 2, -128, 256},
      {{{DType::u8, {2, 20, 35}}, {DType::i8, {35, 9}}}, {{"out_dtype", "i32"}}, -2, 2, -128, 256},
      {{{DType::u8, {3, 4, 32}}, {DType::u8, {3, 32, 16}}}, {{"out_dtype", "u32"}}, -2, 2, 0, 256},
      {{{DType::i16, {6, 31}}, {DType::i16, {31, 8}}}, {}, -2, 2, -30000, 30000},
      {{{DType::u32, {6, 31}}, {DType::u32, {31, 8}}}, {}, -2, 2, 0, 1 << 30},
      {{{DType::i64, {9, 21}}, {DType::i64, {21, 6}}}, {}, -2, 2, -(1LL << 40), 1LL << 40},
      {{{DType::u64, {4, 5}}, {DType::u64, {5}}}, {}, -2, 2, 0, 1LL << 40},
      {{{DType::i32, {3, 0}}, {DType::i32, {0, 4}}}},
      {{{DType::f8e4m3, {5, 7}}, {DType::f8e4m3, {7, 3}}}, {{"out_dtype", "f32"}}},
      {{{DType::f8e4m3, {65, 144}}, {DType::f8e5m2, {144, 80}}}, {{"out_dtype", "bf16"}}},
      {{{DType::f8e5m2, {2, 1, 512}}, {DType::f8e4m3, {512, 64}}}, {{"out_dtype", "f16"}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_matmul
