#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/tensor.h"
#include "support/error.h"

namespace tcc::ir::ops::op_mel_weight_matrix {
namespace {

constexpr double kOctave = 2595, kBreak = 700;  // mel(f) = 2595 log10(1 + f / 700)

double to_mel(double hertz) { return kOctave * std::log10(1 + hertz / kBreak); }
double to_hertz(double mel) { return kBreak * (std::pow(10, mel / kOctave) - 1); }

// The spectrum's bins where the triangles begin, peak and end: three neighbours for each of them.
std::vector<int64_t> corners(const Node& node) {
  const auto bands = node.attr<int64_t>("num_mel_bins"), length = node.attr<int64_t>("dft_length"),
             rate = node.attr<int64_t>("sample_rate");
  const double low = to_mel(number_attr(node, "lower_edge_hertz"));
  const double high = to_mel(number_attr(node, "upper_edge_hertz"));
  const double step = (high - low) / static_cast<double>(bands + 2);
  std::vector<int64_t> bins;
  for (int64_t k = 0; k < bands + 2; ++k) {
    const double hertz = to_hertz(low + static_cast<double>(k) * step);
    bins.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  return bins;
}

std::vector<Type> infer(const InferContext& context) {
  const Node& node = context.node;
  const auto dtype = node.attr<DType>("dtype");
  const auto bands = node.attr<int64_t>("num_mel_bins"), length = node.attr<int64_t>("dft_length");
  const double low = number_attr(node, "lower_edge_hertz"),
               high = number_attr(node, "upper_edge_hertz");
  context.require(is_float(dtype), str("dtype must be a float type, not ", name(dtype)));
  constexpr int64_t limit = int64_t{1} << 24;
  context.require(bands >= 0 && bands < limit && length >= 0 && length < limit,
                  "num_mel_bins and dft_length must lie between 0 and 2^24");
  context.require(node.attr<int64_t>("sample_rate") > 0, "sample_rate must be positive");
  context.require(low >= 0 && low <= high && std::isfinite(high),
                  "lower_edge_hertz must lie between 0 and upper_edge_hertz");
  const std::vector<int64_t> bins = corners(node);
  context.require(bins.back() <= length / 2 + 1, "upper_edge_hertz is beyond the spectrum");
  return {{dtype, checked_shape(context, {length / 2 + 1, bands})}};
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  const std::vector<int64_t> bins = corners(node);
  const Type& type = node.outputs[0]->type;
  const int64_t rows = type.shape[0].value(), bands = type.shape[1].value();
  auto tensor = std::make_shared<Tensor>(type.dtype, std::vector<int64_t>{rows, bands});
  for (int64_t band = 0; band < bands; ++band) {
    const auto at = bins.begin() + band;
    const int64_t low = at[0], peak = at[1], high = at[2];
    for (int64_t bin = low; bin <= std::min(high, rows - 1); ++bin) {
      const int64_t width = bin < peak ? peak - low : high - peak;
      const int64_t distance = bin < peak ? bin - low : high - bin;
      // A triangle without a falling side still has its peak.
      const double weight = bin == peak ? 1
                            : width > 0 ? static_cast<double>(distance) / static_cast<double>(width)
                                        : 0;
      tensor->set(bin * bands + band, weight);
    }
  }
  Value* constant = b.graph().add_constant("", type, make_constant(std::move(tensor)));
  return {b.unary("identity", constant)};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "mel_weight_matrix";
  op.kind = OpKind::composite;
  op.attrs = {{"num_mel_bins", AttrType::integer, std::nullopt},
              {"dft_length", AttrType::integer, std::nullopt},
              {"sample_rate", AttrType::integer, std::nullopt},
              {"lower_edge_hertz", AttrType::number, std::nullopt},
              {"upper_edge_hertz", AttrType::number, std::nullopt},
              {"dtype", AttrType::dtype, DType::f32}};
  op.doc =
      "The matrix [dft_length / 2 + 1, num_mel_bins] that takes spectra to the mel scale: "
      "triangles with a peak of 1; ONNX's MelWeightMatrix";
  op.infer = infer;
  op.compose = compose;
  op.samples = {{.inputs = {},
                 .attrs = {{"num_mel_bins", 8},
                           {"dft_length", 16},
                           {"sample_rate", 8192},
                           {"lower_edge_hertz", 0.0},
                           {"upper_edge_hertz", 4096.0}}},
                {.inputs = {},
                 .attrs = {{"num_mel_bins", 5},
                           {"dft_length", 512},
                           {"sample_rate", 16000},
                           {"lower_edge_hertz", 20.0},
                           {"upper_edge_hertz", 7600.0},
                           {"dtype", DType::f16}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_mel_weight_matrix
