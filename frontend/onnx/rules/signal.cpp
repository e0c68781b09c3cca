// Fourier transforms, windows, determinants.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

// x [..., 1 or 2]: the last dim is real and imaginary part.
Results dft(OpNode& n) {
  Value* x = n.in(0);
  const int64_t length = n.has_input(1) ? n.int_of(1) : 0;
  int64_t axis = n.opset >= 20 ? -2 : 1;
  if (n.opset < 20)
    axis = n.integer("axis", 1);
  else if (n.has_input(2))
    axis = n.int_of(2);
  return {n.b.op("fft", {x},
                 {{"dim", n.axis(axis, x->rank())},
                  {"n", length},
                  {"inverse", n.flag("inverse", false)},
                  {"onesided", n.flag("onesided", false)}})};
}

// (signal, step, window, length) -> [batch, frames, bins, 2]
Results stft(OpNode& n) {
  Value *x = n.in(0), *window = n.maybe(2);
  const int64_t step = n.int_of(1);
  n.require(!window || (window->rank() == 1 && window->shape()[0].is_const()),
            "the window must be a vector of a length that is known");
  const int64_t length = n.has_input(3) ? n.int_of(3) : window ? window->shape()[0].value() : 0;
  n.require(length > 0, "needs a frame length or a window");
  n.require(!window || window->shape()[0].is(length), "the window's length is not the frame's");
  Value* spectra = n.b.op("stft", {x, window},
                          {{"n_fft", length},
                           {"hop_length", step},
                           {"center", false},
                           {"onesided", n.flag("onesided", true)}});
  return {n.b.transpose(spectra, 1, 2)};
}

ir::Attrs window_attrs(OpNode& n) {
  return {{"window_length", n.int_of(0)},
          {"periodic", n.flag("periodic", true)},
          {"dtype", n.dtype_attr("output_datatype").value_or(DType::f32)}};
}

template <const char* op>
Results window(OpNode& n) {
  return {n.b.op(op, {}, window_attrs(n))};
}

// ONNX has the exact coefficients; PyTorch's are 0.54 and 0.46.
Results hamming(OpNode& n) {
  ir::Attrs attrs = window_attrs(n);
  attrs["alpha"] = 25.0 / 46;
  attrs["beta"] = 21.0 / 46;
  return {n.b.op("hamming_window", {}, attrs)};
}

Results mel_weight_matrix(OpNode& n) {
  return {n.b.op("mel_weight_matrix", {},
                 {{"num_mel_bins", n.int_of(0)},
                  {"dft_length", n.int_of(1)},
                  {"sample_rate", n.int_of(2)},
                  {"lower_edge_hertz", n.number_of(3)},
                  {"upper_edge_hertz", n.number_of(4)},
                  {"dtype", n.dtype_attr("output_datatype").value_or(DType::f32)}})};
}

constexpr char kBlackman[] = "blackman_window", kHann[] = "hann_window";

constexpr Rule kSignalRules[] = {
    {"BlackmanWindow", window<kBlackman>},
    {"DFT", dft},
    {"HammingWindow", hamming},
    {"HannWindow", window<kHann>},
    {"MelWeightMatrix", mel_weight_matrix},
    {"STFT", stft},
};

}  // namespace

std::span<const Rule> signal_rules() { return kSignalRules; }

}  // namespace tcc::onnx
