// Random matrix products for tests of templates: f32 ones that precision may narrow, and bytes.
#pragma once

#include <string>

#include "support/error.h"
#include "tests/random_products.h"

namespace tcc::test {

inline Product draw_product(std::mt19937_64& random) {
  auto pick = [&](std::initializer_list<int64_t> from) { return test::pick(random, from); };
  auto size = [&] { return pick({1, 2, 3, 8, 16, 31, 64, 65, 96, 127, 128, 200, 256, 300, 515}); };
  const int64_t m = size(), n = size(),
                k = pick({32, 33, 64, 72, 100, 128, 192, 257, 512, 1030, 2048});
  const int64_t batch = pick({1, 1, 1, 2, 5});
  const bool a_turned = random() % 3 == 0, b_turned = random() % 2 == 0,
             b_shared = random() % 2 == 0;
  const int64_t epilogue = pick({0, 1, 2, 3, 3, 4});
  Product product;
  product.dtype = pick({0, 1, 2}) == 0 ? "f16" : "bf16";
  product.tf32 = random() % 5 == 0;
  const int64_t constant = pick({0, 0, 0, 1, 2});  // 1: a, 2: b
  const int64_t b_batch = b_shared ? 1 : batch;
  const std::string a = "  a: {dtype: f32, shape: " +
                        (a_turned ? shape({batch, k, m}) : shape({batch, m, k})),
                    b = "  b: {dtype: f32, shape: " +
                        (b_turned ? shape({b_batch, n, k}) : shape({b_batch, k, n}));
  std::string& text = product.text;
  text = "tcc: 1\nname: product\n";
  if (constant != 0)
    text += "weights:\n" + (constant == 1 ? a : b) + ", init: {uniform: [-1, 1]}}\n";
  text += "inputs:\n";
  if (constant != 1) text += a + "}\n";
  if (constant != 2) text += b + "}\n";
  text += "  bias: {dtype: f32, shape: " + shape({n}) + "}\n";
  text += "  residual: {dtype: f32, shape: " + shape({batch, m, n}) + "}\n";
  text += "  scale: {dtype: f32, shape: " + shape({batch, m, n}) + "}\n";
  text += "nodes:\n";
  if (a_turned) text += "  - {out: at, op: transpose, in: [a], dim0: 1, dim1: 2}\n";
  if (b_turned) text += "  - {out: bt, op: transpose, in: [b], dim0: 1, dim1: 2}\n";
  text += std::string("  - {out: p, op: matmul, in: [") + (a_turned ? "at" : "a") + ", " +
          (b_turned ? "bt" : "b") + "]}\n";
  std::string last = "p";
  if (epilogue >= 1) {
    text += "  - {out: q, op: add, in: [p, bias]}\n";
    last = "q";
  }
  if (epilogue >= 2) {
    text += "  - {out: r, op: gelu, in: [q]}\n";
    last = "r";
  }
  if (epilogue >= 3) {
    text += "  - {out: s, op: add, in: [r, residual]}\n";
    last = "s";
  }
  if (epilogue == 4) {
    text += "  - {out: t, op: mul, in: [s, scale]}\n";
    last = "t";
  }
  text += "outputs: [" + last + "]\n";
  return product;
}

// An input of bytes: of any value, of the extreme ones alone, or of zeros and ones.
inline std::string draw_bytes(std::mt19937_64& random, const std::string& name,
                              const std::string& dims, bool is_signed) {
  const int64_t values = pick(random, {0, 0, 0, 1, 2, 3});
  const std::string range = values == 1   ? (is_signed ? "[-128, -127]" : "[255, 256]")
                            : values == 2 ? (is_signed ? "[127, 128]" : "[254, 256]")
                            : values == 3 ? "[0, 2]"
                                          : (is_signed ? "[-128, 128]" : "[0, 256]");
  return str("  ", name, ": {dtype: ", is_signed ? "i8" : "u8", ", shape: ", dims,
             ", range: ", range, "}\n");
}

// Nodes that follow an i32 result "p".
inline std::string draw_integer_epilogue(std::mt19937_64& random) {
  switch (pick(random, {0, 1, 2, 3})) {
    case 0: return "outputs: [p]\n";
    case 1: return "  - {out: y, op: add, in: [p, bias]}\noutputs: [y]\n";
    case 2:
      return "  - {out: q, op: add, in: [p, bias]}\n"
             "  - {out: r, op: bitwise_right_shift, in: [q, 7]}\n"
             "  - {out: s, op: clamp, in: [r], min: -128, max: 127}\n"
             "  - {out: y, op: cast, in: [s], dtype: i8}\noutputs: [y]\n";
    default:
      return "  - {out: q, op: cast, in: [p], dtype: f32}\n"
             "  - {out: y, op: mul, in: [q, 0.125]}\noutputs: [y, p]\n";
  }
}

inline Product draw_byte_product(std::mt19937_64& random) {
  auto pick = [&](std::initializer_list<int64_t> from) { return test::pick(random, from); };
  auto size = [&] {
    return pick({1, 3, 8, 16, 31, 64, 65, 96, 127, 128, 200, 256, 300, 515, 640});
  };
  const int64_t m = size(), n = size(), batch = pick({1, 1, 1, 2, 5});
  int64_t k = pick({32, 33, 64, 100, 128, 192, 250, 257, 512, 1030, 2048, 4096, 8191, 8192});
  if (m * n * batch * k < (int64_t{1} << 18)) k = 8192;       // worth a matrix unit
  if (m * n * batch > (int64_t{1} << 18)) k = k % 2048 + 32;  // the reference takes its time
  const bool a_turned = random() % 3 == 0, b_turned = random() % 2 == 0,
             b_shared = random() % 2 == 0, a_signed = random() % 2 == 0,
             b_signed = random() % 2 == 0;
  Product product;
  std::string& text = product.text;
  text = "tcc: 1\nname: product\ninputs:\n";
  text += draw_bytes(random, "a", a_turned ? shape({batch, k, m}) : shape({batch, m, k}), a_signed);
  const int64_t b_batch = b_shared ? 1 : batch;
  text +=
      draw_bytes(random, "b", b_turned ? shape({b_batch, n, k}) : shape({b_batch, k, n}), b_signed);
  text += "  bias: {dtype: i32, shape: " + shape({n}) + ", range: [-100000, 100000]}\nnodes:\n";
  if (a_turned) text += "  - {out: at, op: transpose, in: [a], dim0: 1, dim1: 2}\n";
  if (b_turned) text += "  - {out: bt, op: transpose, in: [b], dim0: 1, dim1: 2}\n";
  const std::string operands = str("[", a_turned ? "at" : "a", ", ", b_turned ? "bt" : "b", "]");
  // Narrow results wrap, and unsigned ones as well.
  if (random() % 6 == 0 && a_signed == b_signed)
    text += "  - {out: y, op: matmul, in: " + operands + "}\noutputs: [y]\n";
  else if (random() % 6 == 0)
    text += "  - {out: y, op: matmul, in: " + operands + ", out_dtype: u32}\noutputs: [y]\n";
  else
    text += "  - {out: p, op: matmul, in: " + operands + ", out_dtype: i32}\n" +
            draw_integer_epilogue(random);
  return product;
}

inline Product draw_byte_convolution(std::mt19937_64& random) {
  auto pick = [&](std::initializer_list<int64_t> from) { return test::pick(random, from); };
  const int64_t groups = pick({1, 1, 1, 2}), c = pick({3, 16, 24, 64}) * groups,
                o = pick({8, 20, 64, 96}) * groups, kernel = pick({1, 3, 5});
  Product product;
  product.text = "tcc: 1\nname: convolution\ninputs:\n";
  product.text +=
      draw_bytes(random, "x", shape({pick({1, 2, 3}), c, pick({9, 16, 28}), pick({7, 16, 32})}),
                 random() % 2 == 0);
  product.text +=
      draw_bytes(random, "w", shape({o, c / groups, kernel, kernel}), random() % 2 == 0);
  product.text +=
      "  bias: {dtype: i32, shape: " + shape({o, 1, 1}) + ", range: [-100000, 100000]}\nnodes:\n";
  product.text +=
      str("  - {out: p, op: conv2d, in: [x, w], out_dtype: i32, padding: ", pick({0, 1, 2}),
          ", stride: ", pick({1, 1, 2}), ", groups: ", groups, "}\n");
  product.text += draw_integer_epilogue(random);
  return product;
}

}  // namespace tcc::test
