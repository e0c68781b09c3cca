// Random products and convolutions whose rows or batch come at run time: compiled once with random
// configs, and run at several sizes against the reference.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/checked.h"
#include "support/error.h"
#include "tests/random_products.h"

namespace tcc::test {

struct OpenProduct : Product {
  std::vector<std::string> open;  // dims
  int64_t multiple = 1;           // of which the sizes of all of them are
  int64_t few_rows = 0;           // M is 1 to so many; 0: any
};

// Rows M, columns, sums, the batch B or several of them are open.
inline OpenProduct draw_open_product(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<int64_t> from) { return test::pick(random, from); };
  const int64_t n = pick({8, 16, 31, 64, 65, 96, 128, 200, 256, 300}),
                k = pick({32, 33, 64, 72, 100, 128, 192, 257, 512});
  const bool has_batch = random() % 2 == 0, batch_open = has_batch && random() % 2 == 0,
             rows_open = !batch_open || random() % 2 == 0, a_turned = random() % 4 == 0,
             b_turned = random() % 2 == 0, b_shared = !has_batch || random() % 2 == 0;
  const int64_t epilogue = pick({0, 1, 2, 3, 3});
  OpenProduct product;
  product.dtype = pick({0, 1, 2}) == 0 ? "f16" : "bf16";
  product.tf32 = random() % 6 == 0;
  if (rows_open) product.open.emplace_back("M");
  if (batch_open) product.open.emplace_back("B");
  const std::string m = rows_open ? "M" : std::to_string(pick({8, 65, 128})),
                    batch = batch_open  ? "B"
                            : has_batch ? "3"
                                        : "1";
  const auto dims = [](const std::string& a, const std::string& b, const std::string& c) {
    return "[" + a + ", " + b + ", " + c + "]";
  };
  // Columns and sums may be rows, too, or have sizes of their own.
  const int64_t shared = rows_open ? pick({0, 0, 0, 1, 2}) : 0;
  product.multiple = pick({1, 1, 8});
  const std::string columns = shared == 1 ? "M" : std::to_string(n),
                    sum = shared == 2 ? "M" : std::to_string(k), of_b = b_shared ? "1" : batch;
  std::string& text = product.text;
  text = "tcc: 1\nname: product\ndims: {M: 64, B: 8}\ninputs:\n";
  text += "  a: {dtype: f32, shape: " + (a_turned ? dims(batch, sum, m) : dims(batch, m, sum)) +
          "}\n  b: {dtype: f32, shape: " +
          (b_turned ? dims(of_b, columns, sum) : dims(of_b, sum, columns)) +
          "}\n  bias: {dtype: f32, shape: [" + columns +
          "]}\n  residual: {dtype: f32, shape: " + dims(batch, m, columns) + "}\nnodes:\n";
  if (a_turned) text += "  - {out: at, op: transpose, in: [a], dim0: 1, dim1: 2}\n";
  if (b_turned) text += "  - {out: bt, op: transpose, in: [b], dim0: 1, dim1: 2}\n";
  text += str("  - {out: p, op: matmul, in: [", a_turned ? "at" : "a", ", ", b_turned ? "bt" : "b",
              "]}\n");
  std::string last = "p";
  const auto then = [&](const char* node, const char* out) {
    text += str("  - {out: ", out, ", ", node, "}\n");
    last = out;
  };
  if (epilogue >= 1) then("op: add, in: [p, bias]", "q");
  if (epilogue >= 2) then("op: gelu, in: [q]", "r");
  if (epilogue >= 3) then("op: add, in: [r, residual]", "s");
  text += "outputs: [" + last + "]\n";
  return product;
}

// Images of any number.
inline OpenProduct draw_open_convolution(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<int64_t> from) { return test::pick(random, from); };
  const int64_t groups = pick({1, 1, 2}), c = pick({3, 16, 24, 32, 64}) * groups,
                o = pick({16, 20, 64}) * groups, kernel = pick({1, 3}), height = pick({7, 9, 14}),
                width = pick({6, 8, 12});
  OpenProduct product;
  product.dtype = random() % 2 == 0 ? "f16" : "bf16";
  product.open = {"B"};
  product.text =
      str("tcc: 1\nname: convolution\ndims: {B: 4}\ninputs:\n  x: {dtype: f32, shape: [B, ", height,
          ", ", width, ", ", c, "]}\n  w: {dtype: f32, shape: [", o, ", ", c / groups, ", ", kernel,
          ", ", kernel, "]}\n  bias: {dtype: f32, shape: [", o,
          ", 1, 1]}\nnodes:\n  - {out: t, op: permute, in: [x], dims: [0, 3, 1, 2]}\n"
          "  - {out: p, op: conv2d, in: [t, w], padding: ",
          pick({0, 1}), ", stride: ", pick({1, 1, 2}), ", groups: ", groups,
          "}\n  - {out: q, op: add, in: [p, bias]}\n  - {out: r, op: relu, in: [q]}\n"
          "outputs: [r]\n");
  return product;
}

// The same of few rows.
inline OpenProduct draw_few_open_rows(std::mt19937_64& random) {
  OpenProduct product = draw_open_product(random);
  product.few_rows = pick(random, {2, 4, 8});
  return product;
}

using DrawOpen = std::function<OpenProduct(std::mt19937_64&)>;

// The one executable at sizes of 0, 1 and around those of tiles, as seldom as they are drawn.
inline void check_open_product(const std::shared_ptr<runtime::Device>& device,
                               const sched::Target& target, uint64_t seed, const DrawOpen& draw,
                               const Look& look = {}) {
  std::mt19937_64 random(seed);
  const OpenProduct product = draw(random);
  const ir::Graph parsed = parse_yaml_graph(product.text, "product.yaml", ".");
  backends::CompileOptions options;
  const RandomConfigs configs(seed, product.fixed);
  const RandomPlan plan(seed / 4);
  if (seed % 4 != 0) {  // else the defaults
    options.configs = &configs;
    options.plan = &plan;
  }
  options.validate = true;
  // The middle of the range is the usual size.
  const int64_t multiple = product.multiple, most = pick(random, {512, 8192, 1 << 20});
  for (const std::string& dim : product.open)
    options.open_dims[dim] = {
        .least = 0, .most = multiple * (dim == "M" ? most : 64), .multiple = multiple};
  if (product.few_rows > 0 && options.open_dims.contains("M"))
    options.open_dims["M"] = {.least = 1, .most = product.few_rows, .multiple = 1};
  if (product.tf32)
    options.matmul_precision = backends::MatmulPrecision::high;
  else
    options.dtype = product.dtype == "f16" ? DType::f16 : DType::bf16;
  exec::Executable executable = backends::compile(parsed, target, options);
  if (look) look(executable);
  std::string used;
  for (const exec::KernelBinary& kernel : executable.kernels)
    used += kernel.template_name + " " + kernel.config + "; ";
  const auto program = std::make_shared<const runtime::Program>(device, std::move(executable));
  for (int run = 0; run < 4; ++run) {
    std::map<std::string, int64_t, std::less<>> sizes;
    for (const std::string& dim : product.open)
      sizes[dim] = dim == "M" ? pick(random, {0, 1, 2, 7, 8, 17, 63, 64, 65, 127, 128, 129, 300})
                              : pick(random, {0, 1, 2, 3, 5});
    std::string said;
    for (auto& [dim, size] : sizes) size = ceil_div(size, multiple) * multiple;
    if (product.few_rows > 0 && sizes.contains("M"))
      sizes["M"] = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(product.few_rows));
    for (const auto& [dim, size] : sizes) said += str(dim, " = ", size, ", ");
    SCOPED_TRACE(str("seed ", seed, ", ", said, used, "\n", product.text));
    const ir::Graph graph = parsed.bind(sizes);
    const ir::Graph typed =
        options.dtype ? ir::convert_precision(graph, *options.dtype) : graph.clone();
    const std::vector<Tensor> inputs = draw_inputs(typed, {.lo = -1, .hi = 1, .seed = seed});
    runtime::Context context(program, nullptr, sizes);
    const std::vector<Tensor> outputs = context.run(inputs);
    EXPECT_EQ(compare_with_reference(typed, inputs, outputs, {.tf32 = product.tf32}), "");
  }
}

// Some kernels are of the template.
inline void check_open_products(const std::shared_ptr<runtime::Device>& device, const char* unit,
                                const char* template_name, const DrawOpen& draw, int64_t count) {
  sched::Target target = device->target();
  if (!target.has_matrix_unit(unit)) GTEST_SKIP() << target.id() << " has no " << unit;
  target.matrix_units = exec::units_of_kinds(target.matrix_units, {unit});
  target.box_copies = target.has_matrix_unit("wgmma");  // fma_sm90 is tested beside it
  int64_t used = 0;
  const int64_t first = number_from("TCC_PRODUCTS_SEED", 1);
  count = draws("TCC_PRODUCTS_COUNT", count);
  for (int64_t seed = first; seed < first + count; ++seed)
    check_open_product(device, target, static_cast<uint64_t>(seed), draw,
                       [&](const exec::Executable& executable) {
                         for (const exec::KernelBinary& kernel : executable.kernels)
                           used += kernel.template_name == template_name;
                       });
  EXPECT_GT(used, 0) << "no product is on the units";
}

}  // namespace tcc::test
