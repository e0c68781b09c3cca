// Runs a serialised executable, or of a package the part for the device, with libtcc-runtime alone:
//   run_executable FILE DEVICE [NAME=SIZE[,NAME=SIZE...]...]
// Each list of sizes is a run, one after the other in one context; none: one run. Fills every input
// with 0, 1, 2, ... and prints the outputs' elements, a line each.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "executable/package.h"
#include "executable/serialize.h"
#include "runtime/package.h"
#include "runtime/program.h"

namespace {

using namespace tcc;

exec::Executable load(const std::filesystem::path& file, const runtime::Device& device) {
  if (!exec::is_package(file)) return exec::load_executable(file);
  return runtime::choose_part(exec::Package::load(file), device).executable;
}

void run_once(runtime::Context& context, const exec::Executable& executable) {
  std::vector<Tensor> inputs;
  for (const int number : executable.inputs) {
    const exec::BufferInfo& buffer = executable.buffers[static_cast<size_t>(number)];
    Tensor& input = inputs.emplace_back(buffer.dtype, context.sizes().of(buffer.shape));
    for (int64_t i = 0; i < input.numel(); ++i) input.set(i, static_cast<double>(i));
  }
  for (const Tensor& output : context.run(inputs)) {
    for (int64_t i = 0; i < output.numel(); ++i) std::printf("%.9g ", output.get(i));
    std::printf("\n");
  }
}

exec::Dims parse_dims(std::string_view text) {
  exec::Dims dims;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const size_t equals = std::min(item.find('='), item.size());
    const std::string_view value = item.substr(std::min(equals + 1, item.size()));
    std::from_chars(value.data(), value.data() + value.size(),
                    dims[std::string(item.substr(0, equals))]);
  }
  return dims;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  try {
    const std::shared_ptr<runtime::Device> device = runtime::open_device(arguments[2]);
    const auto program =
        std::make_shared<const runtime::Program>(device, load(arguments[1], *device));
    runtime::Context context(program, nullptr, parse_dims(count > 3 ? arguments[3] : ""));
    run_once(context, program->executable());
    for (int i = 4; i < count; ++i) {
      context.set_dims(parse_dims(arguments[i]));
      run_once(context, program->executable());
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
