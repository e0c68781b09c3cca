// Runs a package with libtcc-runtime alone, by its public header: run_package FILE DEVICE [KEY]
// fills inputs with a pattern and prints the outputs' first elements, a line each; on stderr the
// seconds from Package::load on an open device to the first result.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tcc/package.hpp"

namespace {

template <class T>
void fill(tcc::HostTensor& tensor, double scale) {
  std::int64_t i = 0;
  for (T& element : tensor.as<T>()) element = static_cast<T>(scale * static_cast<double>(i++ % 5));
}

void fill(tcc::HostTensor& tensor) {
  if (tensor.dtype == "f32") fill<float>(tensor, 0.25);
  if (tensor.dtype == "i32") fill<std::int32_t>(tensor, 1);
  if (tensor.dtype == "i64") fill<std::int64_t>(tensor, 1);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 3 && count != 4) return 2;
  const tcc::DeviceBuffer open(arguments[2], 1);  // keeps the device open

  const auto start = std::chrono::steady_clock::now();
  tcc::PackageLoadOptions options;
  if (count == 4) options.public_key = arguments[3];
  const tcc::Package package = tcc::Package::load(arguments[1], options);
  const tcc::CompiledGraph compiled = package.open(arguments[2]);
  const double opened = seconds_since(start);
  std::vector<tcc::HostTensor> inputs;
  for (const tcc::TensorSpec& spec : compiled.inputs()) fill(inputs.emplace_back(spec));
  const auto run_begin = std::chrono::steady_clock::now();
  tcc::Context context(compiled);
  const std::vector<tcc::HostTensor> outputs = context.run(inputs);
  const double run = seconds_since(run_begin);

  for (const tcc::HostTensor& output : outputs) {
    std::printf("%s", output.dtype.c_str());
    if (output.dtype == "f32") {
      const auto elements = output.as<float>();
      for (std::size_t i = 0; i < std::min<std::size_t>(elements.size(), 8); ++i)
        std::printf(" %.6g", elements[i]);
    }
    std::printf("\n");
  }
  std::fprintf(stderr,
               "%s: the part for %s; load and open %.4f s, first run %.4f s, weights %lld\n",
               package.name().c_str(), package.target_for(arguments[2]).c_str(), opened, run,
               static_cast<long long>(compiled.constant_bytes()));
  return 0;
} catch (const tcc::Error& error) {
  std::fprintf(stderr, "run_package: %s\n", error.what());
  return static_cast<int>(error.kind());
}
