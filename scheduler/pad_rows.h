// Rows for matrix units: their asynchronous copies move 16 bytes at a time, so operands whose rows
// start elsewhere are loaded by threads, several times as slow. Layouts with longer rows avoid it.
// They read bytes along k alone: other byte operands get layouts in which they lie so.
#pragma once

#include <vector>

#include "scheduler/region.h"

namespace tcc::sched {

// A buffer of a region, and a layout in which matrix units copy it asynchronously.
struct PaddedBuffer {
  const ir::Value* value;
  Layout layout;
};

// The operands of the region's matrix product that need other layouts for that, each buffer once:
// none where the target has no matrix units or the region no product for them, where no layout
// helps (an operand is computed, or starts inside a row), or would add more than half of the bytes.
std::vector<PaddedBuffer> padded_operands(const Region& region, const Target& target);

// Whether the layout may change without a copy: of what kernels write for kernels, and of constants
// that are packed when they are loaded. Graph inputs and outputs are dense by contract, and mutable
// weights are other programs' memory, too.
bool has_free_layout(const ir::Graph& graph, const ir::Value* value);

// Gives every such value its layout in all regions that write or read it, as far as the same
// templates take these regions, or the transpose template now does.
void pad_rows(const ir::Graph& graph, std::vector<Region>& regions, const Target& target);

}  // namespace tcc::sched
