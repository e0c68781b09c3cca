// The weights of a graph become an executable's constants, which are loaded, packed and hashed on
// demand.
#pragma once

#include <vector>

#include "executable/executable.h"
#include "ir/graph.h"
#include "scheduler/region.h"

namespace tcc::backends {

class GraphConstants final : public exec::ConstantStore {
 public:
  void add(ir::ConstantPtr data, sched::Layout layout);

  exec::ConstantBytes load(size_t i) const override;
  // Known once any executable of the process loaded the same weight in the same layout.
  std::optional<Hash128> key(size_t i) const override;

 private:
  struct Entry {
    ir::ConstantPtr data;
    sched::Layout layout;
  };
  std::vector<Entry> entries_;
};

}  // namespace tcc::backends
