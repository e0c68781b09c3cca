#include "runtime/vulkan/priors.h"

#include <algorithm>
#include <string_view>
#include <thread>

#include "executable/vulkan_targets.h"

namespace tcc::runtime::vulkan {
namespace {

struct Prior {
  std::string_view name;  // part of the device's name
  int compute_units;
  int registers_per_unit, max_threads_per_unit;
  int64_t l2_bytes;
  double bandwidth, flops_f32;
  double flops_matrix;  // of 16-bit operands with sums in f32, as cooperative matrices reach it
};

constexpr int64_t kMiB = 1 << 20;

// The numbers are from the makers' data sheets; the first match counts.
constexpr Prior kKnown[] = {
    {"H200", 132, 65536, 2048, 50 * kMiB, 4.0e12, 60e12, 640e12},
    {"H100", 132, 65536, 2048, 50 * kMiB, 3.0e12, 60e12, 640e12},
    {"A100", 108, 65536, 2048, 40 * kMiB, 1.8e12, 19.5e12, 312e12},
    {"L40", 142, 65536, 1536, 96 * kMiB, 0.86e12, 90e12, 181e12},
    {"L4", 58, 65536, 1536, 48 * kMiB, 0.3e12, 30e12, 60e12},
    {"RTX 5090", 170, 65536, 1536, 96 * kMiB, 1.8e12, 105e12, 209e12},
    {"RTX 4090", 128, 65536, 1536, 72 * kMiB, 1.0e12, 82e12, 165e12},
    {"RTX 3090", 82, 65536, 1536, 6 * kMiB, 0.93e12, 35e12, 71e12},
    {"MI300X", 304, 131072, 2048, 32 * kMiB, 5.3e12, 160e12, 1300e12},
    {"MI210", 104, 131072, 2048, 8 * kMiB, 1.6e12, 22.6e12, 181e12},
    {"7900 XTX", 96, 98304, 1024, 6 * kMiB, 0.96e12, 30e12, 123e12},
    {"A770", 32, 131072, 2048, 16 * kMiB, 0.56e12, 19.7e12, 138e12},
};

constexpr Prior kDiscrete = {"", 48, 65536, 1536, 8 * kMiB, 400e9, 15e12, 60e12};
constexpr Prior kIntegrated = {"", 12, 65536, 1024, 2 * kMiB, 60e9, 2e12, 4e12};

// A core runs one workgroup at a time; its registers hold 16 vectors of a subgroup's width.
Prior cpu_prior(int subgroup_size) {
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  const double flops = cores * 2.0 * subgroup_size * 1e9;
  return {"", cores, 16 * subgroup_size * 4, 1024, 4 * kMiB, 20e9, flops, flops};
}

Prior find_prior(const exec::Target& target, DeviceClass device_class) {
  for (const Prior& prior : kKnown)
    if (target.device.find(prior.name) != std::string::npos) return prior;
  if (device_class == DeviceClass::cpu) return cpu_prior(target.subgroup_size);
  return device_class == DeviceClass::discrete ? kDiscrete : kIntegrated;
}

}  // namespace

void guess_throughput(exec::Target& target, DeviceClass device_class, int compute_units) {
  const Prior prior = find_prior(target, device_class);
  // The numbers are scaled to the driver's number of compute units, for smaller and larger chips of
  // one family.
  const double scale =
      compute_units > 0 ? static_cast<double>(compute_units) / prior.compute_units : 1.0;
  target.compute_units = compute_units > 0 ? compute_units : prior.compute_units;
  target.registers_per_unit = prior.registers_per_unit;
  target.max_threads_per_unit = prior.max_threads_per_unit;
  target.l2_bytes = prior.l2_bytes;
  target.bandwidth = prior.bandwidth * scale;
  target.flops_f32 = prior.flops_f32 * scale;
  if (!target.matrix_units.empty()) {
    target.flops_matrix = prior.flops_matrix * scale;
    target.matrix_row_bytes = exec::kVulkanMatrixRowBytes;
  }
}

}  // namespace tcc::runtime::vulkan
