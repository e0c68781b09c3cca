// Random matrix products with random configs of every template that takes them, against the
// reference. TCC_PRODUCTS_SEED and TCC_PRODUCTS_COUNT choose others and more.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "frontend/graph_file.h"
#include "ir/passes/convert_precision.h"
#include "tests/random_configs.h"
#include "tests/run_graph.h"

namespace tcc {
namespace {

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoll(text) : otherwise;
}

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
  std::string text, dtype;
  bool tf32 = false;
};

Product draw_product(std::mt19937_64& random) {
  auto pick = [&](std::initializer_list<int64_t> from) {
    return from.begin()[random() % from.size()];
  };
  auto size = [&] { return pick({1, 2, 3, 8, 16, 31, 64, 65, 96, 127, 128, 200, 256, 300, 515}); };
  const int64_t m = size(), n = size(),
                k = pick({32, 33, 64, 72, 100, 128, 192, 257, 512, 1030, 2048});
  const int64_t batch = pick({1, 1, 1, 2, 5});
  const bool a_turned = random() % 3 == 0, b_turned = random() % 2 == 0,
             b_shared = random() % 2 == 0;
  const int64_t epilogue = pick({0, 1, 2, 3});
  auto shape = [](std::initializer_list<int64_t> dims) {
    std::string text;
    for (int64_t dim : dims) text += (text.empty() ? "" : ", ") + std::to_string(dim);
    return "[" + text + "]";
  };
  Product product;
  product.dtype = pick({0, 1, 2}) == 0 ? "f16" : "bf16";
  product.tf32 = random() % 5 == 0;
  std::string& text = product.text;
  text = "tcc: 1\nname: product\ninputs:\n";
  text += "  a: {dtype: f32, shape: " + (a_turned ? shape({batch, k, m}) : shape({batch, m, k})) +
          "}\n";
  const int64_t b_batch = b_shared ? 1 : batch;
  text +=
      "  b: {dtype: f32, shape: " + (b_turned ? shape({b_batch, n, k}) : shape({b_batch, k, n})) +
      "}\n";
  text += "  bias: {dtype: f32, shape: " + shape({n}) + "}\n";
  text += "  residual: {dtype: f32, shape: " + shape({batch, m, n}) + "}\n";
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
  if (epilogue == 3) {
    text += "  - {out: s, op: add, in: [r, residual]}\n";
    last = "s";
  }
  text += "outputs: [" + last + "]\n";
  return product;
}

void check_product(const std::shared_ptr<runtime::Device>& device, const sched::Target& target,
                   uint64_t seed) {
  std::mt19937_64 random(seed);
  const Product product = draw_product(random);
  const ir::Graph graph = parse_yaml_graph(product.text, "product.yaml", ".").bind({});
  backends::CompileOptions options;
  const test::RandomConfigs configs(seed);
  const RandomPlan plan(seed / 4);
  if (seed % 4 != 0) options.configs = &configs;  // else the defaults
  options.plan = &plan;
  if (product.tf32)
    options.matmul_precision = backends::MatmulPrecision::high;
  else
    options.dtype = product.dtype == "f16" ? DType::f16 : DType::bf16;
  sched::Executable executable = backends::compile(graph, target, options);
  std::string used;
  for (const sched::KernelBinary& kernel : executable.kernels)
    used += kernel.template_name + " " + kernel.config + "; ";
  SCOPED_TRACE(str("seed ", seed, ": ", used, "\n", product.text));
  const ir::Graph typed =
      options.dtype ? ir::convert_precision(graph, *options.dtype) : graph.clone();
  const std::vector<Tensor> inputs = test::draw_inputs(typed, {.lo = -1, .hi = 1, .seed = seed});
  auto program = std::make_shared<const runtime::Program>(device, std::move(executable));
  runtime::Context context(program);
  const std::vector<Tensor> outputs = context.run(inputs);
  std::vector<ir::RefTensor> given;
  for (const Tensor& input : inputs) given.push_back(ir::to_ref(input));
  const auto ideal = ir::interpret(typed, given, ir::RefMode::ideal);
  const auto stepwise =
      ir::interpret(typed, given, ir::RefMode::stepwise, {.observe = {}, .tf32 = product.tf32});
  const ir::Comparison c = ir::compare(ir::to_ref(outputs[0]), ideal[0], stepwise[0]);
  EXPECT_TRUE(c.pass) << c.reason;
}

void check_products(const char* unit) {
  const std::shared_ptr<runtime::Device> device = runtime::open_device("cuda:0");
  sched::Target target = device->target();
  if (!target.has_matrix_unit(unit)) GTEST_SKIP() << target.id() << " has no " << unit;
  target.matrix_units = {unit};
  const int64_t first = number_from("TCC_PRODUCTS_SEED", 1),
                count = number_from("TCC_PRODUCTS_COUNT", 60);
  for (int64_t seed = first; seed < first + count; ++seed)
    check_product(device, target, static_cast<uint64_t>(seed));
}

TEST(MatrixProducts, OnWgmmaAgreeWithTheReference) { check_products("wgmma"); }
TEST(MatrixProducts, OnMmaAgreeWithTheReference) { check_products("mma"); }

}  // namespace
}  // namespace tcc
