// A compiled graph: immutable plain data for one kind of device, with no pointer back into the
// compiler. It is written and read by executable/serialize.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "executable/kernel_binary.h"
#include "executable/size_table.h"
#include "executable/target.h"
#include "ir/dtype.h"
#include "ir/size_range.h"
#include "support/hash.h"

namespace tcc::exec {

// A dim whose size comes when the executable is bound. Its kernels are right for the sizes of the
// range alone: that is a guard of the executable.
struct OpenDim {
  std::string name;
  ir::SizeRange range = {};
  // Expressions have this symbol for the size over range.multiple.
  std::string symbol() const { return ir::symbol_name(name, range); }
};

// A dim that the graph takes for equal to an expression of open ones, or that was given as one. It
// has no size of its own.
struct EqualDim {
  std::string name;
  SymInt value;  // of the names of dims, which stand for their sizes here
};

struct BufferInfo {
  // Inputs and outputs are the caller's memory. The arena holds values between steps, and in it
  // lie workspaces, too: scratch memory of the steps of one region. A state lives as long as its
  // context.
  enum class Kind : uint8_t { input, output, constant, arena, state, workspace };
  Kind kind = Kind::arena;
  std::string name;
  DType dtype = DType::f32;
  std::vector<SymInt> shape;
  std::vector<SymInt> strides;  // inputs and outputs are row-major
  SymInt bytes = 0;
  SymInt offset = 0;  // arena, workspace: in the arena; others but states: its number in its list
  // The number of an earlier buffer whose memory this one is in, `offset` bytes from its beginning,
  // whatever its kind; -1: it has its own.
  int alias = -1;

  bool is_in_arena() const { return kind == Kind::arena || kind == Kind::workspace; }
};

// A place in a buffer, in bytes from its beginning.
struct Address {
  int buffer = 0;
  SymInt offset = 0;
};
using Argument = std::variant<Address, Scalar>;

struct KernelLaunch {
  int kernel = 0;  // index into kernels
  Grid grid = {1, 1, 1};
  std::vector<Argument> arguments;
  std::vector<TensorMap> maps = {};
  // Iterations of one thread at most, those of device sources apart: devices with
  // Target::max_loop_iterations refuse more.
  SymInt loop_iterations = 0;
  std::vector<std::string> layers = {};  // the layers of the user's graph that it computes
  Chosen chosen = {};
  // Launches in a row. Unless it is 1, the last argument is an i32 that each launch gets its number
  // for, from 0 on.
  SymInt times = 1;
  Amount flops = {}, bytes = {};  // what one must do and move at least: for the roofline
  // The first step whose launch has the same LaunchNumbers at any sizes, once share_expressions()
  // has found it; -1: it has not.
  int same_as = -1;
};

// The two ranges do not overlap.
struct Copy {
  Address to, from;
  SymInt bytes = 0;
};

struct Fill {
  Address to;
  SymInt bytes = 0;  // a multiple of 4, as the place is
  uint8_t value = 0;
  Chosen chosen = {};
};

// A function that the program's user registered (runtime/host_calls.h), on copies of the buffers in
// host memory or, by the function and the device, on the buffers. They are dense and row-major.
struct HostCall {
  std::string function;
  std::vector<int> reads, writes;  // buffers
};

// The size of an open dim, which steps before it count into memory, an i64 from 0 to `most`. The
// run waits for it, and the steps behind it are those of that size. Those before it use nothing
// that depends on it, whatever it is taken for. Each dim has one such step at most.
struct ReadSize {
  int dim = 0;  // index into dims
  Address from;
  SymInt most = 0;
};

// Collectives are host calls.
using Step = std::variant<KernelLaunch, Copy, Fill, HostCall, ReadSize>;

// A buffer of the kind state, dense and row-major, and what it holds at first: a constant of as
// many bytes, or zeros (-1).
struct StateInfo {
  int buffer = 0;
  int initial = -1;
  // A state that grows: the elements along this axis of the buffer that count are as many as the
  // size of an open dim, and each run has `added` more of them. -1: it does not grow.
  int axis = -1;
  int dim = -1;  // index into dims
  SymInt added = 0;
  bool grows() const { return axis >= 0; }
};

// A constant in its physical layout. Its bytes are in a store.
struct ConstantInfo {
  std::string name;
  int64_t bytes = 0;
  bool is_mutable = false;  // its bytes may change between runs: programs do not share it
};

// The bytes of a constant, which `owner` keeps, and what equal bytes share: content_hash(bytes).
struct ConstantBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  Hash128 key;
};

// A store gives constants' bytes: those of a file, or weights that are loaded and packed on demand.
// Thread-safe.
class ConstantStore {
 public:
  virtual ~ConstantStore() = default;
  // Constant `i` of the executable; its bytes may be made anew at each call. Throws Error.
  virtual ConstantBytes load(size_t i) const = 0;
  // Its key, where that is known without loading it.
  virtual std::optional<Hash128> key(size_t i) const = 0;
};

struct Variant;

struct Executable {
  std::string name;
  Target target;
  std::vector<OpenDim> dims;          // their symbols are in the expressions below
  std::vector<EqualDim> equal_dims;   // other names of sizes
  std::vector<KernelBinary> kernels;  // distinct ones
  std::vector<SizeTable> tables;      // of the steps that some sizes have alone
  std::vector<Step> steps;            // in order; each waits for the ones before it
  std::vector<BufferInfo> buffers;
  std::vector<int> inputs, outputs;  // buffer indices, in the graph's order
  std::vector<StateInfo> states;     // in the graph's order
  std::vector<ConstantInfo> constants;
  SymInt arena_bytes = 0;
  // The largest sum of live arena buffers: a lower bound of arena_bytes.
  SymInt live_bytes_peak = 0;
  // Not part of the data: the bytes of `constants`. Null where there are none.
  std::shared_ptr<const ConstantStore> store;
  // Kernels for some sizes alone, the ones for most dims first. Runs at sizes of none take the
  // above. Inputs, outputs and states are the same; variants have no variants.
  std::vector<Variant> variants;
};

inline constexpr int64_t kMostVariants = 8;

// The same computation where these dims have these sizes, which are numbers in it.
struct Variant {
  std::map<std::string, int64_t, std::less<>> sizes;
  Executable executable;
};

// Makes equal expressions of sizes one object, variants apart, and finds launches with the same
// numbers: Sizes with `known` values evaluate each once.
void share_expressions(Executable& executable);

// Calls use(executable), then the same with the executables of its variants.
template <class E, class Use>
void each_executable(E& executable, const Use& use) {
  use(executable);
  for (auto& variant : executable.variants) use(variant.executable);
}

// The launches among the steps, in order, whichever sizes they are for.
std::vector<const KernelLaunch*> launches(const Executable& executable);
// Those that run where every table takes its last choice, which is the one for usual sizes.
std::vector<const KernelLaunch*> usual_launches(const Executable& executable);
// How often each step runs at usual sizes: launches in a row several times, those of other sizes
// never.
std::vector<int> usual_counts(const Executable& executable);
// The number of all launches at usual sizes.
int64_t count_usual_launches(const Executable& executable);

// Returns the choice of each table at these sizes.
std::vector<int> choices(const Executable& executable, const Sizes& sizes);
// Whether the step runs with these choices.
bool runs(const Step& step, std::span<const int> choices);

// The steps that read sizes back, in order.
std::vector<const ReadSize*> size_reads(const Executable& executable);

// The buffers of the states, in order.
std::vector<int> state_buffers(const Executable& executable);

// Launch `i` of launches() with its kernel; TCC_CHECKs that its addresses are whole buffers.
StandaloneKernel standalone(const Executable& executable, size_t i);

// Returns, by buffer, the buffer whose memory it is in: itself where it has its own.
std::vector<int> owners(const Executable& executable);

// A kernel may ask an address to be a multiple of at most so many bytes. The memory of all devices
// is aligned so.
inline constexpr int kMostAlignment = 64;
// Returns the alignment in bytes that the kernel asks of a buffer that is its argument `i`.
int alignment(const KernelBinary& kernel, size_t i);
// Returns, by buffer with memory of its own, the bytes that its address must be a multiple of for
// all kernels that get it or a part of it. check() holds the parts' offsets against it, and the
// runtime sees to it for inputs and outputs.
std::vector<int> assumed_alignments(const Executable& executable);

// Throws Error(bad_input) unless every index, count and kind is within bounds, and, where there are
// no symbols, every offset and size: a runtime may use the executable without further checks.
void check(const Executable& executable);
// The same of what depends on the symbols' values, once a program is bound to them.
void check(const Executable& executable, const Sizes& sizes);
void check(const StandaloneSequence& sequence);
// Throws Error(bad_input) unless the variant's inputs, outputs and states are those of the whole,
// at the sizes that both are bound to.
void check_same(const Executable& whole, const Sizes& of_whole, const Executable& variant,
                const Sizes& of_variant);

// Throws Error(device) where a kernel uses matrix units that the target lacks.
void check_units(const KernelBinary& kernel, const Target& target);

// Throws Error(device) where the kernel's workgroups wait for each other, and those of the target
// may not.
void check_cooperation(const KernelBinary& kernel, const Target& target);

// Throws Error(device) where a thread runs longer than the target lets it, which may be another one
// than the executable was compiled for.
void check_loops(const Executable& executable, const Sizes& sizes, const Target& target);

}  // namespace tcc::exec
