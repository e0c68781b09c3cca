// A program's steps on given inputs and outputs, at any addresses: values that do not lie as
// kernels assume (exec::assumed_alignments) pass through staging buffers that do.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/program.h"

namespace tcc::runtime {

// A size that a run reads back, and where it passes through.
struct SizeSite {
  const exec::ReadSize* read;
  std::unique_ptr<Buffer> memory;
};

// Addresses are those of all inputs or all outputs, in the graph's order; those of empty values are
// not looked at.
class Binding {
 public:
  // `memory` is that of the program's other buffers. Both must outlive this.
  Binding(const Program& program, const OwnMemory& memory);

  // A value that lacks a staging buffer for its address; null when bind() may be called. Throws
  // Error(bad_input) for an address that is not aligned to its elements.
  const exec::BufferInfo* lacking(std::span<const DeviceAddress> inputs,
                                  std::span<const DeviceAddress> outputs) const;
  // Makes the staging buffers that lack; throws Error(device) when memory is out.
  void reserve(std::span<const DeviceAddress> inputs, std::span<const DeviceAddress> outputs);

  // The steps, between copies from unaligned inputs and to unaligned outputs. Valid until the next
  // call. Expressions are evaluated once for each set of values that is copied; else addresses
  // alone are set.
  std::span<const BoundStep> bind(std::span<const DeviceAddress> inputs,
                                  std::span<const DeviceAddress> outputs);

  // Takes the memory of the steps of one that is not used any more: the steps of another size take
  // as much. Steps that either has bound are no longer valid.
  void reuse(Binding& gone);

  // Takes the staging buffers of the binding that ran the steps before a size was read, where they
  // are as large: values of those steps are in them. bind() must be called for both again.
  void take_staging(Binding& before);

  // bind() makes these bound steps of a step of the executable: [begin, end), none of one that does
  // not run at these sizes, one for each of launches in a row. A call of the host comes after
  // [begin, middle), which copies the buffers that it reads, if it gets copies. A size is read
  // after its steps.
  struct StepRange {
    size_t begin = 0, middle = 0, end = 0;
    HostCallSite* call = nullptr;
    SizeSite* size = nullptr;
  };
  const StepRange& range(size_t step) const { return ranges_[step]; }
  // Fills of what a launch finds filled by earlier steps, in workspaces that no launch has had
  // before it: with them it may run alone, and again.
  std::vector<BoundStep> fills_for(size_t step) const;
  const std::vector<HostCallSite>& calls() const { return calls_; }
  // Whether it has made buffers that steps may use.
  bool has_memory() const;
  // The bound steps in order, in parts that end with a call of the host, with a size that is read,
  // or, with neither, at the end. Bindings of a program have as many parts at all sizes.
  struct Part {
    size_t begin = 0, end = 0;
    HostCallSite* call = nullptr;
    SizeSite* size = nullptr;
  };
  const std::vector<Part>& parts() const { return parts_; }

 private:
  // An input or an output.
  struct Value {
    const exec::BufferInfo* buffer;
    int64_t bytes;
    uint64_t alignment;
    std::unique_ptr<Buffer> staging;
    bool staged = false;        // by the steps at hand
    DeviceAddress address = 0;  // that kernels get
  };
  // A buffer lies `offset` bytes into the memory of buffer `owner`, which is no alias.
  struct Place {
    size_t owner;
    int64_t offset;
  };
  // An address that bind() sets.
  struct Slot {
    uint64_t* address;
    Place place;
  };

  std::vector<Value> values_of(const std::vector<int>& buffers) const;
  static bool is_aligned(const Value& value, DeviceAddress address);
  // Returns whether another set of values is staged than before.
  static bool place(std::vector<Value>& values, std::span<const DeviceAddress> addresses);
  void make_steps();
  void make_parts();
  // The next step to be set, whose vectors keep their memory where there was such a step before.
  template <class Step>
  Step& next();
  void add(const exec::Step& step);
  void add_launches(const exec::KernelLaunch& launch);
  void add_call(HostCallSite& site, StepRange& range);
  void add_read(const exec::ReadSize& read, SizeSite& site, StepRange& range);
  void add_slot(uint64_t& address, const exec::Address& at);
  Place place_of(const exec::Address& at) const;
  DeviceAddress address_of(const Place& place) const;

  const Program& program_;
  const OwnMemory& memory_;
  std::vector<Value> inputs_, outputs_;
  std::vector<Place> places_;        // by buffer
  const std::vector<int> choices_;   // of the executable's tables
  std::vector<HostCallSite> calls_;  // in the order of the steps
  std::vector<SizeSite> sizes_;      // likewise
  std::vector<BoundStep> steps_;
  size_t used_ = 0;                // of steps_, while they are made
  std::vector<StepRange> ranges_;  // by step of the executable
  std::vector<Part> parts_;
  std::vector<Slot> slots_;  // within steps_ and calls_
  bool made_ = false;
};

}  // namespace tcc::runtime
