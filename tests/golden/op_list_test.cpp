// The list of ops in docs/yaml-format.md is made from the op table: TCC_UPDATE_GOLDENS=1 rewrites
// it.
#include <algorithm>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "ir/op.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/source_dir.h"

namespace tcc::ir {
namespace {

struct Family {
  std::string_view title;
  std::string_view ops;  // by name, separated by spaces
};

// For the reader alone. An op that is in no family is listed at the end.
constexpr Family kFamilies[] = {
    {"Arithmetic",
     " abs add addcdiv addcmul div exp exp2 expm1 floor_divide fmod frac hypot lerp log log10 "
     "log1p "
     "log2 maximum minimum mul neg pow reciprocal remainder rsqrt sign sqrt square sub "},
    {"Trigonometry and special functions",
     " acos acosh asin asinh atan atan2 atanh cos cosh erf erfc logit sin sinh tan "},
    {"Rounding, comparison, logic, bits",
     " bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil "
     "clamp copysign eq floor ge gt isfinite isinf isnan isneginf isposinf le logical_and "
     "logical_not logical_or "
     "logical_xor lt masked_fill nan_to_num ne round trunc where "},
    {"Activations",
     " celu dropout elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid "
     "mish prelu relu relu6 selu shrink sigmoid silu softplus softshrink softsign tanh tanhshrink "
     "threshold "},
    {"Reductions and scans",
     " all amax amin any argmax argmin cumprod cumsum logsumexp max mean min norm prod std sum "
     "var "},
    {"Normalisation, softmax, losses",
     " batch_norm cosine_similarity cross_entropy group_norm instance_norm l1_loss layer_norm "
     "local_response_norm log_softmax mean_variance_norm mse_loss nll_loss normalize rms_norm "
     "softmax softmin "},
    {"Products, convolution, attention",
     " addmm bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
     "convolution deform_conv2d deform_unfold einsum linear "
     "matmul packed_attention paged_attention scaled_dot_product_attention vecdot "},
    {"Quantization", " dequantize dynamic_quantize quantize "},
    {"Signals, linear algebra",
     " blackman_window det dft_matrix fft hamming_window hann_window mel_weight_matrix stft "},
    {"Recurrent layers",
     " dynamic_quantized_lstm dynamic_quantized_lstm_steps gru gru_steps lstm lstm_steps rnn "
     "rnn_steps "},
    {"Pooling and resampling",
     " affine_grid depth_to_space filter_resample fold grid_sample lp_pool1d lp_pool2d lp_pool3d "
     "max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices max_pool_indices "
     "max_unpool1d max_unpool2d max_unpool3d pixel_unshuffle resample resize roi_align "
     "roi_pool "
     "space_to_depth unfold windows "
     "adaptive_avg_pool adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool "
     "adaptive_max_pool1d adaptive_max_pool2d avg_pool1d avg_pool2d avg_pool3d interpolate "
     "max_pool1d max_pool2d max_pool3d pixel_shuffle "},
    {"Movement",
     " broadcast_to cat chunk concat diagonal expand flatten flip identity movedim narrow pad "
     "permute repeat repeat_interleave reshape roll select slice split squeeze stack tile "
     "transpose tril triu unflatten unsqueeze "},
    {"Sorting", " argsort searchsorted sort sort_runs suppress topk "},
    {"Counted results", " compress non_max_suppression nonzero read_size topk_counted unique "},
    {"Indexing",
     " embedding gather gather_nd hardmax index_select one_hot reverse_sequence scatter "
     "scatter_add "
     "scatter_nd scatter_reduce take_along_dim "},
    {"Creation, random numbers, types",
     " arange bernoulli bit_cast cast causal_mask eye full full_like iota multinomial ones "
     "ones_like rand "
     "randint randn "
     "size_value "
     "to zeros zeros_like "},
    {"Functions of the program", " external "},
    {"States", " append assign "},
};

std::string attribute_text(const AttrDef& attr) {
  if (!attr.default_value) return attr.name;
  return attr.name + " = " + to_string(*attr.default_value);
}

std::string entry(const OpDef& op) {
  std::string operands, attrs, doc = op.doc;
  for (const std::string& operand : op.operands)
    operands += (operands.empty() ? "" : ", ") + operand;
  for (const AttrDef& attr : op.attrs) attrs += (attrs.empty() ? "" : ", ") + attribute_text(attr);
  std::string results;
  for (const std::string& result : op.results) results += (results.empty() ? "" : ", ") + result;
  std::string text = "- `" + op.name + "(" + operands + ")";
  if (op.results.size() > 1 || op.num_results)
    text += " -> " + results + (op.num_results ? "..." : "");
  text += "`";
  if (!attrs.empty()) text += " `{" + attrs + "}`";
  return text + ": " + doc + "\n";
}

std::string op_list() {
  std::string text;
  std::set<std::string_view> listed;
  auto add_family = [&](std::string_view title, auto&& belongs) {
    std::string entries;
    for (const OpDef& op : all_ops()) {
      if (listed.contains(op.name) || !belongs(op)) continue;
      listed.insert(op.name);
      entries += entry(op);
    }
    if (!entries.empty()) text += str("\n### ", title, "\n\n", entries);
  };
  for (const Family& family : kFamilies)
    add_family(family.title, [&](const OpDef& op) {
      return family.ops.find(" " + op.name + " ") != std::string_view::npos;
    });
  add_family("Others", [](const OpDef&) { return true; });
  return text;
}

TEST(OpList, InTheDocsIsTheTable) {
  const auto path = testing::source_dir() / "docs/yaml-format.md";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no docs beside this program";
  const std::string docs = read_file(path), title = "\n## Ops\n", end = "\n## ";
  const size_t intro = docs.find(title);
  ASSERT_NE(intro, std::string::npos);
  const size_t first = docs.find("\n### ", intro);
  ASSERT_NE(first, std::string::npos);
  const size_t last = std::min(docs.find(end, intro + 1), docs.size());
  const std::string wanted = op_list();
  if (docs.substr(first, last - first) == wanted) return;
  if (std::getenv("TCC_UPDATE_GOLDENS"))
    return write_file_atomic(path, docs.substr(0, first) + wanted + docs.substr(last));
  ADD_FAILURE() << "the ops in docs/yaml-format.md are not the op table's; run ./dev goldens";
}

}  // namespace
}  // namespace tcc::ir
