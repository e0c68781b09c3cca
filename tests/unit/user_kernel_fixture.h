// The tests of users' kernels share this: the examples run on a device against their graphs.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autotune/bench.h"
#include "autotune/user_kernel/user_tunable.h"
#include "runtime/program.h"
#include "tests/source_dir.h"

namespace tcc::autotune {

inline UserKernel example(const std::string& name) {
  return load_user_kernel(testing::source_dir() / "examples/kernels" / (name + ".yaml"));
}

inline Tunable tunable(const UserKernel& kernel, const sched::Target& target,
                       const Dims& dims = {}) {
  backends::CompileOptions options;
  options.dims = dims;
  return tunable_of(kernel, target, options);
}

inline sched::Config with(sched::Config config, const Dims& changes) {
  for (const auto& [name, value] : changes) config.set(name, value);
  return config;
}

// The kernel's first output, for the inputs of `job`.
inline Tensor run(const std::shared_ptr<runtime::Device>& device, const BoundKernel& kernel,
                  const sched::Config& config, const BenchJob& job) {
  auto program = std::make_shared<const runtime::Program>(
      device, executable_of(kernel, {config, sched::Tier::exact}, {}));
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < kernel.inputs().size(); ++i) {
    const std::vector<std::byte> data = input_data(job, i);
    Tensor& input =
        inputs.emplace_back(kernel.inputs()[i].declared->dtype, kernel.inputs()[i].shape);
    std::memcpy(input.data(), data.data(), data.size());
  }
  return runtime::Context(program).run(inputs).front();
}

// Against the graph's samples, relative to their root mean square.
inline void expect_close(const Tensor& got, const std::vector<ReferenceSample>& expected,
                         const std::string& what) {
  ASSERT_FALSE(expected.empty());
  double squares = 0;
  for (const ReferenceSample& sample : expected) squares += sample.value * sample.value;
  const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
  for (const ReferenceSample& sample : expected)
    ASSERT_NEAR(got.get(sample.element), sample.value, 2e-5 * rms) << what << " " << sample.element;
}

// Both with sizes that no tile divides; `changes` are made to the default config, one after the
// other.
inline void expect_matmul(const std::shared_ptr<runtime::Device>& device,
                          const std::vector<Dims>& changes) {
  const Dims dims = {{"M", 70}, {"N", 65}, {"K", 33}};
  const UserKernel kernel = example("matmul");
  const BoundKernel bound(kernel, dims, device->target());
  const BenchJob job = tunable(kernel, device->target(), dims).job(1);
  for (const Dims& change : changes) {
    const sched::Config config = with(kernel.default_config, change);
    expect_close(run(device, bound, config, job), job.reference, config.to_string());
  }
}

inline void expect_nbody(const std::shared_ptr<runtime::Device>& device,
                         const std::vector<Dims>& changes) {
  const Dims dims = {{"N", 200}};
  const UserKernel direct = example("nbody_direct"), kernel = example("nbody");
  const BenchJob job = tunable(direct, device->target(), dims).job(1);
  const BoundKernel simple(direct, dims, device->target());
  expect_close(run(device, simple, direct.default_config, job), job.reference, "nbody_direct");
  const BoundKernel bound(kernel, dims, device->target());
  for (const Dims& change : changes) {
    const sched::Config config = with(kernel.default_config, change);
    expect_close(run(device, bound, config, job), job.reference, config.to_string());
  }
}

}  // namespace tcc::autotune
