// Recurrent layers whose length and batch come at run time: one program for all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "executable/sizes.h"
#include "frontend/graph_file.h"
#include "ir/reference/interpreter.h"
#include "runtime/program.h"
#include "tests/cuda_parts.h"
#include "tests/expect_error.h"
#include "tests/open_graph.h"
#include "tests/random_recurrent.h"

namespace tcc {
namespace {

TEST(OpenRecurrent, StepsOfOneKernelAgreeWithTheReference) {
  test::check_open_recurrent(test::Devices::software, "recurrent", {}, 1, 10);
}

TEST(OpenRecurrent, StepsOfLaunchesAgreeWithTheReference) {
  test::check_open_recurrent(test::Devices::software, "recurrent_steps", {}, 21, 10);
}

// A layer of S steps of B rows of 64 inputs.
ir::Graph layer(std::string_view op, int64_t hidden, std::string_view attrs = "",
                std::string_view dtype = "f32") {
  const int64_t gates = op == "lstm" ? 4 : op == "gru" ? 3 : 1;
  return parse_yaml_graph(
      str("tcc: 1\nname: g\ndims: {S: 20, B: 2}\ninputs: {x: {dtype: ", dtype,
          ", shape: [S, B, 64]}}\nweights: {w: {dtype: ", dtype, ", shape: [1, ", gates * hidden,
          ", 64], init: {normal: 0.1}}, r: {dtype: ", dtype, ", shape: [1, ", gates * hidden, ", ",
          hidden, "], init: {normal: 0.04}}}\nnodes:\n  - {out: [out, h", op == "lstm" ? ", c" : "",
          "], op: ", op, ", in: [x, w, r]", attrs, "}\noutputs: [out, h]\n"),
      "g.yaml", ".");
}

struct QuantizedForm {
  bool by_row = false, zeros = false, initial = false, lengths = false;
  const char* weights = "i8";
};
// A layer of S steps of B rows of 6 inputs, with weights of 8 bits.
ir::Graph quantized_layer(int64_t hidden, const std::string& direction, const QuantizedForm& form) {
  const int64_t d = direction == "bidirectional" ? 2 : 1, gates = 4 * hidden;
  const bool is_signed = form.weights == std::string("i8");
  const std::string of_rows = form.by_row ? str("[", d, ", ", gates, "]") : str("[", d, "]"),
                    state = str("{dtype: f32, shape: [", d, ", B, ", hidden, "]}"),
                    integers = is_signed ? "[-100, 101]" : "[0, 201]";
  const auto weight = [&](const char* name, int64_t columns) {
    return str(name, ": {dtype: ", form.weights, ", shape: [", d, ", ", gates, ", ", columns,
               "], init: {integers: ", integers, "}}, ", name, "s: {dtype: f32, shape: ", of_rows,
               ", init: {uniform: [0.001, 0.004]}}, ", name, "z: {dtype: ", form.weights,
               ", shape: ", of_rows, ", init: {integers: ", is_signed ? "[-5, 6]" : "[95, 106]",
               "}}");
  };
  const char* zero = form.zeros ? "z" : nullptr;
  return parse_yaml_graph(
      str("tcc: 1\nname: g\ndims: {S: 20, B: 2}\ninputs: {x: {dtype: f32, shape: [S, B, 6]}",
          form.lengths ? ", lengths: {dtype: i32, shape: [B], range: [0, 20]}" : "",
          form.initial ? str(", h0: ", state, ", c0: ", state) : "", "}\nweights: {",
          weight("w", 6), ", ", weight("r", hidden), "}\nnodes:\n",
          "  - {out: [out, h, c], op: dynamic_quantized_lstm, in: [x, w, r, null, ",
          form.lengths ? "lengths" : "null", form.initial ? ", h0, c0" : ", null, null",
          ", null, ws, ", zero ? "wz" : "null", ", rs, ", zero ? "rz" : "null",
          "], direction: ", direction, "}\noutputs: [out, h, c]\n"),
      "g.yaml", ".");
}

backends::CompileOptions options_of(ir::SizeRange steps) {
  backends::CompileOptions options;
  options.open_dims["S"] = steps;
  options.binaries = false;
  return options;
}

// How many launches of the template's kernels run at these sizes.
int64_t launches_of(const exec::Executable& executable, std::string_view name,
                    const exec::Sizes& sizes) {
  const std::vector<int> choices = exec::choices(executable, sizes);
  int64_t count = 0;
  for (const exec::Step& step : executable.steps)
    if (const auto* launch = std::get_if<exec::KernelLaunch>(&step);
        launch && exec::runs(step, choices) &&
        executable.kernels[static_cast<size_t>(launch->kernel)].template_name == name)
      count += sizes.of(launch->times);
  return count;
}

// The second product of a step multiplies what follows from the first.
TEST(OpenRecurrent, AGruMayResetBeforeItsProduct) {
  if (test::devices_present(test::Devices::software).empty())
    GTEST_SKIP() << "there is no such device";
  const std::string device = test::devices_present(test::Devices::software).front();
  for (const std::string name : {"recurrent", "recurrent_steps"}) {
    const test::OnlyRecurrent only(name);
    for (const auto& [hidden, dtype] : {std::pair{7, "f32"}, {36, "f16"}}) {
      const ir::Graph graph = parse_yaml_graph(
          str("tcc: 1\nname: g\ndims: {S: 20, B: 2}\ninputs: {x: {dtype: ", dtype,
              ", shape: [S, B, 5]}, lengths: {dtype: i32, shape: [B], range: [0, 9]}, h0: {dtype: ",
              dtype, ", shape: [2, B, ", hidden, "]}}\nweights: {w: {dtype: ", dtype,
              ", shape: [2, ", 3 * hidden, ", 5], init: {normal: 0.3}}, r: {dtype: ", dtype,
              ", shape: [2, ", 3 * hidden, ", ", hidden,
              "], init: {normal: 0.15}}, b: {dtype: ", dtype, ", shape: [2, ", 6 * hidden,
              "], init: {normal: 0.3}}}\nnodes:\n  - {out: [out",
              ", h], op: gru, in: [x, w, r, b, lengths, h0], direction: bidirectional}\n",
              "outputs: [out, h]\n"),
          "g.yaml", ".");
      backends::CompileOptions options;
      options.open_dims = {{"S", {.least = 0, .most = 16}}, {"B", {.least = 1, .most = 3}}};
      const test::Sizes sizes[] = {
          {{"S", 0}, {"B", 2}}, {{"S", 1}, {"B", 1}}, {{"S", 16}, {"B", 3}}, {{"S", 7}, {"B", 2}}};
      EXPECT_EQ(test::difference_at(graph, device, options, sizes, {}), "")
          << name << " " << hidden << " " << dtype;
    }
  }
}

// A software device stops long loops: the layer of 256 units is launched once for each step.
TEST(OpenRecurrent, ALayerOf256UnitsRunsOnASoftwareDevice) {
  const std::string device = test::devices_present(test::Devices::software).empty()
                                 ? ""
                                 : test::devices_present(test::Devices::software).front();
  if (device.empty()) GTEST_SKIP() << "there is no such device";
  backends::CompileOptions options;
  options.open_dims = {{"S", {.least = 1, .most = 512}}, {"B", {.least = 1, .most = 8}}};
  const test::Sizes sizes[] = {{{"S", 1}, {"B", 1}}, {{"S", 2}, {"B", 8}}, {{"S", 19}, {"B", 3}}};
  EXPECT_EQ(test::difference_at(layer("lstm", 256), device, options, sizes, {}), "");
  // The last step of the longest sequence is computed, too.
  const auto program = std::make_shared<const runtime::Program>(
      test::open_once(device),
      backends::compile(layer("lstm", 256), test::open_once(device)->target(), options));
  runtime::Context context(program, nullptr, {{"S", 512}, {"B", 1}});
  const ir::Graph bound = layer("lstm", 256).bind({{"S", 512}, {"B", 1}});
  const std::vector<Tensor> outputs = context.run(test::draw_inputs(bound, {}));
  const ir::RefTensor all = ir::to_ref(outputs[0]), last = ir::to_ref(outputs[1]);
  ASSERT_EQ(all.f.size(), 512u * 256u);
  EXPECT_TRUE(std::equal(last.f.begin(), last.f.end(), all.f.end() - 256));
  EXPECT_TRUE(std::ranges::any_of(last.f, [](double h) { return h != 0; }));
}

// Lengths may be of any integers, and beyond the sequence.
TEST(OpenRecurrent, LengthsOfRowsAreOfAnyIntegers) {
  if (test::devices_present(test::Devices::software).empty())
    GTEST_SKIP() << "there is no such device";
  for (const char* dtype : {"u8", "i8", "i64"}) {
    const ir::Graph graph = parse_yaml_graph(
        str("tcc: 1\nname: g\ndims: {S: 20, B: 2}\ninputs: {x: {dtype: f32, shape: [S, B, 12]}, "
            "lengths: {dtype: ",
            dtype,
            ", shape: [B], range: [0, 100]}}\nweights: {r: {dtype: f32, shape: [1, 12, 12], init: "
            "{normal: 0.1}}}\nnodes:\n  - {out: [out, h], op: rnn_steps, in: [x, r, null, "
            "lengths]}\noutputs: [out, h]\n"),
        "g.yaml", ".");
    backends::CompileOptions options;
    options.open_dims = {{"S", {.least = 1, .most = 200}}, {"B", {.least = 1, .most = 8}}};
    const test::Sizes sizes[] = {{{"S", 5}, {"B", 8}}, {{"S", 150}, {"B", 7}}};
    EXPECT_EQ(test::difference_at(graph, test::devices_present(test::Devices::software).front(),
                                  options, sizes, {}),
              "")
        << dtype;
  }
}

TEST(OpenRecurrent, LaunchesAreAsManyAsSteps) {
  const test::OnlyRecurrent only("recurrent_steps");
  for (const std::string target : {"vulkan", "cuda:sm_90a"})
    for (const int64_t least : {0, 1}) {
      const exec::Executable executable =
          backends::compile(layer("lstm", 512), sched::target_by_name(target),
                            options_of({.least = least, .most = 4096}));
      for (const int64_t steps : {1, 2, 77, 4096}) {
        const exec::Sizes sizes = {{{"S", steps}}};
        EXPECT_NO_THROW(exec::check(executable, sizes));
        const int64_t launches = launches_of(executable, "recurrent_steps", sizes);
        // Where there may be no steps, one launch more writes the initial states.
        EXPECT_GE(launches, steps) << target;
        EXPECT_LE(launches, steps + 1 - least) << target;
      }
      EXPECT_LE(executable.steps.size(), 40u) << "launches in a row are one step";
    }
}

// One launch, whose workgroups wait for each other, where all weights stay on the chip.
TEST(OpenRecurrent, LargeLayersAreOneLaunchWithCooperativeLaunches) {
  const exec::Executable executable =
      backends::compile(layer("lstm", 1024, "", "bf16"), sched::target_by_name("cuda:sm_90a"),
                        options_of({.least = 16, .most = 512}));
  for (const int64_t steps : {16, 100, 512})
    EXPECT_EQ(launches_of(executable, "recurrent_grid", {{{"S", steps}}}), 1) << steps;
}

TEST(OpenRecurrent, IsRefusedWithAReason) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  const backends::CompileOptions options = options_of({.least = 1, .most = 64});
  {
    const test::OnlyRecurrent only("recurrent_grid");
    EXPECT_ERROR(backends::compile(layer("gru", 8192), target, options),
                 "gru: has no kernel with the open dim 'S' (the weights of 8192 hidden units and 1 "
                 "direction do not fit the workgroups of cuda:sm_90a): give 'S' a number, and "
                 "compile for each size");
  }
  EXPECT_ERROR(backends::compile(layer("lstm", 32, "", "f64"), target, options),
               "lstm: has no kernel with the open dim 'S' (a state of f64, where f32 is kept)");
  const ir::Graph quantized = quantized_layer(8, "forward", {});
  for (const std::string name : {"recurrent", "recurrent_grid"}) {
    const test::OnlyRecurrent only(name);
    EXPECT_ERROR(backends::compile(quantized, target, options),
                 "dynamic_quantized_lstm: has no kernel with the open dim 'S' (each step quantizes "
                 "h by the range of all of it, ");
  }
}

// Each step's scale follows from the h of all rows and units, whichever workgroups have them.
TEST(OpenRecurrent, QuantizedLayersAgreeWithTheReference) {
  if (test::devices_present(test::Devices::software).empty())
    GTEST_SKIP() << "there is no such device";
  const std::shared_ptr<runtime::Device> device =
      test::open_once(test::devices_present(test::Devices::software).front());
  uint64_t seed = 0;
  test::OneOf cases(4);
  for (const int64_t hidden : {3, 37, 64})
    for (const QuantizedForm& form :
         {QuantizedForm{}, QuantizedForm{.by_row = true, .zeros = true, .weights = "u8"},
          QuantizedForm{.zeros = true, .initial = true, .lengths = true}}) {
      ++seed;
      if (!cases.takes_next()) continue;
      const char* direction = seed % 2 == 0 ? "forward" : "bidirectional";
      const ir::Graph graph = quantized_layer(hidden, direction, form);
      SCOPED_TRACE(ir::print_graph(graph));
      const test::CountedRecurrent configs("recurrent_steps", seed % 3);
      backends::CompileOptions options;
      options.open_dims = {{"S", {.least = seed % 2 ? 1 : 0, .most = 20}},
                           {"B", {.least = 1, .most = 30}}};
      options.configs = &configs;
      runtime::Context context(std::make_shared<const runtime::Program>(
          device, backends::compile(graph, device->target(), options)));
      EXPECT_GT(configs.kernels(), 0);
      for (const auto& [steps, rows] : {std::pair<int64_t, int64_t>{1, 1}, {20, 2}, {5, 30}}) {
        const test::Sizes sizes = {{"S", steps}, {"B", rows}};
        const ir::Graph bound = graph.bind(sizes);
        const std::vector<Tensor> inputs = test::draw_inputs(bound, {.seed = seed});
        std::vector<ir::RefTensor> given;
        for (const Tensor& input : inputs) given.push_back(ir::to_ref(input));
        const auto expected = ir::interpret(bound, given, ir::RefMode::stepwise);
        context.set_dims(sizes);
        for (int run = 0; run < 2; ++run) {
          const std::vector<Tensor> outputs = context.run(inputs);
          for (size_t k = 0; k < outputs.size(); ++k) {
            double most = 0, sum = 0;
            for (int64_t i = 0; i < outputs[k].numel(); ++i) {
              const double off =
                  std::abs(outputs[k].get(i) - expected[k].f[static_cast<size_t>(i)]);
              most = std::max(most, off);
              sum += off;
            }
            // Where rounding decides a tie, an element is another multiple of the scale.
            EXPECT_LE(most, 0.01) << k << " of " << steps << " steps of " << rows << " rows";
            EXPECT_LE(sum, 1e-3 * static_cast<double>(outputs[k].numel())) << k;
          }
        }
      }
    }
}

TEST(OpenRecurrent, QuantizedLayersCompileForCuda) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  for (const char* arch : {"sm_80", "sm_90a"}) {
    const exec::Executable executable = backends::compile(
        quantized_layer(200, "reverse", {.by_row = true, .zeros = true, .lengths = true}),
        sched::target_by_name(str("cuda:", arch)), options_of({.least = 1, .most = 512}));
    int taken = 0;
    for (const exec::KernelBinary& kernel : executable.kernels)
      if (kernel.template_name == "recurrent_steps") {
        ++taken;
        EXPECT_NO_THROW(backends::compile_cuda(test::with_all_names_defined(kernel.source),
                                               kernel.region, arch))
            << kernel.config;
      }
    EXPECT_GT(taken, 0) << arch;
  }
}

// Matrix units do not take their integers.
TEST(OpenRecurrent, QuantizedStepsOf16BitsCompileForCuda) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  const int64_t steps = 5, batch = 2, hidden = 4, gates = 4 * hidden;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    ir::Graph graph;
    std::vector<ir::Value*> values;
    for (const ir::Type& type : std::vector<ir::Type>{{dtype, {steps, batch, gates}},
                                                      {DType::i8, {1, gates, hidden}},
                                                      {dtype, {1, gates}},
                                                      {DType::i32, {batch}},
                                                      {dtype, {1, batch, hidden}},
                                                      {dtype, {1, batch, hidden}},
                                                      {dtype, {1, 3 * hidden}},
                                                      {dtype, {1}},
                                                      {DType::i8, {1}}})
      values.push_back(graph.add_input(str("x", values.size()), type));
    graph.outputs = {ir::Builder(graph).ops("dynamic_quantized_lstm_steps", values,
                                            {{"direction", "reverse"}})[0]};
    graph.output_names = {"out"};
    for (const char* arch : {"sm_80", "sm_90a"})
      EXPECT_NO_THROW(backends::compile(graph, sched::target_by_name(str("cuda:", arch))))
          << arch << " " << name(dtype);
  }
}

// GPUs run these, too: recurrent_gpu_test.cpp.
TEST(OpenRecurrent, CompilesForCuda) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  for (const std::string name : {"recurrent", "recurrent_grid", "recurrent_steps"}) {
    const test::OnlyRecurrent only(name);
    int taken = 0, opened = 0, on_matrix_units = 0;
    for (uint64_t seed = 201; seed < 209; ++seed) {
      const test::RecurrentSizes all =
          name == "recurrent" ? test::RecurrentSizes() : test::RecurrentSizesLarge();
      const test::RecurrentSizes sizes = test::opened(all, seed);
      const test::CountedRecurrent configs(name, seed % 2 == 0 ? 0 : seed);
      backends::CompileOptions options = test::open_options(sizes, seed, 100, 9);
      options.configs = &configs;
      options.binaries = false;
      const char* arch = seed % 4 < 2 ? "sm_90a" : "sm_80";
      exec::Executable executable;
      try {
        executable = backends::compile(test::random_recurrent_of(seed, sizes),
                                       test::indifferent(sched::target_by_name(str("cuda:", arch))),
                                       options);
      } catch (const Error&) { continue; }  // of recurrent_grid
      for (const exec::KernelBinary& kernel : executable.kernels) {
        if (kernel.template_name != name) continue;
        ++taken;
        EXPECT_NO_THROW(backends::compile_cuda(test::with_all_names_defined(kernel.source),
                                               kernel.region, arch))
            << name << " " << seed << " " << kernel.config;
        for (const char* size : {"STEPS", "BATCH", "GROUPS"})
          opened += kernel.source.find(str("#define ", size, " tcc_")) != std::string::npos;
        on_matrix_units += kernel.config.find("matrix=1") != std::string::npos;
      }
    }
    EXPECT_GE(taken, 3) << name;
    EXPECT_GE(opened, taken) << name;
    if (name != "recurrent") { EXPECT_GE(on_matrix_units, 1) << name; }
  }
}

}  // namespace
}  // namespace tcc
