// A compiled graph on a device. A Program holds the parts that do not change (kernels, constants);
// a Context, one per stream, holds the others (arena, states, inputs, outputs, the recorded steps).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "executable/executable.h"
#include "executable/open_dims.h"
#include "ir/tensor.h"
#include "runtime/device.h"
#include "runtime/host_calls.h"
#include "support/watch.h"

namespace tcc::runtime {

class Program {
 public:
  // Loads the kernels and uploads the constants that are not on the device yet. Throws
  // Error(device) when the executable is for another kind of device, or when the device refuses
  // one, is out of memory, or has less in all than constants and arena need; Error(bad_input) when
  // it calls a function of the host that `functions` lacks. `watch` may end it.
  Program(std::shared_ptr<Device> device, exec::Executable executable, const Watch* watch = nullptr,
          HostFunctions functions = {});

  const exec::Executable& executable() const { return executable_; }
  Device& device() const { return *device_; }
  const LoadedKernel& kernel(int i) const { return *kernels_[static_cast<size_t>(i)]; }
  DeviceAddress constant(size_t i) const { return constants_[i]->address(); }
  // Counts all constants, also those that other programs on the device use; those of variants once
  // with the ones that they share.
  int64_t constant_bytes() const { return constant_bytes_; }

  // Kernels for some sizes. executable().variants is empty: each is a program.
  struct Variant {
    exec::Dims sizes;
    std::shared_ptr<const Program> program;
  };
  const std::vector<Variant>& variants() const { return variants_; }
  // The first variant that is for these sizes of executable().dims, in order, or the program
  // itself.
  const Program& at(std::span<const int64_t> sizes) const;
  // By buffer, what its address must be a multiple of in the program and its variants; for buffers
  // that are inputs, outputs or states.
  const std::vector<int>& alignments() const { return alignments_; }
  // The same in this program alone.
  const std::vector<int>& own_alignments() const { return own_alignments_; }
  const HostFunction& function(std::string_view name) const {
    return functions_.find(name)->second;
  }

 private:
  void add_variant(exec::Variant variant, const Watch* watch);

  std::shared_ptr<Device> device_;
  exec::Executable executable_;
  HostFunctions functions_;
  std::vector<std::unique_ptr<LoadedKernel>> kernels_;
  std::vector<std::shared_ptr<Buffer>> constants_;
  int64_t constant_bytes_ = 0;
  std::vector<Variant> variants_;
  std::vector<int> own_alignments_, alignments_;
};

// The memory of a state: a context's own, or a part of a buffer that others use, too.
struct StateMemory {
  std::shared_ptr<Buffer> buffer;
  int64_t offset = 0;
  DeviceAddress address() const { return buffer->address() + static_cast<uint64_t>(offset); }
};

// Gives memory of at least that many bytes, at a multiple of 256.
using Allocate = std::function<StateMemory(int64_t bytes)>;

// The memory of a context for one set of sizes. The arena may be larger than they need.
struct OwnMemory {
  exec::Sizes sizes = {};
  StateMemory arena = {};
  std::map<size_t, StateMemory> states = {};  // by buffer
};

class Binding;
struct SizeSite;

// A state that grows has a length, which is the size of a dim: each run adds to it, and
// reset_states() and set_state() set it. Sizes of other dims come from the shapes of inputs, from
// set_dims() or with the constructor; what was made for some is kept for the next runs of these
// sizes, and kKeptSizes of them are.
//
// A size that the device counts (exec::ReadSize) is read while the graph runs: the run waits for it
// and goes on with the steps of that size. Memory that it needs more of is made then, unless
// reserve_dims() has made it. Afterwards sizes() has it, and with it the shapes of outputs.
class Context {
 public:
  static constexpr size_t kKeptSizes = 16;

  // Uses a stream of its own, or the caller's, which other contexts may use too, one at a time.
  // `dims` may be empty: sizes come later then. `allocate` gives the memory of intermediate values
  // and of states; none: the device does.
  explicit Context(std::shared_ptr<const Program> program, std::shared_ptr<Stream> stream = nullptr,
                   const exec::Dims& dims = {}, Allocate allocate = {});
  ~Context();

  // The sizes of the open dims from now on; those that are not named stay. Nothing is allocated
  // for sizes that the context has kept. Throws Error(bad_input) where a dim is unknown or missing,
  // and where a size is none that the executable is for: the sizes are as before then.
  void set_dims(const exec::Dims& dims);
  // The same by the shapes of the inputs, in order. Throws Error(bad_input), which names the input,
  // its dim, the size and the fact that it breaks.
  void set_shapes(std::span<const exec::ShapeView> inputs);
  // Makes the memory that runs at these sizes need. Others that need no more of it allocate none.
  void reserve_dims(const exec::Dims& dims);

  // Functions of the host's are called through this from now on.
  void call_through(CallThrough through) { through_ = std::move(through); }

  // On the caller's device buffers, in the graph's order, row-major, each as large as its type
  // says, at any multiple of its element's size. Asynchronous; allocates, synchronises and reads
  // back nothing, so that it can be captured (with calls of the host only if they may be), once
  // reserve() has been called for addresses that are
  // aligned alike; else it calls that itself. Empty values may have address 0.
  void run(std::span<const DeviceAddress> inputs, std::span<const DeviceAddress> outputs);

  // Returns the steps of run() instead of running them. They are valid until the next call, and
  // hold addresses of this context's memory. Throws Error(bad_input) for a graph that calls
  // functions of the host's.
  std::span<const BoundStep> steps_on(std::span<const DeviceAddress> inputs,
                                      std::span<const DeviceAddress> outputs);

  // Makes aligned staging buffers for the values whose addresses are not multiples of what kernels
  // assume (exec::assumed_alignments) and that have none yet: run() copies them from or to there.
  // Throws Error(bad_input) for an address that is not aligned to its elements, and where there is
  // something to be made while the stream is captured.
  void reserve(std::span<const DeviceAddress> inputs, std::span<const DeviceAddress> outputs);

  // Runs on host tensors, through buffers of the context's own, by replay, and waits for the
  // result. Throws Error(bad_input) for a wrong dtype or shape.
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  // The states of the executable, by number. The value is that after the last run; reset gives
  // every state its first value again. The first two wait for the device. set_state() throws
  // Error(bad_input) for a wrong dtype or shape.
  // A state that grows is as long as its value; those of one dim must be equally long when a run
  // begins.
  Tensor state(size_t i);
  void set_state(size_t i, const Tensor& value);
  // Whether set_state() takes such a value. The state must have been made, as for the next.
  bool fits_state(size_t i, DType dtype, const std::vector<int64_t>& shape) const;
  // The shape of state(i).
  std::vector<int64_t> state_shape(size_t i) const;
  void reset_states();
  // Puts the state there, with the value that is there; one that grows has room there for its
  // largest size, of which `length` counts. Waits for the stream. Throws Error(bad_input) where
  // kernels assume more of the address's alignment, and for a length that is missing, that the
  // state cannot have, or that is given for a state that does not grow.
  void bind_state(size_t i, StateMemory memory, std::optional<int64_t> length = {});

  // The pieces of the above: upload, replay, download.
  void set_inputs(std::span<const Tensor> inputs);
  void replay();  // asynchronous, but for calls of the host that get copies
  std::vector<Tensor> outputs();

  // These serve checks: one runs one step on the context's own buffers, and before it the fills
  // that earlier steps make for it alone; the other returns the contents of a buffer of the
  // executable that is no constant. Both wait for the device.
  void run_step(size_t i);
  std::vector<std::byte> read(int buffer);

  // How often each step of the program at hand runs at these sizes: launches in a row several
  // times, those of other sizes never.
  std::vector<int> step_counts();
  // The least that one launch of each step does and moves at these sizes; zeros for steps that do
  // not run and that are no launches.
  struct Work {
    double flops = 0, bytes = 0;
  };
  std::vector<Work> step_work();
  // Device seconds per step, in order, of launches in a row all together, 0 of one that does not
  // run, and of the whole replayed graph (mean of `repeat`). A call of the host, and a graph with
  // one, is timed by the host's clock, with its copies.
  std::vector<double> time_steps();
  double time_replay(int repeat);
  Stream& stream() { return *stream_; }
  // Throws Error(bad_input) where the executable has open dims and no sizes were given yet.
  const exec::Sizes& sizes() const { return plan().sizes; }
  // Whether runs read sizes back: those in sizes() are the last run's.
  bool reads_sizes() const { return !size_reads_.empty(); }
  // The largest shape that an output may have at these sizes, whatever a run counts: the room that
  // it needs.
  const std::vector<int64_t>& largest_shape(size_t output) const;
  // The program that runs at these sizes, perhaps a variant: steps are numbered as its are.
  const Program& program_at_hand() const { return *plan().program; }
  // The part of the arena that the steps use at these sizes.
  int64_t arena_bytes() const {
    return plan().memory.sizes.of(plan().program->executable().arena_bytes);
  }
  // In the order of the executable's; -1: unknown.
  std::span<const int64_t> dims() const { return dims_; }

 private:
  // Throws Error(bad_input) unless fits_state().
  void check_state(size_t i, DType dtype, const std::vector<int64_t>& shape) const;
  // Everything that depends on the sizes.
  struct Plan {
    std::vector<int64_t> dims;
    const Program* program = nullptr;                // or a variant
    exec::Sizes sizes;                               // of the symbols of the whole
    std::vector<std::vector<int64_t>> largest = {};  // of outputs, made when they are asked for
    OwnMemory memory;                                // of the program, with its own symbols
    std::unique_ptr<Binding> callers;
    // On own buffers: the steps, and the recordings of the binding's parts, made when they repeat.
    std::unique_ptr<Binding> own;
    std::span<const BoundStep> steps;
    std::vector<std::unique_ptr<Recording>> recorded;
    bool has_run = false;    // on own buffers
    uint64_t last_used = 0;  // by uses_
  };

  Plan& plan() const;
  void take_lengths();
  void grow();
  void set_length(size_t i, int64_t length);
  void check_not_lengths(const exec::Dims& dims) const;
  void fit_counts(std::vector<int64_t>& dims) const;
  bool take_size(const SizeSite& site);
  const Recording& recording(Plan& plan, size_t part);
  exec::Sizes largest(const exec::Sizes& sizes) const;
  void use_next_dims();
  std::unique_ptr<Plan> make_plan(std::span<const int64_t> dims);
  void make_states(const exec::Sizes& sizes);
  void make_state(size_t i, const exec::Sizes& sizes);
  void reset_state(size_t i);
  void refuse_while_captured(std::string_view what) const;
  StateMemory take(int64_t bytes);
  void make_arena(int64_t bytes);
  void make_own_buffers(const exec::Sizes& sizes);
  void drop_recordings();
  Plan& bound_plan();
  void check_counts(std::span<const DeviceAddress> inputs,
                    std::span<const DeviceAddress> outputs) const;
  const exec::BufferInfo& state_buffer(size_t i) const;
  const StateMemory& state_memory(size_t i) const;

  std::shared_ptr<const Program> program_;
  std::shared_ptr<Stream> stream_;
  CallThrough through_;
  exec::ShapeReader reader_;
  // Sizes that runs read back are what the last one read, until the next one does.
  const std::vector<const exec::ReadSize*> size_reads_;
  bool in_run_ = false;  // between the parts of one
  std::vector<int64_t> dims_, next_dims_;
  std::vector<exec::ShapeView> shapes_;  // reused
  Allocate allocate_;
  StateMemory arena_;
  int64_t arena_bytes_ = 0;
  // A state has the size that it was made with. By number; no memory: not made yet.
  struct State {
    StateMemory memory;
    std::vector<int64_t> shape;  // of the memory
    int64_t length = 0;          // of one that grows
  };
  bool grows_ = false;  // a state does
  std::vector<State> states_;
  std::vector<std::unique_ptr<Buffer>> own_;  // inputs, then outputs
  std::vector<std::unique_ptr<Plan>> plans_;
  Plan* plan_ = nullptr;  // of the sizes at hand
  uint64_t uses_ = 0;
};

}  // namespace tcc::runtime
