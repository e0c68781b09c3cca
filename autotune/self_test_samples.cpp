// The samples of the self-test.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>

#include "autotune/random_words.h"
#include "autotune/self_test.h"
#include "frontend/random_init.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

using Samples = std::vector<SelfTestSample>;

std::string graph_text(const std::string& inputs, const std::string& nodes,
                       const std::string& outputs) {
  return "tcc: 1\nname: self_test\ninputs:\n" + inputs + "nodes:\n" + nodes + "outputs: [" +
         outputs + "]\n";
}

std::string input_text(const std::string& name, const std::string& dtype, const std::string& shape,
                       const std::string& range = "") {
  return str("  ", name, ": {dtype: ", dtype, ", shape: [", shape, "]",
             range.empty() ? "" : ", range: [" + range + "]", "}\n");
}

std::string node_text(const std::string& out, const std::string& op, const std::string& in,
                      const std::string& attributes = "") {
  return str("  - {out: ", out, ", op: ", op, ", in: [", in, "]",
             attributes.empty() ? "" : ", " + attributes, "}\n");
}

// The feature that elements of the type need.
std::string feature_of(const std::string& dtype) {
  if (dtype == "f16" || dtype == "bf16") return "storage16";
  if (dtype == "i8" || dtype == "u8") return "storage8";
  if (dtype == "i64") return "int64";
  if (dtype == "f64") return "float64";
  return "";
}

bool has_type(const exec::Target& target, const std::string& dtype) {
  const std::string feature = feature_of(dtype);
  return feature.empty() || exec::has_feature(target, feature);
}

void add_arithmetic(Samples& samples, const exec::Target& target) {
  for (const std::string dtype : {"f32", "f16", "bf16", "f64"}) {
    if (!has_type(target, dtype)) continue;
    const std::string inputs = input_text("x", dtype, "7, 129") + input_text("y", dtype, "7, 129") +
                               input_text("z", dtype, "129");
    const std::string sums = node_text("a", "mul", "x, y") + node_text("b", "add", "a, z") +
                             node_text("c", "sub", "b, x") + node_text("d", "maximum", "c, y") +
                             node_text("e", "mul", "x, 0.5") + node_text("f", "abs", "e");
    const std::string functions = node_text("a", "div", "x, y") + node_text("b", "sqrt", "x") +
                                  node_text("c", "exp", "x") + node_text("d", "log", "y") +
                                  node_text("e", "tanh", "x") + node_text("f", "rsqrt", "y");
    const std::string feature = feature_of(dtype);
    for (const auto& [values, what] : {std::pair(SampleValues::usual, "sums"),
                                       std::pair(SampleValues::special, "NaN and infinities"),
                                       std::pair(SampleValues::tiny, "subnormals")})
      samples.push_back({.name = str(dtype, " arithmetic: ", what),
                         .text = graph_text(inputs, sums, "d, f"),
                         .values = values,
                         .feature = feature});
    samples.push_back({.name = str(dtype, " arithmetic: functions"),
                       .text = graph_text(inputs, functions, "a, b, c, d, e, f"),
                       .values = SampleValues::positive,
                       .feature = feature});
    samples.push_back({.name = str(dtype, " arithmetic: unaligned"),
                       .text = graph_text(inputs, sums, "d, f"),
                       .elements_off = 1,
                       .feature = feature});
  }
  for (const std::string dtype : {"i32", "i64", "u8", "i8"}) {
    if (!has_type(target, dtype)) continue;
    const std::string inputs = input_text("x", dtype, "5, 67") + input_text("y", dtype, "5, 67");
    const std::string nodes =
        node_text("a", "add", "x, y") + node_text("b", "mul", "a, x") +
        node_text("c", "floor_divide", "x, y") + node_text("d", "remainder", "x, y") +
        node_text("e", "minimum", "b, y") + node_text("f", "bitwise_and", "x, y");
    for (const SampleValues values : {SampleValues::usual, SampleValues::extreme})
      samples.push_back(
          {.name = str(dtype, " arithmetic", values == SampleValues::extreme ? ": extremes" : ""),
           .text = graph_text(inputs, nodes, "c, d, e, f"),
           .values = values,
           .feature = feature_of(dtype)});
  }
  for (const std::string dtype : {"f16", "bf16", "i8", "i64", "f64"})
    if (has_type(target, dtype))
      samples.push_back({.name = str("conversion of f32 to ", dtype, " and back"),
                         .text = graph_text(input_text("x", "f32", "3, 131"),
                                            node_text("a", "cast", "x", "dtype: " + dtype) +
                                                node_text("b", "cast", "a", "dtype: f32"),
                                            "a, b"),
                         .values = SampleValues::special,
                         .feature = feature_of(dtype)});
}

void add_rows(Samples& samples, const exec::Target& target) {
  for (const std::string shape : {"5, 1", "3, 31", "7, 257", "2, 4099"})
    samples.push_back({.name = str("subgroup sums of f32 rows [", shape, "]"),
                       .text = graph_text(input_text("x", "f32", shape),
                                          node_text("a", "sum", "x", "dim: -1") +
                                              node_text("b", "amax", "x", "dim: -1"),
                                          "a, b")});
  samples.push_back({.name = "subgroup maxima with NaN and infinities",
                     .text = graph_text(input_text("x", "f32", "9, 300"),
                                        node_text("a", "amax", "x", "dim: -1"), "a"),
                     .values = SampleValues::special});
  samples.push_back({.name = "sums of columns",
                     .text = graph_text(input_text("x", "f32", "131, 67"),
                                        node_text("a", "sum", "x", "dim: 0"), "a")});
  samples.push_back(
      {.name = "sums of i32 rows",
       .text = graph_text(
           input_text("x", "i32", "5, 333"),
           node_text("a", "amax", "x", "dim: -1") + node_text("b", "amin", "x", "dim: -1"), "a, b"),
       .values = SampleValues::extreme});
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    if (!has_type(target, dtype)) continue;
    const std::string inputs = input_text("x", dtype, "6, 1021");
    samples.push_back({.name = str("softmax of ", dtype, " rows"),
                       .text = graph_text(inputs, node_text("a", "softmax", "x", "dim: -1"), "a"),
                       .feature = feature_of(dtype)});
    samples.push_back({.name = str("softmax of ", dtype, " rows, unaligned"),
                       .text = graph_text(inputs, node_text("a", "softmax", "x", "dim: -1"), "a"),
                       .elements_off = 1,
                       .feature = feature_of(dtype)});
  }
  samples.push_back({.name = "running sums",
                     .text = graph_text(input_text("x", "f32", "3, 1500"),
                                        node_text("a", "cumsum", "x", "dim: 1"), "a")});
  samples.push_back({.name = "sorted rows",
                     .text = graph_text(input_text("x", "f32", "5, 333"),
                                        "  - {out: [a, b], op: sort, in: [x], dim: -1}\n", "a, b"),
                     .values = SampleValues::special});
  samples.push_back(
      {.name = "boxes that overlap",
       .text = graph_text(input_text("x", "f32", "3, 700, 4") + input_text("v", "f32", "3, 700"),
                          node_text("b", "gt", "v, -0.5") + node_text("a", "suppress", "x, b, 0.3"),
                          "a"),
       .values = SampleValues::special});
  samples.push_back({.name = "transposition",
                     .text = graph_text(input_text("x", "f32", "3, 65, 131"),
                                        node_text("t", "transpose", "x", "dim0: 1, dim1: 2") +
                                            node_text("a", "mul", "t, 2"),
                                        "a")});
  samples.push_back(
      {.name = "gathered rows",
       .text = graph_text(input_text("i", "i32", "37", "0, 50") + input_text("w", "f32", "50, 19"),
                          node_text("a", "embedding", "i, w"), "a")});
  samples.push_back(
      {.name = "windows of an image",
       .text = graph_text(input_text("x", "f32", "2, 3, 17, 19"),
                          node_text("a", "max_pool2d", "x", "kernel_size: 3, stride: 2"), "a")});
}

std::string product_text(const std::string& a, const std::string& b, int64_t m, int64_t n,
                         int64_t k, const std::string& attributes, bool b_turned,
                         const std::string& bias) {
  const auto dims = [](int64_t rows, int64_t columns) { return str(rows, ", ", columns); };
  return graph_text(input_text("a", a, dims(m, k)) +
                        input_text("b", b, b_turned ? dims(n, k) : dims(k, n)) +
                        (bias.empty() ? "" : input_text("c", bias, str(n))),
                    (b_turned ? node_text("t", "transpose", "b", "dim0: 0, dim1: 1") : "") +
                        node_text("p", "matmul", b_turned ? "a, t" : "a, b", attributes) +
                        (bias.empty() ? "" : node_text("y", "add", "p, c")),
                    bias.empty() ? "p" : "y");
}

// Products that the unit alone computes: odd shapes, both orders of B, and values of all kinds.
void add_unit(Samples& samples, const exec::MatrixUnit& unit) {
  const std::string text = exec::to_string(unit);
  const std::string a(name(unit.a)), b(name(unit.b));
  const bool is_f8_unit = is_f8(unit.a) || is_f8(unit.b), is_bytes = is_integer(unit.a);
  const std::string attributes = is_bytes     ? str("out_dtype: ", name(unit.d))
                                 : is_f8_unit ? "out_dtype: f32"
                                              : "";
  if (!is_f8_unit && !is_bytes && unit.a != unit.b) return;  // no op multiplies them
  if (unit.kind ==
      exec::kFragmentUnit) {  // another unit multiplies: this one says where elements are
    for (const auto& [m, n, k] : {std::tuple{75, 256, 1024}, {197, 768, 768}, {515, 3072, 768}})
      samples.push_back({.name = str(text, ": direct operands, ", m, " x ", n, " x ", k),
                         .text = product_text(a, b, m, n, k, "", true, a),
                         .feature = feature_of(a)});
    return;
  }
  const bool tf32 = unit.a == DType::f32;
  struct Shape {
    int64_t m, n, k;
    bool b_turned;
    SampleValues values;
    const char* what;
  };
  const Shape shapes[] = {
      {129, 72, 257, false, is_bytes ? SampleValues::extreme : SampleValues::special,
       is_bytes ? "odd sizes, extremes" : "odd sizes, NaN and infinities"},
      {64, 136, 320, true, SampleValues::usual, "B by columns"},
  };
  for (const Shape& s : shapes) {
    samples.push_back({.name = str(text, ": ", s.what),
                       .text = product_text(a, b, s.m, s.n, s.k, attributes, s.b_turned,
                                            is_bytes || is_f8_unit ? "" : a),
                       // f8e4m3 has no infinities.
                       .values = is_f8_unit ? SampleValues::usual : s.values,
                       .tf32 = tf32,
                       .unit = text});
  }
}

void add_products(Samples& samples, const exec::Target& target) {
  for (const std::string dtype : {"f32", "f16", "bf16", "f64"}) {
    if (!has_type(target, dtype)) continue;
    const std::string feature = feature_of(dtype);
    for (const bool special : {false, true})
      samples.push_back(
          {.name = str("matmul of ", dtype, special ? ": NaN and infinities" : ": odd sizes"),
           .text = product_text(dtype, dtype, 65, 67, 133, "", false, dtype),
           .values = special ? SampleValues::special : SampleValues::usual,
           .feature = feature});
    samples.push_back({.name = str("matmul of ", dtype, ": unaligned"),
                       .text = product_text(dtype, dtype, 64, 96, 160, "", true, dtype),
                       .elements_off = 1,
                       .feature = feature});
    samples.push_back({.name = str("matmul of one row of ", dtype),
                       .text = product_text(dtype, dtype, 1, 131, 515, "", true, ""),
                       .feature = feature});
  }
  if (target.storage8)
    samples.push_back({.name = "matmul of i8: extremes",
                       .text = product_text("i8", "i8", 67, 65, 260, "out_dtype: i32", true, ""),
                       .values = SampleValues::extreme,
                       .feature = "storage8"});
  for (const std::string dtype : {"f32", "f16"}) {
    if (!has_type(target, dtype)) continue;
    samples.push_back({.name = str("convolution of ", dtype),
                       .text = graph_text(input_text("x", dtype, "2, 19, 13, 11") +
                                              input_text("w", dtype, "21, 19, 3, 3"),
                                          node_text("a", "conv2d", "x, w", "padding: 1"), "a"),
                       .feature = feature_of(dtype)});
    samples.push_back(
        {.name = str("depthwise convolution of ", dtype),
         .text = graph_text(
             input_text("x", dtype, "2, 32, 15, 17") + input_text("w", dtype, "32, 1, 3, 3"),
             node_text("a", "conv2d", "x, w", "padding: 1, groups: 32"), "a"),
         .feature = feature_of(dtype)});
    const std::string inputs = input_text("q", dtype, "1, 2, 37, 64") +
                               input_text("k", dtype, "1, 2, 75, 64") +
                               input_text("v", dtype, "1, 2, 75, 64");
    const std::string attention = node_text("a", "scaled_dot_product_attention", "q, k, v");
    samples.push_back({.name = str("attention of ", dtype, ": odd sizes"),
                       .text = graph_text(inputs, attention, "a"),
                       .feature = feature_of(dtype)});
    samples.push_back({.name = str("attention of ", dtype, ": unaligned"),
                       .text = graph_text(inputs, attention, "a"),
                       .elements_off = 1,
                       .feature = feature_of(dtype)});
  }
  samples.push_back(
      {.name = "recurrent layer",
       .text = graph_text(input_text("x", "f32", "5, 3, 17") + input_text("w", "f32", "1, 44, 17") +
                              input_text("r", "f32", "1, 44, 11"),
                          "  - {out: [a, h, c], op: lstm, in: [x, w, r]}\n", "a, h, c")});
}

// Special values stand at every fifth element or so, never at a whole row.
void sprinkle(Tensor& tensor, SampleValues values, RandomWords& random) {
  const DType dtype = tensor.dtype();
  const DTypeInfo& of = info(dtype);
  const double inf = std::numeric_limits<double>::infinity();
  const double least = dtype == DType::f64    ? std::numeric_limits<double>::denorm_min()
                       : dtype == DType::f16  ? 0x1p-24
                       : dtype == DType::bf16 ? 0x1p-133
                                              : 0x1p-149;
  const double special[] = {std::nan(""), inf, -inf, 0.0, -0.0};
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (is_float(dtype) && values == SampleValues::tiny) {
      if (random.below(3) == 0)
        tensor.set(i, (random.below(2) ? 1 : -1) * least * static_cast<double>(random.below(9)));
    } else if (is_float(dtype) && values == SampleValues::special) {
      // Few enough that rows of products stay without any.
      if (random.below(static_cast<uint64_t>(std::max<int64_t>(7, tensor.numel() / 12))) == 0)
        tensor.set(i, special[random.below(std::size(special))]);
    } else if (is_integer(dtype) && values == SampleValues::extreme && random.below(2) == 0) {
      const int bits = 8 * size_bytes(dtype);
      const int64_t top = of.is_signed ? (int64_t{1} << (bits - 2)) - 1 + (int64_t{1} << (bits - 2))
                          : bits == 64 ? -1
                                       : (int64_t{1} << bits) - 1;
      tensor.set_int(i, random.below(2) ? top : of.is_signed ? -top - 1 : 0);
    }
  }
}

}  // namespace

Samples self_test_samples(const exec::Target& target) {
  Samples samples;
  for (const exec::MatrixUnit& unit : target.matrix_units) add_unit(samples, unit);
  add_products(samples, target);
  add_rows(samples, target);
  add_arithmetic(samples, target);
  return samples;
}

Samples self_test_timed_samples(const exec::Target& target) {
  Samples samples;
  const int64_t side = target.is_cpu ? 192 : 2048, rows = target.is_cpu ? 64 : 4096;
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    if (!has_type(target, dtype)) continue;
    samples.push_back({.name = str("rate of matmul of ", dtype),
                       .text = product_text(dtype, dtype, side, side, side, "", true, "")});
    samples.push_back({.name = str("rate of softmax of ", dtype),
                       .text = graph_text(input_text("x", dtype, str(rows, ", 1024")),
                                          node_text("a", "softmax", "x", "dim: -1"), "a")});
    samples.push_back({.name = str("rate of sums of ", dtype),
                       .text = graph_text(input_text("x", dtype, str(rows, ", 1024")) +
                                              input_text("y", dtype, str(rows, ", 1024")),
                                          node_text("a", "add", "x, y"), "a")});
  }
  samples.push_back({.name = "rate of transposition",
                     .text = graph_text(input_text("x", "f32", str(rows, ", 1024")),
                                        node_text("t", "transpose", "x", "dim0: 0, dim1: 1") +
                                            node_text("a", "mul", "t, 2"),
                                        "a")});
  return samples;
}

std::vector<Tensor> draw_inputs(const ir::Graph& graph, const SelfTestSample& sample,
                                uint64_t seed) {
  std::vector<Tensor> tensors;
  const bool positive = sample.values == SampleValues::positive;
  for (const ir::Value* value : graph.inputs) {
    Init init = Init::uniform(positive ? 0.1 : -1, positive ? 4 : 1);
    const bool is_index = value->random_range.has_value();
    if (is_integer(value->dtype())) {
      const bool is_signed = info(value->dtype()).is_signed;
      const auto [low, high] =
          value->random_range.value_or(std::pair<int64_t, int64_t>(is_signed ? -100 : 0, 100));
      init = Init::integers(low, high);
    }
    const uint64_t own = stream_seed(seed, sample.name + value->name);
    tensors.push_back(random_tensor(value->dtype(), ir::const_shape(*value), init, own));
    RandomWords random(own);
    if (!is_index) sprinkle(tensors.back(), sample.values, random);
  }
  return tensors;
}

}  // namespace tcc::autotune
