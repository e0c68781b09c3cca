#include "tests/device/conformance.h"

#include <algorithm>
#include <map>

#include "backends/compile/code.h"
#include "runtime/vulkan/validation.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::runtime {
namespace {

// The devices that tests have opened, closed before the process's exit handlers run.
class OpenDevices : public ::testing::Environment {
 public:
  void TearDown() override { devices.clear(); }
  std::map<std::string, std::shared_ptr<Device>> devices;
};

OpenDevices& open_devices() {
  static auto* const environment =
      static_cast<OpenDevices*>(::testing::AddGlobalTestEnvironment(new OpenDevices));
  return *environment;
}

// Registered before the tests start.
const bool registered = (open_devices(), true);

constexpr int kWorkgroup = 64;
// Counts of dependent work per thread. llvmpipe allows few loop iterations.
constexpr int kLongText = 1500;
constexpr int kSlowSteps = 60'000, kSlowStepsOfGpu = 60'000'000;

int num_arguments(TestKernel kernel) {
  switch (kernel) {
    case TestKernel::add: return 3;
    case TestKernel::increment: return 1;
    case TestKernel::sum20: return 21;
    case TestKernel::slow: return 1;
    case TestKernel::long_text: return 1;
  }
  return 0;
}

// The statement for element i; p0, p1, ... are the buffers. The same text in both languages.
std::string body(TestKernel kernel, bool is_cpu) {
  switch (kernel) {
    case TestKernel::add: return "p2[i] = p0[i] + p1[i];";
    case TestKernel::increment: return "p0[i] = p0[i] + 1.0f;";
    case TestKernel::sum20: {
      std::string sum = "p0[i] = p1[i]";
      for (int k = 2; k <= 20; ++k) sum += str(" + p", k, "[i]");
      return sum + ";";
    }
    case TestKernel::slow:
      return str("unsigned_t x = i + 1u; for (int k = 0; k < ",
                 is_cpu ? kSlowSteps : kSlowStepsOfGpu,
                 "; ++k) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; } p0[i] = float(x);");
    case TestKernel::long_text: {
      std::string text = "float y = p0[i]; if (y > 1e30f) { ";
      for (int k = 0; k < kLongText; ++k)
        text += str("y = sqrt(y * y + ", k, ".5f) + p0[(i + unsigned_t(y)) & 15u]; ");
      return text + "p0[i] = y; }";
    }
  }
  return "";
}

std::string cuda_source(TestKernel kernel, int64_t n, bool is_cpu) {
  std::string parameters;
  for (int i = 0; i < num_arguments(kernel); ++i) parameters += str(i ? ", " : "", "float* p", i);
  return str("typedef unsigned int unsigned_t;\nextern \"C\" __global__ void kernel_main(",
             parameters,
             ") {\n  unsigned_t i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= ", n,
             ") return;\n  ", body(kernel, is_cpu), "\n}\n");
}

std::string glsl_source(TestKernel kernel, int64_t n, bool is_cpu) {
  std::string members, names;
  for (int i = 0; i < num_arguments(kernel); ++i) {
    members += str("Floats a", i, "; ");
    names += str("#define p", i, " arguments.a", i, ".x\n");
  }
  const bool table = kernel == TestKernel::sum20;
  const std::string passed =
      table ? str("layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer "
                  "Table { ",
                  members, "};\nlayout(push_constant, scalar) uniform Push { Table arguments; };\n")
            : str("layout(push_constant, scalar) uniform Push { ", members, "} arguments;\n");
  return str(
      "#version 450\n#extension GL_EXT_buffer_reference : require\n#extension "
      "GL_EXT_scalar_block_layout : require\n"
      "#define unsigned_t uint\nlayout(local_size_x = ",
      kWorkgroup, ") in;\n",
      "layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Floats { float x[]; "
      "};\n",
      passed, names, "void main() {\n  uint i = gl_GlobalInvocationID.x;\n  if (i >= ", n,
      ") return;\n  ", body(kernel, is_cpu), "\n}\n");
}

// The tests' kernels in the language of a device, by the name of its API.
struct TestLanguage {
  const char* entry;
  std::string (*source)(TestKernel kernel, int64_t n, bool is_cpu);
};
const std::map<std::string, TestLanguage, std::less<>> kLanguages = {
    {"cuda", {"kernel_main", cuda_source}},
    {"null", {"kernel_main", cuda_source}},
    {"vulkan", {"main", glsl_source}}};

}  // namespace

std::vector<std::string> devices_present() {
  std::vector<std::string> names = {"null"};
  for (const DeviceEntry& entry : list_devices().devices) names.push_back(entry.name);
  return names;
}

std::shared_ptr<Device> test_device(const std::string& name) {
  auto& device = open_devices().devices[name];
  if (!device) device = open_device(name);
  return device;
}

exec::StandaloneKernel compile_test_kernel(const Device& device, TestKernel kernel, int64_t n) {
  const exec::Target& target = device.target();
  exec::StandaloneKernel binary;
  binary.num_arguments = num_arguments(kernel);
  binary.workgroup = kWorkgroup;
  binary.grid = {ceil_div(n, kWorkgroup), 1, 1};
  binary.argument_table = target.api == exec::Api::vulkan && kernel == TestKernel::sum20;
  const auto language = kLanguages.find(name(target.api));
  if (language == kLanguages.end())
    fail_input("tests/device/conformance.cpp: kLanguages has no kernels for ", name(target.api));
  binary.entry = language->second.entry;
  binary.source = language->second.source(kernel, n, target.is_cpu);
  binary.code = backends::compile_source(binary.source, "test_kernel", target, nullptr, true);
  return binary;
}

void DeviceTest::SetUp() {
  messages_before_ = vulkan::validation_message_count();
  device = test_device(GetParam());
  if (const std::string why = backends::backend_for(device->target().api).compiler_missing();
      !why.empty())
    GTEST_SKIP() << why;
  stream = device->create_stream();
}

void DeviceTest::TearDown() {
  stream.reset();
  EXPECT_EQ(vulkan::validation_message_count(), messages_before_);
}

std::unique_ptr<Buffer> DeviceTest::upload(const std::vector<float>& values) {
  auto buffer = device->allocate(static_cast<int64_t>(values.size() * sizeof(float)));
  stream->copy_to_device(*buffer, 0, std::as_bytes(std::span(values)));
  return buffer;
}

std::vector<float> DeviceTest::download(const Buffer& buffer) {
  std::vector<float> values(static_cast<size_t>(buffer.bytes()) / sizeof(float));
  stream->copy_to_host(std::as_writable_bytes(std::span(values)), buffer, 0);
  return values;
}

std::string device_test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

}  // namespace tcc::runtime
