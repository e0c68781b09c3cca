#include <cmath>
#include <optional>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_stft {
namespace {

struct Frames {
  int64_t n_fft, hop, bins, padding;
};

Frames frames_of(const Node& node) {
  Frames f{};
  f.n_fft = node.attr<int64_t>("n_fft");
  const int64_t hop = node.attr<int64_t>("hop_length");
  f.hop = hop > 0 ? hop : f.n_fft / 4;
  f.bins = node.attr<bool>("onesided") ? f.n_fft / 2 + 1 : f.n_fft;
  f.padding = node.attr<bool>("center") ? f.n_fft / 2 : 0;
  return f;
}

bool is_complex(const Shape& x) { return x.size() == 3 && x.back().is(2); }

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  require_float(context);
  require_float(context, 1);
  const size_t rank = x.shape.size();
  context.require(rank >= 1 && rank <= 3 && (rank < 3 || x.shape[2].is(1) || x.shape[2].is(2)),
                  str("x must be [L], [B, L], [B, L, 1] or [B, L, 2], not ", shape_text(x.shape)));
  const Frames f = frames_of(context.node);
  context.require(f.n_fft >= 1 && f.n_fft < (int64_t{1} << 24),
                  str("n_fft must lie between 1 and 2^24, not ", f.n_fft));
  context.require(f.hop >= 1, "hop_length must be positive");
  context.require(!context.node.attr<bool>("onesided") || !is_complex(x.shape),
                  "a complex x has no onesided spectrum");
  if (const Type* window = context.inputs[1])
    context.require(window->shape.size() == 1 && window->shape[0].is_const() &&
                        window->shape[0].value() <= f.n_fft,
                    str("window must have one dim of at most n_fft elements, not the shape ",
                        shape_text(window->shape)));
  const SymInt length = x.shape[rank == 1 ? 0 : 1] + 2 * f.padding;
  context.require(!length.is_const() || length.value() >= f.n_fft,
                  str("x is shorter than a frame of ", f.n_fft));
  Shape out = {f.bins, floordiv(length - f.n_fft, f.hop) + 1, 2};
  if (rank > 1) out.insert(out.begin(), x.shape[0]);
  return {{x.dtype, checked_shape(context, out)}};
}

// A convolution: its weight is the matrix of the transform, each frame's window in it.
std::vector<Value*> compose(Builder& b, const Node& node) {
  Value* x = b.compute(node.inputs[0]);
  const Frames f = frames_of(node);
  if (x->rank() == 1) x = b.unsqueeze(x, 0);
  if (f.padding > 0) {
    std::vector<int64_t> pad = {f.padding, f.padding};
    if (x->rank() == 3) pad.insert(pad.begin(), {0, 0});
    x = b.op("pad", {x}, {{"pad", ints(pad)}, {"mode", node.attr<std::string>("pad_mode")}});
  }
  x = x->rank() == 3 ? b.transpose(x, 1, 2) : b.unsqueeze(x, 1);  // [B, parts, L]
  const int64_t parts = x->shape()[1].value();
  const double scale =
      node.attr<bool>("normalized") ? 1 / std::sqrt(static_cast<double>(f.n_fft)) : 1;
  Value* matrix = b.op("dft_matrix", {},
                       {{"inputs", f.n_fft},
                        {"outputs", f.bins},
                        {"length", f.n_fft},
                        {"is_complex", parts == 2},
                        {"scale", scale},
                        {"dtype", x->dtype()}});
  Value* weight = b.permute(matrix, {2, 3, 1, 0});  // [bins, 2, parts, n_fft]
  if (Value* window = node.inputs[1]) {
    const int64_t missing = f.n_fft - window->shape()[0].value();
    if (missing > 0)  // the window stands in the middle of the frame
      window = b.op("pad", {window}, {{"pad", ints({missing / 2, missing - missing / 2})}});
    weight = b.mul(weight, b.cast(window, x->dtype()));
  }
  weight = b.reshape(weight, {f.bins * 2, parts, f.n_fft});
  Value* y = b.op("convolution", {x, weight}, {{"stride", f.hop}});  // [B, bins * 2, frames]
  const SymInt batch = y->shape()[0], count = y->shape()[2];
  y = b.permute(b.reshape(y, {batch, f.bins, 2, count}), {0, 1, 3, 2});
  return {b.cast(b.reshape(y, node.outputs[0]->shape()), node.inputs[0]->dtype())};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "stft";
  op.kind = OpKind::composite;
  op.operands = {"x", "window?"};
  op.attrs = {{"n_fft", AttrType::integer, std::nullopt},
              {"hop_length", AttrType::integer, int64_t{0}},
              {"center", AttrType::boolean, true},
              {"pad_mode", AttrType::text, "reflect", {"constant", "reflect", "replicate"}},
              {"normalized", AttrType::boolean, false},
              {"onesided", AttrType::boolean, true}};
  op.doc =
      "Spectra [B, bins, frames, 2] of frames of n_fft elements, hop_length apart (0: n_fft / 4), "
      "of x [L], [B, L] or [B, L, 1 or 2 (complex)], each times window; a product with the "
      "transform's matrix, so that a frame costs n_fft * bins; torch.stft";
  op.infer = infer;
  op.compose = compose;
  op.samples = {
      {{{DType::f32, {2, 50}}, {DType::f32, {16}}}, {{"n_fft", 16}}},
      {{{DType::f32, {40}}}, {{"n_fft", 8}, {"hop_length", 3}, {"center", false}}},
      {{{DType::f32, {1, 60, 1}}, {DType::f32, {10}}},
       {{"n_fft", 12}, {"normalized", true}, {"pad_mode", "constant"}}},
      {{{DType::f32, {2, 33, 2}}, {DType::f32, {9}}},
       {{"n_fft", 9}, {"hop_length", 5}, {"center", false}, {"onesided", false}}},
      {{{DType::f16, {2, 50}}, {DType::f16, {16}}}, {{"n_fft", 16}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_stft
