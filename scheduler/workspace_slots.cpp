#include "scheduler/workspace_slots.h"

#include <algorithm>
#include <cstdint>

#include "ir/symint.h"

namespace tcc::sched {

bool is_of_few_zeros(const Workspace& workspace) {
  constexpr int64_t kFew = 4096;  // bytes
  const ir::SymInt bytes = workspace.bytes();
  return workspace.zeroed && bytes.is_const() && bytes.value() > 0 && bytes.value() <= kFew;
}

std::vector<size_t> share_slots(std::span<const Workspace> choice, std::vector<Workspace>& slots) {
  std::vector<size_t> numbers;
  for (const Workspace& one : choice) {
    // The workspace decides, not the slot, whose size may be a number where this one's is open.
    const bool is_zeroed = is_of_few_zeros(one);
    size_t number = 0;
    while (number < slots.size() &&
           (std::ranges::count(numbers, number) > 0 || slots[number].zeroed != is_zeroed))
      ++number;
    numbers.push_back(number);
    if (number == slots.size()) {
      slots.push_back(one);
      slots.back().zeroed = is_zeroed;
      continue;
    }
    Workspace& slot = slots[number];
    const ir::SymInt bytes = ir::max(slot.bytes(), one.bytes());
    slot.dtype = DType::i32;
    slot.elements = ir::ceildiv(bytes, size_bytes(DType::i32));
  }
  return numbers;
}

}  // namespace tcc::sched
