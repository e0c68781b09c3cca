// How queries, keys and values come to the kernels of attention, but those of sm_90a. Templates and
// device sources share this file (see matrix.h).
#pragma once

#include "backends/device/common/matrix.h"

namespace tcc::kernels {

// How tiles of queries, keys or values come to shared memory.
struct AttentionOperand {
  Load load = Load::tiles;
  Int vector = 8;      // elements of one asynchronous copy (tiles), or of one call of the load hook
  Int buffer = 0;      // unless computed: the kernel's argument that holds the operand
  Int stride = 0;      // of rows, in elements, unless computed
  bool apart = false;  // tiles: rows begin where a hook says, as those of pages
  bool along_rows = false;  // computed: neighbours in memory are rows

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("load", load);
    visit("vector", vector);
    visit("buffer", buffer);
    visit("stride", stride);
    visit("apart", apart);
    visit("along_rows", along_rows);
  }
};

}  // namespace tcc::kernels
