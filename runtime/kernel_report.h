// A driver's compiler says this of a kernel that it compiled.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tcc::runtime {

// -1: the driver does not tell.
struct KernelReport {
  int64_t registers = -1;     // of one thread
  int64_t spilled = -1;       // registers that are kept in memory
  int64_t shared_bytes = -1;  // of a workgroup
  int64_t subgroups = -1;     // that a unit's scheduler has room for at once (occupancy)
  int64_t code_bytes = -1;
  int64_t instructions = -1;
  // The compiler's estimates of cycles of one subgroup: from its begin to its end, and those in
  // which it keeps the unit busy. It takes a few iterations for every loop.
  int64_t latency = -1, throughput = -1;
};

// Enters a statistic by the name that a driver gives it; returns false for one that nobody needs.
bool enter_statistic(KernelReport& report, std::string_view name, int64_t value);
// For kernels that run one after another: the most registers and fewest subgroups, the sum of what
// is spilled, of code and of cycles.
KernelReport joined(const KernelReport& a, const KernelReport& b);
// "registers" and its value, ...
std::array<std::pair<std::string_view, int64_t>, 8> named_values(const KernelReport& report);

}  // namespace tcc::runtime
