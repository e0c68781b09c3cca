// Products of few rows: any layouts of the large operand, which may be fixed, odd sizes, and rows
// that are reduced or computed before.
#pragma once

#include <random>
#include <string>

#include "tests/random_products.h"

namespace tcc::test {

// Nodes before the product that make `a`, the operand of few rows, of x along k.
inline std::string prologue_nodes(std::string_view kind, bool swapped) {
  const std::string dim = swapped ? "[0]" : "[1]", along = swapped ? "0" : "1";
  const auto node = [](std::string_view out, std::string_view op, std::string_view in,
                       std::string_view attributes = "") {
    return str("  - {out: ", out, ", op: ", op, ", in: [", in, "]", attributes, "}\n");
  };
  const std::string of_rows = ", dim: " + dim + ", keepdim: true";
  if (kind == "silu")
    return node("sig", "sigmoid", "x") + node("gate", "mul", "x, sig") +
           node("a", "mul", "gate, u");
  if (kind == "rms")
    return node("sq", "square", "x") + node("ms", "mean", "sq", of_rows) +
           node("me", "add", "ms, 0.001") + node("rs", "rsqrt", "me") + node("nx", "mul", "x, rs") +
           node("a", "mul", "nx, g");
  if (kind == "layer")
    return node("mu", "mean", "x", of_rows) + node("cx", "sub", "x, mu") +
           node("sq", "square", "cx") + node("ms", "mean", "sq", of_rows) +
           node("me", "add", "ms, 0.001") + node("rs", "rsqrt", "me") +
           node("nx", "mul", "cx, rs") + node("a", "mul", "nx, g");
  if (kind == "softmax") return node("a", "softmax", "x", ", dim: " + along);
  // Two reductions of one stage: the row as a share of its range.
  return node("lo", "amin", "x", of_rows) + node("hi", "amax", "x", of_rows) +
         node("range", "sub", "hi, lo") + node("wide", "add", "range, 0.5") +
         node("cx", "sub", "x, lo") + node("a", "div", "cx, wide");
}

inline Product draw_few_rows(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<int64_t> from) { return test::pick(random, from); };
  const int64_t m = pick({1, 1, 1, 2, 3, 4}), n = pick({64, 127, 256, 512, 1000, 2048}),
                k = pick({64, 129, 512, 768, 1023, 2048, 4096});
  const bool turned = random() % 4 == 0, swapped = random() % 4 == 0;
  const std::string x = swapped ? str(k, ", ", m) : str(m, ", ", k),
                    w = turned != swapped ? str(n, ", ", k) : str(k, ", ", n);
  constexpr std::string_view kPrologues[] = {"",    "",      "silu",    "rms",
                                             "rms", "layer", "softmax", "range"};
  const std::string_view prologue = kPrologues[random() % std::size(kPrologues)];
  const bool fixed = random() % 2 == 0;  // no kernel writes the large operand
  Product product;
  const int64_t dtype = pick({0, 1, 2});
  product.dtype = dtype == 0 ? "" : dtype == 1 ? "f16" : "bf16";
  product.text = str("tcc: 1\nname: few_rows\ninputs:\n  x: {dtype: f32, shape: [", x,
                     "]}\n  bias: {dtype: f32, shape: [", swapped ? str(n, ", 1") : str(n), "]}\n");
  if (prologue == "silu") product.text += "  u: {dtype: f32, shape: [" + x + "]}\n";
  if (prologue == "rms" || prologue == "layer")
    product.text += str("  g: {dtype: f32, shape: [", swapped ? str(k, ", 1") : str(k), "]}\n");
  product.text += str(fixed ? "weights:\n" : "", "  w: {dtype: f32, shape: [", w, "]",
                      fixed ? ", init: {normal: 0.5}" : "", "}\nnodes:\n");
  std::string large = "w", few = "x";
  if (turned) {
    product.text += "  - {out: wt, op: permute, in: [w], dims: [1, 0]}\n";
    large = "wt";
  }
  if (!prologue.empty()) {
    product.text += prologue_nodes(prologue, swapped);
    few = "a";
  }
  product.text += "  - {out: p, op: matmul, in: [" +
                  (swapped ? large + ", " + few : few + ", " + large) +
                  "]}\n  - {out: s, op: add, in: [p, bias]}\n  - {out: r, op: relu, in: [s]}\n"
                  "outputs: [r]\n";
  return product;
}

}  // namespace tcc::test
