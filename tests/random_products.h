// Random regions with random configs of a template, against the reference. TCC_PRODUCTS_SEED and
// TCC_PRODUCTS_COUNT choose others and more.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "frontend/graph_file.h"
#include "ir/passes/convert_precision.h"
#include "tests/draws.h"
#include "tests/random_configs.h"
#include "tests/run_graph.h"

namespace tcc::test {

// Any of the alternatives of sites that span regions, padded copies among them.
class RandomPlan : public sched::PlanSource {
 public:
  explicit RandomPlan(uint64_t seed) : seed_(seed) {}
  int64_t choose(const sched::PlanSite& site, const sched::Target&) const override {
    return site.alternatives[seed_ % site.alternatives.size()];
  }

 private:
  uint64_t seed_;
};

struct Product {
  std::string text, dtype;  // nothing: as the text says
  bool tf32 = false;
  std::map<std::string, int64_t> fixed = {};  // parameters of its configs
};

inline int64_t pick(std::mt19937_64& random, std::initializer_list<int64_t> from) {
  return from.begin()[random() % from.size()];
}

inline std::string shape(std::initializer_list<int64_t> dims) {
  std::string text;
  for (int64_t dim : dims) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return "[" + text + "]";
}

using Draw = std::function<Product(std::mt19937_64&)>;
// Sees each executable before it runs.
using Look = std::function<void(const exec::Executable&)>;

inline void check_product(const std::shared_ptr<runtime::Device>& device,
                          const sched::Target& target, uint64_t seed, const Draw& draw,
                          const Look& look) {
  std::mt19937_64 random(seed);
  const Product product = draw(random);
  const ir::Graph graph = parse_yaml_graph(product.text, "product.yaml", ".").bind({});
  backends::CompileOptions options;
  const RandomConfigs configs(seed, product.fixed);
  const RandomPlan plan(seed / 4);
  if (seed % 4 != 0) options.configs = &configs;  // else the defaults
  options.plan = &plan;
  if (product.tf32)
    options.matmul_precision = backends::MatmulPrecision::high;
  else if (!product.dtype.empty())
    options.dtype = product.dtype == "f16" ? DType::f16 : DType::bf16;
  exec::Executable executable = backends::compile(graph, target, options);
  if (look) look(executable);
  std::string used;
  for (const exec::KernelBinary& kernel : executable.kernels)
    used += kernel.template_name + " " + kernel.config + "; ";
  SCOPED_TRACE(str("seed ", seed, ": ", used, "\n", product.text));
  const ir::Graph typed =
      options.dtype ? ir::convert_precision(graph, *options.dtype) : graph.clone();
  const std::vector<Tensor> inputs = draw_inputs(typed, {.lo = -1, .hi = 1, .seed = seed});
  auto program = std::make_shared<const runtime::Program>(device, std::move(executable));
  runtime::Context context(program);
  const std::vector<Tensor> outputs = context.run(inputs);
  EXPECT_EQ(compare_with_reference(typed, inputs, outputs, {.tf32 = product.tf32}), "");
}

// On a kind of matrix units, or on FMA units (nullptr).
inline void check_products_on(const std::shared_ptr<runtime::Device>& device, const char* unit,
                              const Draw& draw, int64_t first, int64_t count,
                              const Look& look = {}) {
  sched::Target target = device->target();
  if (unit && !target.has_matrix_unit(unit)) GTEST_SKIP() << target.id() << " has no " << unit;
  if (unit)
    target.matrix_units = exec::units_of_kinds(target.matrix_units, {unit});
  else
    target.matrix_units.clear();
  target.box_copies = target.has_matrix_unit("wgmma");  // fma_sm90 is tested beside it
  for (int64_t seed = first; seed < first + count; ++seed)
    check_product(device, target, static_cast<uint64_t>(seed), draw, look);
}

inline void check_products(const char* unit, const Draw& draw, int64_t first, int64_t count,
                           const Look& look = {}) {
  check_products_on(runtime::open_device("cuda:0"), unit, draw, first, count, look);
}

inline void check_products(const char* unit, const Draw& draw, const Look& look = {}) {
  check_products(unit, draw, number_from("TCC_PRODUCTS_SEED", 1), draws("TCC_PRODUCTS_COUNT", 60),
                 look);
}

}  // namespace tcc::test
