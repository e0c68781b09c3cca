// A program's launches on given inputs and outputs, at any addresses: values that do not lie as
// kernels assume (sched::assumed_alignment) pass through staging buffers that do.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/program.h"

namespace tcc::runtime {

// Addresses are those of all inputs or all outputs, in the graph's order; those of empty values are
// not looked at.
class Binding {
 public:
  // `arena`: the address of the intermediate values. The program must outlive this.
  Binding(const Program& program, DeviceAddress arena);

  // A value that lacks a staging buffer for its address; null when bind() may be called. Throws
  // Error(bad_input) for an address that is not aligned to its elements.
  const sched::BufferInfo* lacking(std::span<const DeviceAddress> inputs,
                                   std::span<const DeviceAddress> outputs) const;
  // Makes the staging buffers that lack; throws Error(device) when memory is out.
  void reserve(std::span<const DeviceAddress> inputs, std::span<const DeviceAddress> outputs);

  // The launches, between copies from unaligned inputs and to unaligned outputs. Valid until the
  // next call.
  std::span<const BoundLaunch> bind(std::span<const DeviceAddress> inputs,
                                    std::span<const DeviceAddress> outputs);

 private:
  // An input or an output.
  struct Value {
    const sched::BufferInfo* buffer;
    uint64_t alignment;
    std::unique_ptr<Buffer> staging;
    bool staged = false;        // by the launches at hand
    DeviceAddress address = 0;  // that kernels get
  };

  std::vector<Value> values_of(const std::vector<int>& buffers) const;
  static bool is_aligned(const Value& value, DeviceAddress address);
  // Whether another set of values is staged than before.
  static bool place(std::vector<Value>& values, std::span<const DeviceAddress> addresses);
  DeviceAddress address_of(const sched::BufferInfo& buffer) const;
  void make_launches();

  const Program& program_;
  const DeviceAddress arena_;
  std::vector<Value> inputs_, outputs_;
  std::vector<BoundLaunch> launches_;
  bool made_ = false;
};

}  // namespace tcc::runtime
