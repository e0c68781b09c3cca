// Tests read cubins with these functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "backends/compile/cubin.h"

namespace tcc::test {

using backends::each_section;
using backends::read_at;
using backends::waits_first;

// Bytes of the stack frame of a cubin's kernel, where spilled registers and indexed arrays lie:
// what its compiler says in section .nv.info.
inline int64_t frame_bytes(std::span<const uint8_t> cubin) {
  constexpr uint8_t kSized = 4, kFrameSize = 0x11;
  int64_t bytes = -1;
  each_section(cubin, [&](std::string_view name, std::span<const uint8_t> info) {
    if (name != ".nv.info") return;
    for (size_t at = 0; at < info.size();) {
      const auto format = read_at<uint8_t>(info, at), attribute = read_at<uint8_t>(info, at + 1);
      const auto size = read_at<uint16_t>(info, at + 2);
      if (attribute == kFrameSize)
        bytes = std::max<int64_t>(bytes, read_at<uint32_t>(info, at + 8));
      at += 4 + (format == kSized ? size : 0);
    }
  });
  return bytes;
}

// Instructions of a cubin of sm_90 that copy boxes of tensors, before its kernels wait for the
// launch before them.
inline int64_t copies_before_wait(std::span<const uint8_t> cubin) {
  constexpr unsigned kCopy = 0x1b4;  // UTMALDG
  int64_t copies = 0;
  backends::each_instruction(cubin, [&](unsigned operation, std::span<const uint8_t>) {
    copies += operation == kCopy;
    return operation != backends::kWaitOperation;
  });
  return copies;
}

}  // namespace tcc::test
