#include "runtime/kernel_report.h"

#include <algorithm>

namespace tcc::runtime {
namespace {

struct Statistic {
  std::string_view name;
  int64_t KernelReport::*value;
};

// The names of Mesa's and NVIDIA's drivers.
constexpr Statistic kStatistics[] = {
    {"VGPRs", &KernelReport::registers},
    {"Register Count", &KernelReport::registers},
    {"Spilled VGPRs", &KernelReport::spilled},
    {"Spilled SGPRs", &KernelReport::spilled},
    {"Spill count", &KernelReport::spilled},
    {"LDS size", &KernelReport::shared_bytes},
    {"Workgroup Memory Size", &KernelReport::shared_bytes},
    {"Subgroups per SIMD", &KernelReport::subgroups},
    {"Code size", &KernelReport::code_bytes},
    {"Binary Size", &KernelReport::code_bytes},
    {"Instructions", &KernelReport::instructions},
    {"Instruction Count", &KernelReport::instructions},
    {"Latency", &KernelReport::latency},
    {"Inverse Throughput", &KernelReport::throughput},
};

int64_t sum_of(int64_t a, int64_t b) { return a < 0 ? b : b < 0 ? a : a + b; }

}  // namespace

bool enter_statistic(KernelReport& report, std::string_view name, int64_t value) {
  const auto found = std::ranges::find(kStatistics, name, &Statistic::name);
  if (found == std::end(kStatistics) || value < 0) return false;
  int64_t& into = report.*(found->value);
  into = sum_of(into, value);
  return true;
}

KernelReport joined(const KernelReport& a, const KernelReport& b) {
  KernelReport both;
  both.registers = std::max(a.registers, b.registers);
  both.spilled = sum_of(a.spilled, b.spilled);
  both.shared_bytes = std::max(a.shared_bytes, b.shared_bytes);
  both.subgroups = a.subgroups < 0   ? b.subgroups
                   : b.subgroups < 0 ? a.subgroups
                                     : std::min(a.subgroups, b.subgroups);
  both.code_bytes = sum_of(a.code_bytes, b.code_bytes);
  both.instructions = sum_of(a.instructions, b.instructions);
  both.latency = sum_of(a.latency, b.latency);
  both.throughput = sum_of(a.throughput, b.throughput);
  return both;
}

std::array<std::pair<std::string_view, int64_t>, 8> named_values(const KernelReport& report) {
  return {{{"registers", report.registers},
           {"spilled", report.spilled},
           {"shared_bytes", report.shared_bytes},
           {"subgroups", report.subgroups},
           {"code_bytes", report.code_bytes},
           {"instructions", report.instructions},
           {"latency", report.latency},
           {"throughput", report.throughput}}};
}

}  // namespace tcc::runtime
