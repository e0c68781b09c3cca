#include "ir/ops/_attributes.h"
#include "ir/ops/_contraction.h"
#include "ir/ops/_convolution.h"
#include "support/error.h"

namespace tcc::ir::ops::op_convolution {
namespace {

std::vector<Type> infer_convolution(const InferContext& context) {
  const Type& x = *context.inputs[0];
  const Type& weight = *context.inputs[1];
  const DType dtype = contracted_dtype(context);
  const ConvolutionGeometry geometry = convolution_geometry(context);
  Shape out = {x.shape[0], weight.shape[0]};
  for (size_t d = 0; d < geometry.windows.size(); ++d)
    out.push_back(geometry.windows[d].positions(geometry.spread(d, x.shape[d + 2])));
  return {{dtype, checked_shape(context, std::move(out))}};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "convolution";
  op.kind = OpKind::contraction;
  op.operands = {"x", "weight"};
  // `padding`: two entries per spatial dim, before and after it; negative ones crop.
  // `input_dilation` - 1 zeros lie between the elements of x.
  op.attrs = {{"stride", AttrType::ints, ints({1}), {}, true},
              {"padding", AttrType::ints, ints({0}), {}, true},
              {"dilation", AttrType::ints, ints({1}), {}, true},
              {"input_dilation", AttrType::ints, ints({1}), {}, true},
              {"groups", AttrType::integer, int64_t{1}},
              out_dtype_attr()};
  op.doc =
      "Cross-correlation of x [N, C, ...] with weight [O, C/groups, ...] in any number of dims: "
      "what conv and conv_transpose are made of; padding has an entry for all, or two for each "
      "dim, "
      "before and after it, and negative ones crop; torch.convolution";
  op.infer = infer_convolution;
  op.contraction = convolution_contraction;
  op.reference = convolution_reference;
  op.takes_f8 = true;
  op.samples = {
      {{{DType::f32, {2, 3, 7, 9}}, {DType::f32, {4, 3, 3, 3}}}},
      {{{DType::f32, {1, 4, 8, 8}}, {DType::f32, {6, 2, 3, 1}}},
       {{"stride", ints({2, 1})}, {"padding", ints({1, 0, 0, 2})}, {"groups", 2}}},
      {{{DType::f32, {2, 3, 11}}, {DType::f32, {5, 3, 3}}}, {{"dilation", 2}, {"padding", 2}}},
      {{{DType::f32, {1, 2, 5, 4}}, {DType::f32, {3, 2, 3, 3}}},
       {{"input_dilation", ints({2, 3})}, {"padding", ints({2, 1, -1, 0})}}},
      {{{DType::f32, {1, 8, 6, 6}}, {DType::f32, {8, 1, 3, 3}}}, {{"groups", 8}, {"padding", 1}}},
      {{{DType::f32, {1, 2, 4, 5, 6}}, {DType::f32, {3, 2, 2, 3, 1}}}},
      {{{DType::f32, {0, 2, 5}}, {DType::f32, {3, 2, 3}}}},
      {{{DType::f16, {1, 16, 10, 10}}, {DType::f16, {32, 16, 3, 3}}}, {{"padding", 1}}},
      {{{DType::bf16, {2, 8, 6, 6}}, {DType::bf16, {8, 8, 1, 1}}}},
      {{{DType::f64, {1, 2, 6, 6}}, {DType::f64, {2, 2, 3, 3}}}},
      {{{DType::i32, {1, 2, 6, 6}}, {DType::i32, {2, 2, 3, 3}}}, {}, -2, 2, -9, 9},
      {{{DType::u8, {2, 8, 9, 7}}, {DType::i8, {12, 4, 3, 3}}},
       {{"out_dtype", "i32"}, {"groups", 2}, {"padding", 1}},
       -2,
       2,
       -128,
       256},
      {{{DType::i8, {1, 16, 8, 8}}, {DType::i8, {16, 16, 1, 1}}},
       {{"out_dtype", "i32"}},
       -2,
       2,
       -128,
       128},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_convolution
