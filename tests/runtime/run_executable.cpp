// Runs a serialised executable with libtcc-runtime alone: run_executable FILE DEVICE [NAME=SIZE...]
// fills every input with 0, 1, 2, ... and prints the outputs' elements, a line each.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include "executable/serialize.h"
#include "runtime/program.h"

namespace {

void run(const char* file, const char* device, const tcc::exec::Dims& dims) {
  using namespace tcc;
  const auto program = std::make_shared<const runtime::Program>(runtime::open_device(device),
                                                                exec::load_executable(file));
  const exec::Executable& executable = program->executable();
  runtime::Context context(program, nullptr, dims);
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

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  try {
    tcc::exec::Dims dims;
    for (int i = 3; i < count; ++i) {
      const std::string_view text = arguments[i];
      const size_t equals = std::min(text.find('='), text.size());
      const std::string_view value = text.substr(std::min(equals + 1, text.size()));
      std::from_chars(value.data(), value.data() + value.size(),
                      dims[std::string(text.substr(0, equals))]);
    }
    run(arguments[1], arguments[2], dims);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
