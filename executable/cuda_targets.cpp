#include "executable/cuda_targets.h"

#include <array>
#include <charconv>
#include <system_error>

#include "executable/fit.h"
#include "support/error.h"

namespace tcc::exec {
namespace {

struct Architecture {
  int number;  // 10 x compute capability
  // One GPU has so many multiprocessors and threads, and reaches so much.
  int units, threads_per_unit;
  int l2_mib;
  int shared_kib;                    // of a workgroup, at most
  double bandwidth, flops_f32;       // bytes/s, sustained; FLOP/s
  double flops_matrix;               // FLOP/s on 16-bit operands, dense, summed in f32
  std::array<int, 3> clusters = {};  // Target::clusters
};

constexpr Architecture kArchitectures[] = {
    {70, 80, 2048, 6, 96, 0.77e12, 15.7e12, 0},                     // V100
    {72, 8, 2048, 1, 96, 0.11e12, 1.4e12, 0},                       // Xavier
    {75, 40, 1024, 4, 64, 0.27e12, 8.1e12, 0},                      // T4
    {80, 108, 2048, 40, 163, 2.0e12, 19.5e12, 312e12},              // A100-SXM4-80GB
    {86, 82, 1536, 6, 99, 0.80e12, 35.6e12, 71e12},                 // GeForce RTX 3090
    {87, 16, 1536, 4, 163, 0.17e12, 5.3e12, 21e12},                 // Orin
    {89, 128, 1536, 72, 99, 0.86e12, 82.6e12, 165e12},              // GeForce RTX 4090
    {90, 132, 2048, 50, 227, 4.0e12, 60e12, 989e12, {66, 30, 15}},  // H200-SXM
    {100, 148, 2048, 126, 227, 6.8e12, 75e12, 2250e12},             // B200
    {103, 148, 2048, 126, 227, 6.8e12, 75e12, 2250e12},             // B300
    {120, 170, 1536, 96, 99, 1.5e12, 105e12, 209e12},               // GeForce RTX 5090
    {121, 48, 1536, 24, 99, 0.23e12, 31e12, 62e12},                 // GB10
};

// From 9.0 on, some instructions exist for exactly one architecture, whose name ends in "a".
bool has_own_instructions(const Architecture& architecture) { return architecture.number >= 90; }

Target target_of(const Architecture& architecture, bool own) {
  Target target;
  target.api = Api::cuda;
  target.vendor = "nvidia";
  target.arch = str("sm_", architecture.number, own ? "a" : "");
  target.shared_bytes = int64_t{architecture.shared_kib} << 10;
  target.compute_units = architecture.units;
  cuda_unit_facts(target, architecture.number);
  target.clusters = architecture.clusters;
  target.max_threads_per_unit = architecture.threads_per_unit;
  target.l2_bytes = int64_t{architecture.l2_mib} << 20;
  target.bandwidth = architecture.bandwidth;
  target.flops_f32 = architecture.flops_f32;
  target.flops_matrix = architecture.flops_matrix;
  target.matrix_units = cuda_matrix_units(architecture.number, own);
  target.overlapping_launches = cuda_overlapping_launches(architecture.number);
  target.box_copies = cuda_box_copies(architecture.number, own);
  target.max_cluster = cuda_max_cluster(architecture.number);
  target.cooperative_launches = true;
  return target;
}

}  // namespace

void cuda_unit_facts(Target& target, int architecture) {
  target.fma_lanes = architecture <= 80 ? 64 : 128;
  // An SM shares its way to the cache with the other one of its TPC, and with the others of its
  // GPC, about 16.
  target.unit_groups = {2, 16};
  target.matrix_row_bytes = 16;
  target.declared_shared_bytes = 48 << 10;
  target.byte_products = true;  // dp4a, from sm_61 on
}

namespace {

// Products of a warpgroup: 64 rows, and 32 bytes along k.
void add_wgmma(std::vector<MatrixUnit>& units, DType a, DType b, DType sum, int n_step) {
  MatrixUnit unit = {"wgmma", 64, 256, 32 / size_bytes(a), n_step, a, b, sum, sum};
  unit.scope = MatrixUnit::Scope::subgroups4;
  unit.lines_along_k = size_bytes(a) != 2;
  if (sum == DType::f32) unit.exact_sum = kNvidiaExactSum;
  units.push_back(unit);
}

// Products of a warp, mma.sync: 16 x 8, and 32 bytes along k.
void add_mma(std::vector<MatrixUnit>& units, DType a, DType b, DType sum) {
  MatrixUnit unit = {"mma", 16, 8, 32 / size_bytes(a), 0, a, b, sum, sum};
  unit.lines_along_k = size_bytes(a) == 1;
  if (sum == DType::f32) unit.exact_sum = kNvidiaExactSum;
  units.push_back(unit);
}

constexpr DType kBytes[] = {DType::i8, DType::u8};
constexpr DType kF8[] = {DType::f8e4m3, DType::f8e5m2};
constexpr DType kFloats[] = {DType::f16, DType::bf16, DType::f32};

}  // namespace

std::vector<MatrixUnit> cuda_matrix_units(int architecture, bool own) {
  std::vector<MatrixUnit> units;
  if (architecture == 90 && own) {
    for (const DType dtype : kFloats) add_wgmma(units, dtype, dtype, DType::f32, 8);
    for (const DType a : kF8)
      for (const DType b : kF8) add_wgmma(units, a, b, DType::f32, 8);
    for (const DType a : kBytes)
      for (const DType b : kBytes) add_wgmma(units, a, b, DType::i32, 16);
  }
  if (architecture >= 80) {
    for (const DType dtype : kFloats) add_mma(units, dtype, dtype, DType::f32);
    for (const DType a : kBytes)
      for (const DType b : kBytes) add_mma(units, a, b, DType::i32);
  }
  return units;
}

bool cuda_overlapping_launches(int architecture) { return architecture >= 90; }
// The device sources that use them are for sm_90a.
bool cuda_box_copies(int architecture, bool own) { return architecture == 90 && own; }

int cuda_max_cluster(int architecture) {
  // Eight is what every device with clusters runs; GeForce chips (12.x) are left out.
  return architecture >= 90 && architecture < 120 ? 8 : 1;
}

namespace {

constexpr std::string_view kPtx = "compute_";

// "sm_90a", "compute_80" in parts.
struct ArchitectureName {
  int number = 0;  // 0: it is no name
  bool own = false, ptx = false;
};

ArchitectureName parse_architecture(std::string_view name) {
  ArchitectureName parsed;
  parsed.ptx = name.starts_with(kPtx);
  if (!parsed.ptx && !name.starts_with("sm_")) return {};
  name.remove_prefix(parsed.ptx ? kPtx.size() : 3);
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), parsed.number);
  const std::string_view rest(stop, static_cast<size_t>(name.data() + name.size() - stop));
  parsed.own = rest == "a";
  const bool is_known = error == std::errc() && parsed.number > 0 && parsed.number < 1000 &&
                        (rest.empty() || (parsed.own && !parsed.ptx));
  return is_known ? parsed : ArchitectureName();
}

// Systems on a chip: machine code of others of their major version does not run on them.
bool is_apart(int architecture) {
  return architecture == 72 || architecture == 87 || architecture == 101;
}

}  // namespace

int cuda_nearness(std::string_view code, std::string_view device) {
  const ArchitectureName from = parse_architecture(code), on = parse_architecture(device);
  if (from.number == 0 || on.number == 0 || on.ptx) return 0;
  const bool is_same = from.number == on.number;
  const bool is_of_major = from.number / 10 == on.number / 10 && from.number <= on.number &&
                           !is_apart(from.number) && !is_apart(on.number);
  const bool runs = from.ptx   ? from.number <= on.number
                    : from.own ? is_same && on.own
                               : is_same || is_of_major;
  return runs ? 4 * from.number + (from.ptx ? 0 : 2) + (from.own ? 1 : 0) : 0;
}

std::optional<Target> cuda_target(std::string_view arch) {
  for (const Architecture& architecture : kArchitectures)
    if (arch == str(kPtx, architecture.number)) {
      Target target = target_of(architecture, false);
      target.arch = arch;
      return target;
    }
  for (const Architecture& architecture : kArchitectures)
    for (const bool own : {false, true})
      if ((!own || has_own_instructions(architecture)) &&
          arch == str("sm_", architecture.number, own ? "a" : ""))
        return target_of(architecture, own);
  return std::nullopt;
}

namespace {

const RegisterMatrixUnits registered_units({"wgmma", "mma"});
const RegisterArchitectures registered_architectures({Api::cuda, cuda_nearness});

}  // namespace

std::vector<std::string> cuda_architectures() {
  std::vector<std::string> names;
  for (const Architecture& architecture : kArchitectures) {
    names.push_back(str("sm_", architecture.number));
    if (has_own_instructions(architecture)) names.push_back(names.back() + "a");
  }
  return names;
}

}  // namespace tcc::exec
