// libFuzzer target for the reader of packages: whatever it takes is within its bytes, gives the
// same bytes when it is written again, and runs on the null device, whose memory is the host's,
// without a copy or a fill beyond a buffer. Weights in files are those of tests/data/packages: it
// is started in the folder of the sources.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "executable/package.h"
#include "executable/spirv_facts.h"
#include "executable/spirv_words.h"
#include "ir/tensor.h"
#include "runtime/device.h"
#include "runtime/program.h"
#include "support/content_hash.h"
#include "support/error.h"

namespace {

using namespace tcc;  // NOLINT: a program

constexpr int64_t kMostBytes = 1 << 20;  // of a buffer that is really made

// Kernels are asked this before a driver gets them.
void read_kernels(const exec::Executable& executable) {
  if (executable.target.api != exec::Api::vulkan) return;
  for (const exec::KernelBinary& kernel : executable.kernels)
    exec::lacking_feature(exec::spirv_facts(exec::spirv_words(kernel.code)), {}, executable.target);
}

// The dim that is the state's length, or nullptr.
const exec::OpenDim* length_of(const exec::Executable& executable, const exec::StateInfo& state) {
  return state.grows() ? &executable.dims[static_cast<size_t>(state.dim)] : nullptr;
}

// The least sizes; states that grow have their first lengths.
exec::Dims least_dims(const exec::Executable& executable) {
  exec::Dims dims;
  for (const exec::OpenDim& dim : executable.dims) dims[dim.name] = dim.range.least;
  for (const exec::StateInfo& state : executable.states)
    if (const exec::OpenDim* dim = length_of(executable, state)) dims.erase(dim->name);
  return dims;
}

void run(exec::Executable executable) {
  static const std::shared_ptr<runtime::Device> device = runtime::open_device("null");
  exec::each_executable(executable, [](exec::Executable& one) { one.target = device->target(); });
  const auto program = std::make_shared<const runtime::Program>(device, std::move(executable));
  const auto bounded = [](int64_t bytes) {
    if (bytes > kMostBytes) fail_device("more than is made here");
  };
  const exec::Executable& whole = program->executable();
  runtime::Context context(program, nullptr, least_dims(whole), [&](int64_t bytes) {
    bounded(bytes);
    return runtime::StateMemory{device->allocate(bytes), 0};
  });
  for (int round = 0; round < 2; ++round) {  // a state may be longer in the second one
    // Buffers have room for the longest states.
    exec::Sizes sizes = context.sizes();
    for (const exec::StateInfo& state : whole.states)
      if (const exec::OpenDim* dim = length_of(whole, state))
        sizes.values[dim->symbol()] = dim->range.most / dim->range.multiple;
    for (const auto* list : {&whole.inputs, &whole.outputs})
      for (const int number : *list)
        bounded(sizes.of(whole.buffers[static_cast<size_t>(number)].bytes));
    std::vector<Tensor> inputs;
    for (const int number : whole.inputs) {
      const exec::BufferInfo& input = whole.buffers[static_cast<size_t>(number)];
      bounded(context.sizes().of(input.bytes));
      inputs.emplace_back(input.dtype, context.sizes().of(input.shape));
    }
    for (const int number : whole.outputs)
      bounded(context.sizes().of(whole.buffers[static_cast<size_t>(number)].bytes));
    context.run(inputs);
  }
}

// Errors are the user's or the device's, and a line where the file is wrong.
template <class Use>
void expect_errors(bool of_device, const Use& use) {
  try {
    use();
  } catch (const Error& error) {
    const std::string_view what = error.what();
    const bool may_be_device = of_device && error.kind() == ErrorKind::device;
    if (error.kind() == ErrorKind::bad_input && (of_device || what.find('\n') == what.npos)) return;
    if (may_be_device) return;
    std::fprintf(stderr, "error of kind %d: %s\n", static_cast<int>(error.kind()), error.what());
    std::abort();
  }
}

void read_all(const std::vector<std::byte>& bytes) {
  expect_errors(false, [&] {
    const exec::Package package(nullptr, bytes, "fuzzed", "tests/data/packages");
    expect_errors(false, [&] { package.verify(); });
    exec::PackageContents again;
    again.name = package.name();
    for (size_t i = 0; i < package.parts().size(); ++i) {
      exec::Executable part = package.executable(i);
      for (size_t k = 0; k < part.constants.size(); ++k)
        if (std::ssize(part.store->load(k).bytes) != part.constants[k].bytes) std::abort();
      expect_errors(true, [&] { exec::each_executable(part, read_kernels); });
      expect_errors(true, [&] { run(part); });
      again.parts.push_back(std::move(part));
    }
    exec::write_package(again, [](std::span<const std::byte>) {});
  });
}

// A fuzzer does not find checksums: the manifest and the executables get those of what they are.
void seal(std::vector<std::byte>& bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t end = text.find("\nend: ");
  if (end == text.npos || text.size() - end < 39) return;
  size_t section = (end + 39 + 63) / 64 * 64;
  for (size_t at = 0; (at = text.find("\npart: ", at)) < end; ++at) {
    const size_t line_end = text.find('\n', at + 1);
    const size_t bar = text.find(" | ", at);
    if (bar == text.npos || line_end == text.npos || line_end < 32 || bar + 38 > line_end) break;
    const size_t size = std::strtoull(text.c_str() + bar + 3, nullptr, 10);
    if (section > text.size() || size > text.size() - section) break;
    const Hash128 key = content_hash(std::span(bytes).subspan(section, size));
    text.replace(line_end - 32, 32, key.hex());
    section = (section + size + 63) / 64 * 64;
  }
  const std::string manifest = text.substr(0, end + 1);
  text.replace(end + 6, 32, content_hash(std::as_bytes(std::span(manifest))).hex());
  const auto sealed = std::as_bytes(std::span(text));
  bytes.assign(sealed.begin(), sealed.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(begin, begin + size);
  read_all(bytes);
  seal(bytes);
  read_all(bytes);
  return 0;
}
