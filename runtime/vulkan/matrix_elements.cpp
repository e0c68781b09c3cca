#include "runtime/vulkan/matrix_elements.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "support/error.h"

namespace tcc::runtime::vulkan {
namespace {

constexpr uint32_t kCode[] = {
#include "runtime/vulkan/matrix_elements_spirv.inc"
};
constexpr int kLanes = 32, kElements = 8, kSide = 16;
using Numbers = std::array<uint32_t, size_t{3} * kLanes * kElements>;  // of A, B and sums

// PTX has one layout for both types of 16 bits.
bool may_be_fragment(const exec::MatrixUnit& unit) {
  return unit.kind == "coopmat" && unit.scope == exec::MatrixUnit::Scope::subgroup &&
         unit.m == kSide && unit.n == kSide && unit.k == kSide && unit.a == unit.b &&
         (unit.a == DType::f16 || unit.a == DType::bf16) && unit.d == DType::f32;
}

// The numbers of the elements as mma.sync has them: element e of a thread is in row (of B: column)
// thread / 4, for the last four elements eight below it. Pairs of neighbours along k are pair
// thread % 4, and for every other pair the one eight elements behind it. Sums, whose numbers count
// along columns, have the order of A.
Numbers numbers_of_fragments() {
  Numbers numbers;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int e = 0; e < kElements; ++e) {
      const int row = lane / 4 + e / 4 * 8, k = lane % 4 * 2 + e % 2 + e / 2 % 2 * 8;
      for (const int matrix : {0, 1, 2})
        numbers[static_cast<size_t>((matrix * kLanes + lane) * kElements + e)] =
            static_cast<uint32_t>(row * kSide + k);
    }
  return numbers;
}

Numbers ask(Device& device) {
  exec::KernelBinary binary;
  binary.entry = "main";
  binary.region = "the elements of matrices";
  binary.workgroup = binary.subgroup_size = kLanes;
  binary.num_arguments = 1;
  binary.code.resize(sizeof kCode);
  std::memcpy(binary.code.data(), kCode, sizeof kCode);
  const std::unique_ptr<LoadedKernel> kernel = device.load(binary);
  Numbers numbers = {};
  const std::unique_ptr<Buffer> buffer = device.allocate(sizeof numbers);
  const std::unique_ptr<Stream> stream = device.create_stream();
  stream->fill(*buffer, 0, sizeof numbers, 0);
  const BoundStep step = BoundLaunch{kernel.get(), {buffer->address()}, {1, 1, 1}};
  stream->run(std::span(&step, 1));
  stream->copy_to_host(std::as_writable_bytes(std::span(numbers)), *buffer, 0);
  return numbers;
}

}  // namespace

std::vector<exec::MatrixUnit> find_fragment_units(Device& device) {
  const exec::Target& target = device.target();
  std::vector<exec::MatrixUnit> units;
  std::ranges::copy_if(target.matrix_units, std::back_inserter(units), may_be_fragment);
  const bool has_f16 = std::ranges::count(units, DType::f16, &exec::MatrixUnit::a) > 0;
  if (!has_f16 || target.subgroup_size != kLanes || device.compiles_alone()) return {};
  try {
    if (ask(device) != numbers_of_fragments()) return {};
  } catch (const Error&) { return {}; }
  for (exec::MatrixUnit& unit : units) unit.kind = exec::kFragmentUnit;
  return exec::allowed_matrix_units(std::move(units));
}

}  // namespace tcc::runtime::vulkan
