// Random convolutions of images whose channels are their innermost dim in memory: odd sizes,
// ragged channels, strides, dilation, uneven padding, groups, one to three dims, every type that
// matrix units multiply.
#pragma once

#include <vector>

#include "tests/random_products.h"

namespace tcc::test {

enum class ConvolutionKind { floats, bytes, f8 };

namespace detail {

inline std::string list(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

inline std::string draw_type(std::mt19937_64& random, ConvolutionKind kind) {
  switch (kind) {
    case ConvolutionKind::floats: return "f32";
    case ConvolutionKind::bytes: return random() % 2 ? "i8" : "u8";
    case ConvolutionKind::f8: return random() % 2 ? "f8e4m3" : "f8e5m2";
  }
  return "";
}

inline std::string range_of(const std::string& type) {
  return type == "i8" ? ", range: [-128, 128]" : type == "u8" ? ", range: [0, 256]" : "";
}

struct Windows {
  std::vector<int64_t> image, kernel, stride, padding, dilation, out;
};

// Windows that fit into the image.
inline Windows draw_windows(std::mt19937_64& random) {
  Windows w;
  const int64_t spatial = pick(random, {1, 2, 2, 2, 2, 3});
  for (int64_t d = 0; d < spatial; ++d) {
    const int64_t extent = spatial == 1   ? pick(random, {37, 200, 515})
                           : spatial == 2 ? pick(random, {5, 7, 14, 17, 28})
                                          : pick(random, {4, 5, 9});
    w.kernel.push_back(pick(random, {1, 2, 3, 3, 3, 4}));
    w.dilation.push_back(pick(random, {1, 1, 1, 2}));
    w.stride.push_back(pick(random, {1, 1, 1, 2, 3}));
    const int64_t before = pick(random, {0, 1, 1, 2}), after = pick(random, {0, 1, 1, 2});
    const int64_t reach = (w.kernel.back() - 1) * w.dilation.back() + 1;
    w.image.push_back(std::max(extent, reach));
    w.padding.push_back(before);
    w.padding.push_back(after);
    w.out.push_back((w.image.back() + before + after - reach) / w.stride.back() + 1);
  }
  return w;
}

// "[0, 3, 1, 2]" for two dims: the permutation that puts the last dim behind the first one.
inline std::string from_last(int64_t spatial) {
  std::vector<int64_t> order = {0, spatial + 1};
  for (int64_t d = 0; d < spatial; ++d) order.push_back(d + 1);
  return list(order);
}

}  // namespace detail

inline Product draw_convolution(std::mt19937_64& random, ConvolutionKind kind) {
  using namespace detail;
  auto draw = [&](std::initializer_list<int64_t> from) { return pick(random, from); };
  const Windows w = draw_windows(random);
  const bool is_float = kind == ConvolutionKind::floats, bytes = kind == ConvolutionKind::bytes;
  const int64_t spatial = std::ssize(w.kernel), groups = draw({1, 1, 1, 1, 2, 3});
  const int64_t channels = is_float ? draw({8, 16, 24, 32, 40, 64, 72, 96, 128, 160, 200})
                                    : draw({16, 32, 48, 64, 80, 128, 144, 192, 256}),
                images = draw({1, 2, 3});
  int64_t columns = draw({8, 16, 24, 64, 96, 136, 200});
  int64_t work = images * channels * groups;
  for (int64_t d = 0; d < spatial; ++d)
    work *= w.out[static_cast<size_t>(d)] * w.kernel[static_cast<size_t>(d)];
  while (columns > 8 && columns * work > 12'000'000) columns = columns / 16 * 8;
  Product product;
  if (is_float) product.dtype = draw({0, 1, 2}) == 0 ? "f16" : "bf16";
  product.tf32 = is_float && random() % 4 == 0;
  const std::string type_x = draw_type(random, kind), type_w = draw_type(random, kind);

  std::vector<int64_t> image = {images}, weight = {groups * columns};
  image.insert(image.end(), w.image.begin(), w.image.end());
  image.push_back(groups * channels);
  weight.insert(weight.end(), w.kernel.begin(), w.kernel.end());
  weight.push_back(channels);
  std::string nodes = str("  - {out: xc, op: permute, in: [x], dims: ", from_last(spatial), "}\n");
  // The weight's rows run along the channels, or along the result's.
  const bool along_columns = is_float && random() % 2 == 0;
  if (along_columns) {
    std::rotate(weight.begin(), weight.begin() + 1, weight.end());
    std::vector<int64_t> order = {spatial + 1, spatial};
    for (int64_t d = 0; d < spatial; ++d) order.push_back(d);
    nodes += str("  - {out: wc, op: permute, in: [w], dims: ", list(order), "}\n");
  } else {
    nodes += str("  - {out: wc, op: permute, in: [w], dims: ", from_last(spatial), "}\n");
  }
  std::string last = "xc";
  if (is_float && random() % 6 == 0) {
    nodes += "  - {out: xr, op: relu, in: [xc]}\n";
    last = "xr";
  }
  nodes += str("  - {out: p, op: convolution, in: [", last, ", wc], padding: ", list(w.padding),
               ", stride: ", list(w.stride), ", dilation: ", list(w.dilation), ", groups: ", groups,
               bytes                         ? ", out_dtype: i32"
               : kind == ConvolutionKind::f8 ? ", out_dtype: bf16"
                                             : "",
               "}\n");
  last = "p";
  std::vector<int64_t> bias(static_cast<size_t>(spatial) + 1, 1), out = {images};
  bias[0] = groups * columns;
  out.insert(out.end(), w.out.begin(), w.out.end());
  out.push_back(groups * columns);
  const char* sums = bytes ? "i32" : is_float ? "f32" : "bf16";
  std::string inputs =
      str("  x: {dtype: ", type_x, ", shape: ", list(image), range_of(type_x),
          "}\n  w: {dtype: ", type_w, ", shape: ", list(weight), range_of(type_w), "}\n");
  const int64_t epilogue = draw({0, 1, 2});
  if (epilogue >= 1) {
    inputs += str("  bias: {dtype: ", sums, ", shape: ", list(bias),
                  bytes ? ", range: [-1000, 1000]" : "", "}\n");
    nodes += "  - {out: q, op: add, in: [p, bias]}\n  - {out: r, op: relu, in: [q]}\n";
    last = "r";
  }
  if (epilogue == 2) {
    inputs += str("  residual: {dtype: ", sums, ", shape: ", list(out),
                  bytes ? ", range: [-1000, 1000]" : "", "}\n");
    nodes += str("  - {out: rc, op: permute, in: [residual], dims: ", from_last(spatial),
                 "}\n  - {out: s, op: add, in: [r, rc]}\n");
    last = "s";
  }
  // The result's channels are last in memory, too, mostly.
  if (random() % 4 != 0) {
    std::vector<int64_t> order = {0};
    for (int64_t d = 0; d < spatial; ++d) order.push_back(d + 2);
    order.push_back(1);
    nodes += str("  - {out: y, op: permute, in: [", last, "], dims: ", list(order), "}\n");
    last = "y";
  }
  product.text = str("tcc: 1\nname: convolution\ninputs:\n", inputs, "nodes:\n", nodes,
                     "outputs: [", last, "]\n");
  return product;
}

// An image of few channels, in rows of one channel after the other: what the copies of pad_images
// are for.
inline Product draw_stem(std::mt19937_64& random) {
  using namespace detail;
  const Windows w = draw_windows(random);
  const int64_t channels = pick(random, {1, 2, 3, 3, 3, 4, 6, 8}),
                columns = pick(random, {8, 24, 64});
  Product product;
  product.dtype = random() % 3 == 0 ? "f16" : "bf16";
  product.tf32 = random() % 4 == 0;
  std::vector<int64_t> image = {pick(random, {1, 2, 5}), channels}, weight = {columns, channels};
  image.insert(image.end(), w.image.begin(), w.image.end());
  weight.insert(weight.end(), w.kernel.begin(), w.kernel.end());
  product.text =
      str("tcc: 1\nname: stem\ninputs: {x: {dtype: f32, shape: ", list(image),
          "}}\nweights: {w: {dtype: f32, shape: ", list(weight),
          ", init: {normal: 0.3}}}\nnodes:\n"
          "  - {out: p, op: convolution, in: [x, w], padding: ",
          list(w.padding), ", stride: ", list(w.stride), ", dilation: ", list(w.dilation),
          "}\n  - {out: y, op: relu, in: [p]}\noutputs: [y]\n");
  return product;
}

// Kernels of an executable that read an image by im2col.
inline int64_t im2col_kernels(const exec::Executable& executable) {
  return std::ranges::count_if(executable.kernels, [](const exec::KernelBinary& kernel) {
    return kernel.source.find(".load = Load::im2col;") != std::string::npos;
  });
}

}  // namespace tcc::test
