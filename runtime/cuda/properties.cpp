#include "runtime/cuda/properties.h"

#include <fstream>
#include <vector>

#include "executable/cuda_targets.h"
#include "executable/quirks.h"
#include "runtime/device_checks.h"
#include "support/error.h"

namespace tcc::runtime::cuda {
namespace {

class Reader {
 public:
  Reader(const DriverApi& api, CUdevice device) : api_(api), device_(device) {}

  void check(CUresult result, const char* call) const {
    if (result != CUDA_SUCCESS) fail_device("cuda: ", call, ": ", api_.describe(result));
  }
  int attribute(CUdevice_attribute attribute) const {
    int value = 0;
    check(api_.cuDeviceGetAttribute(&value, attribute, device_), "cuDeviceGetAttribute");
    return value;
  }
  // 0 where the driver does not tell any more.
  int attribute_or_zero(CUdevice_attribute attribute) const {
    int value = 0;
    return api_.cuDeviceGetAttribute(&value, attribute, device_) == CUDA_SUCCESS ? value : 0;
  }
  std::string device_name() const {
    char name[256] = {};
    check(api_.cuDeviceGetName(name, sizeof name, device_), "cuDeviceGetName");
    return name;
  }
  std::string pci_address() const {
    char address[32] = {};
    check(api_.cuDeviceGetPCIBusId(address, sizeof address, device_), "cuDeviceGetPCIBusId");
    return address;
  }
  int64_t memory_bytes() const {
    size_t bytes = 0;
    check(api_.cuDeviceTotalMem_v2(&bytes, device_), "cuDeviceTotalMem");
    return static_cast<int64_t>(bytes);
  }
  int cuda_version() const {
    int version = 0;
    check(api_.cuDriverGetVersion(&version), "cuDriverGetVersion");
    return version;
  }

 private:
  const DriverApi& api_;
  CUdevice device_;
};

// "580.95.05, CUDA 13.0": the driver API knows the latter alone, the kernel module's version is in
// sysfs.
std::string driver_text(const Reader& reader) {
  const int version = reader.cuda_version();  // 13000
  const std::string cuda = str("CUDA ", version / 1000, ".", version % 1000 / 10);
  std::ifstream file("/sys/module/nvidia/version");
  std::string module;
  return file >> module ? str(module, ", ", cuda) : cuda;
}

struct Capability {
  int major = 0, minor = 0;
};

std::string arch_of(Capability capability) {
  // From 9.0 on, some instructions exist for exactly one architecture, whose name ends in "a".
  return str("sm_", capability.major, capability.minor, capability.major >= 9 ? "a" : "");
}

// A copy reaches this share of what the pins could move.
constexpr double kSustained = 0.85;

double bandwidth_of(const Reader& reader, Capability capability) {
  const double clock = 1e3 * reader.attribute_or_zero(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  const double bytes = reader.attribute_or_zero(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8.0;
  if (clock > 0 && bytes > 0) return 2 * clock * bytes * kSustained;  // two transfers per clock
  // A prior: H200, A100, a GeForce.
  if (capability.major >= 9) return 4.0e12;
  return capability.major == 8 && capability.minor == 0 ? 1.7e12 : 0.6e12;
}

double flops_of(const Reader& reader, const exec::Target& target) {
  const double clock = 1e3 * reader.attribute_or_zero(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  constexpr double kUsualClock = 1.7e9;
  return 2.0 * target.compute_units * target.fma_lanes * (clock > 0 ? clock : kUsualClock);
}

// CUDA 12.3: captured launches may overlap, too.
constexpr int kOverlapsInGraphs = 12030;

// Operations on 16-bit operands in a cycle of one unit, dense.
double matrix_flops_of(Capability capability) {
  if (capability.major == 9) return 4096;
  if (capability.major == 8 && capability.minor == 0) return 2048;
  return capability.major >= 8 ? 1024 : 0;
}

}  // namespace

std::string Properties::description() const {
  return str(target.device, ", ", target.arch, ", ", target.compute_units, " SMs, ",
             bytes_text(memory_bytes));
}

Properties read_properties(const DriverApi& api, CUdevice device) {
  const Reader reader(api, device);
  const Capability capability = {reader.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                 reader.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
  Properties properties;
  properties.memory_bytes = reader.memory_bytes();
  properties.pci_address = reader.pci_address();

  exec::Target& target = properties.target;
  target.api = exec::Api::cuda;
  target.vendor = "nvidia";
  target.device = reader.device_name();
  target.arch = arch_of(capability);
  target.driver = driver_text(reader);
  target.max_workgroup_size = reader.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  target.max_grid = {reader.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                     reader.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                     reader.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)};
  target.shared_bytes = reader.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  target.max_buffer_bytes = properties.memory_bytes;
  target.compute_units = reader.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  target.registers_per_unit =
      reader.attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  target.max_threads_per_unit =
      reader.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  target.l2_bytes = reader.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  target.bandwidth = bandwidth_of(reader, capability);
  const int architecture = capability.major * 10 + capability.minor;
  exec::cuda_unit_facts(target, architecture);
  target.flops_f32 = flops_of(reader, target);
  target.flops_matrix = target.flops_f32 / (2 * target.fma_lanes) * matrix_flops_of(capability);
  target.unified_memory = reader.attribute_or_zero(CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
  target.matrix_units = exec::allowed_matrix_units(exec::cuda_matrix_units(architecture, true));
  target.overlapping_launches = exec::cuda_overlapping_launches(architecture) &&
                                api.cuLaunchKernelEx && reader.cuda_version() >= kOverlapsInGraphs;
  target.box_copies = exec::cuda_box_copies(architecture, true);
  target.max_cluster = exec::cuda_max_cluster(architecture);
  target.cooperative_launches =
      reader.attribute_or_zero(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0;
  exec::apply_quirks(target);
  return properties;
}

}  // namespace tcc::runtime::cuda
