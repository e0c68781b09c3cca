// tcc's C++ API: load a graph, compile it for a device, run it. CMake finds it by
// `find_package(tcc)`, target tcc::tcc; docs/embedding.md describes its use.
//
//   tcc::Graph graph = tcc::Graph::load("mlp.yaml");
//   tcc::CompiledGraph compiled = tcc::compile(graph, "auto", {.dims = {{"B", 8}}});
//   tcc::Context context(compiled);
//   std::vector<tcc::HostTensor> outputs = context.run(inputs);
//
// Functions throw tcc::Error or std::bad_alloc. Sizes are in bytes and times in seconds. Element
// types are named as in graph files: "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8" to
// "i64", "u8" to "u64", "bool".
#pragma once

#if __cplusplus < 202002L
#error "tcc needs C++20: compile with -std=c++20 (or use the C interface, tcc/c_api.h)"
#else

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tcc/device_buffer.hpp"
#include "tcc/device_tensor.hpp"
#include "tcc/error.hpp"
#include "tcc/log.hpp"
#include "tcc/progress.hpp"

#pragma GCC visibility push(default)
namespace tcc {

std::string_view version();  // "0.1.0"

// An input or output of a graph. Each dim of `shape` is a number or an expression of the graph's
// symbols: "784", "B", "2*B".
struct ValueSpec {
  std::string name, dtype;
  std::vector<std::string> shape;
};

// An input or output of a compiled graph: a dense, row-major tensor whose dims are numbers.
struct TensorSpec {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  // Context::run_device uses pointers that are multiples of this many bytes without a copy.
  std::int64_t alignment = 1;
};

// Returns the dtype of a C++ type: dtype_of<float>() is "f32".
template <class T>
constexpr std::string_view dtype_of();

// A dense, row-major tensor in host memory.
struct HostTensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  HostTensor() = default;
  // Makes a tensor of zeros. Throws Error(bad_input) for an unknown dtype, a negative dim or a size
  // that overflows.
  HostTensor(std::string_view dtype, std::vector<std::int64_t> shape);
  explicit HostTensor(const TensorSpec& spec) : HostTensor(spec.dtype, spec.shape) {}
  // Makes a tensor with a copy of `values`. Throws Error(bad_input) unless they are as many as the
  // shape says.
  template <class T>
  static HostTensor of(std::vector<std::int64_t> shape, const std::vector<T>& values);

  // Returns the elements in row-major order. Throws Error(bad_input) when T is not their type. The
  // bits of f16 and bf16 are read as std::uint16_t, those of f8e4m3 and f8e5m2 as std::uint8_t.
  template <class T>
  std::span<T> as();
  template <class T>
  std::span<const T> as() const;
};

// A graph in memory finds the files that it names by these options.
struct MemoryOptions {
  // The sizes of symbolic dims, as in Graph::load.
  std::map<std::string, std::int64_t> dims{};
  // The bytes of the files that the graph names (weights, external data), by the names that it
  // gives them. They are not copied: they must live as long as the graph and its copies.
  std::map<std::string, std::span<const std::byte>> files{};
  // Reads external data of an ONNX model that is not in `files`: it fills `to` with the bytes of
  // `name` from `offset` on and returns true, or returns false where it has none. It is called on
  // first use, when the graph is compiled, from several threads at a time.
  std::function<bool(std::string_view name, std::uint64_t offset, std::span<std::byte> to)> read{};
  // The folder in which the other files that the graph names are opened; "": none is opened.
  std::filesystem::path folder{};
  // Inputs that become states, and the outputs that become their next values, as in Graph::load.
  std::map<std::string, std::string> states{};
  // Inputs of an ONNX model that decide shapes, as in Graph::load.
  std::map<std::string, HostTensor> inputs{};
};

// A graph as it was written: its dims may still be symbols. A Graph is immutable, and copies share
// its contents.
class Graph {
 public:
  // Loads a .yaml (docs/yaml-format.md) or .onnx file (docs/onnx.md). Weight files must lie in its
  // folder; they are read when the graph is compiled. `dims` gives symbols their sizes at once: an
  // ONNX graph whose structure depends on a dim needs it here. `states` names inputs that become
  // states, zeros at first, and the outputs of the same types that become their next values
  // ({"past", "present"}); both are no longer among the inputs and outputs. `inputs` are tensors
  // for inputs of an ONNX model: one whose data decides shapes (the target of a Reshape, the k of a
  // TopK) becomes a constant, and is no longer among the inputs; of the others, the shapes give
  // dims that are not in `dims` their sizes. Throws Error(bad_input), which names file and line,
  // for a file that is missing or wrong, and for names that the graph lacks.
  static Graph load(const std::filesystem::path& path,
                    const std::map<std::string, std::int64_t>& dims = {},
                    const std::map<std::string, std::string>& states = {},
                    const std::map<std::string, HostTensor>& inputs = {});
  // Reads the text of a .yaml file from memory; weight files are looked for in `folder`.
  static Graph from_yaml(std::string_view text, const std::filesystem::path& folder = ".");
  static Graph from_yaml(std::string_view text, const MemoryOptions& options);
  // Reads an ONNX model from the bytes of its .onnx file, which are not needed afterwards.
  static Graph from_onnx(std::span<const std::byte> model, const MemoryOptions& options = {});

  std::string name() const;
  std::map<std::string, std::int64_t> dims() const;  // symbols and their default values
  std::vector<ValueSpec> inputs() const;
  std::vector<ValueSpec> outputs() const;
  std::vector<ValueSpec> states() const;

  // Returns the graph as the text of a .yaml file. Weights that have neither one value everywhere
  // nor are drawn are in a file that it names, which save() writes.
  std::string to_yaml() const;
  // Writes FOLDER/graph.yaml and its weights; load() reads them as the same graph. Both throw
  // Error(bad_input) for a graph that YAML cannot express.
  void save(const std::filesystem::path& folder) const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  friend class GraphBuilder;  // tcc/graph.hpp
  explicit Graph(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

struct CompileOptions {
  std::map<std::string, std::int64_t> dims{};  // of symbols; the default is the graph's
  // Dims whose sizes come at run time, with the inputs' shapes: "S", "S=1..2048" or, for multiples
  // of 8, "S=8..2048:8". One compiled graph runs at all sizes of these ranges, which lie below
  // 2^31; what a range says makes kernels shorter. Their values in `dims` are what estimates take;
  // by default that is the middle of a range on a logarithmic scale. "T=S+1": the dim is an
  // expression of others, and has no size of its own; those that the graph takes for equal to
  // expressions of open dims are found without it. compile() throws
  // Error(bad_input), which names the op, where no kernel takes the dim.
  std::vector<std::string> open_dims{};
  // Sizes of open dims that get kernels of their own, with the sizes as constants, beside those for
  // all sizes: "S=128,512". A run at such a size takes them. Several dims make a variant for each
  // combination, at most 8 in all; the weights are there once.
  std::vector<std::string> specialize{};
  std::string dtype{};  // "f32", "f16", "bf16": casts the graph's floating point; "" leaves it
  // The precision of f32 and f8 products: "highest", "high" or "medium".
  std::string matmul_precision = "highest";
  bool strict_rounding = false;  // round after every op, as an eager framework does
  bool fuse = true;              // false: one kernel per op
  // Files and folders of tuning records, which are used besides those of $TCC_TUNING_PATH.
  std::vector<std::filesystem::path> tuning{};
  bool use_cache = true;              // keeps compiled kernels on disk
  std::filesystem::path cache_dir{};  // "": $TCC_CACHE_DIR, else ~/.cache/tcc
  // Called for each tuning record that is damaged and skipped; by default the log gets the message
  // (tcc/log.hpp).
  std::function<void(const std::string&)> warn{};
  // Called with the progress of compile(), from any thread, one call at a time.
  std::function<void(const CompileProgress&)> progress{};
  // Called between passes, kernels and weights, from any thread. If it returns true, compile()
  // waits for the kernels that are being compiled and throws Cancelled.
  std::function<bool()> cancelled{};
};

// Inclusive bounds on the size of an open dim, or on a product of sizes: "B", "B*S".
struct DimBounds {
  std::string size;
  std::int64_t least = 0, most = 0;
};

// One choice of a table by which the sizes of open dims choose among several kernels. At all sizes
// one choice of a table is taken.
struct SizeChoice {
  int table = 0;  // tables and choices are numbered from 0 on, those of each variant by themselves
  int choice = 0;
  // It is taken where all bounds of one of these hold. The last choice of a table has none: it is
  // taken where no other one is.
  std::vector<std::vector<DimBounds>> ranges{};
  std::string text{};  // "B*S in 1..64 or B*S in 80..96"; "else" for the last choice
};

// The report of one distinct kernel of a compiled graph.
struct KernelReport {
  std::string region;           // the ops that are fused in it
  std::string kernel_template;  // the template that it was made from
  std::string config;           // "block_m=64 ..."
  std::string tier;             // source of the config: exact, stale, nearest, device, default
  int launches = 0;             // per run, at the sizes that have most of them
  // Per launch, at usual sizes: operations, bytes read and written, and a lower bound for this
  // device.
  double flops = 0, bytes = 0;
  double least_seconds = 0;
  std::vector<std::string> layers;  // of the graph as written that its launches compute
  // The hash of the computation (as in tuning records), and the hash of the source text.
  std::string region_key, source_key;
  std::string variant{};  // "S=128": it is of this variant (CompileOptions::specialize); or ""
  // The choices by which runs have it; none: runs have it at all sizes (of its variant).
  std::vector<SizeChoice> sizes{};
};

class KernelFile;  // tcc/tuned_kernel.hpp

// A device of this machine.
struct DeviceInfo {
  std::string id;      // "cuda:0": an argument of compile()
  std::string kind;    // "cuda", "vulkan"
  int index = 0;       // among the devices of its kind
  std::string name;    // as the driver says: "NVIDIA H200"
  std::string driver;  // name and version
  std::string target;  // the target of its kernels: "cuda:sm_90a"
  std::int64_t memory_bytes = 0;
  std::int64_t max_buffer_bytes = 0;  // the largest tensor
  bool is_cpu = false;                // a software device
};
struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::vector<std::string> missing;  // why a kind has none: "cuda: libcuda.so.1 not found"
};
// Lists the devices of this machine without opening them. "null" is not listed.
DeviceList list_devices();

// The sizes that an open dim may have: the multiples of `multiple` from `least` to `most`.
struct DimRange {
  std::string name;
  std::int64_t least = 0, most = 0, multiple = 1;
};

// A graph that is compiled for and loaded to a device: kernels and weights. It is immutable and may
// be used from several threads; copies share its contents.
class CompiledGraph {
 public:
  std::string device() const;  // "cuda:0"
  std::vector<TensorSpec> inputs() const;
  std::vector<TensorSpec> outputs() const;
  // The names of the open dims: in inputs() and outputs(), dims and bytes that depend on one are
  // -1.
  std::vector<std::string> open_dims() const;
  std::vector<DimRange> dim_ranges() const;
  // The states that each Context keeps from run to run.
  std::vector<TensorSpec> states() const;
  // Return the index of an input or output by its name. Throw Error(bad_input) for an unknown name.
  std::size_t input_index(std::string_view name) const;
  std::size_t output_index(std::string_view name) const;
  std::int64_t launches() const;  // per run, at usual sizes of open dims
  // Device memory that each Context takes for intermediate values; with open dims an estimate.
  std::int64_t arena_bytes() const;
  // Device memory of the weights, which all Contexts share.
  std::int64_t constant_bytes() const;
  std::vector<KernelReport> kernels() const;
  // Returns the source of kernels()[kernel] in CUDA C++ or GLSL; it lives as long as this object.
  // Throws Error(bad_input) for an index beyond the end.
  const std::string& kernel_source(std::size_t kernel) const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  friend CompiledGraph compile(const Graph&, std::string_view, const CompileOptions&);
  friend CompiledGraph compile(const KernelFile&, std::string_view, const CompileOptions&);
  friend class Context;
  friend class Package;  // tcc/package.hpp
  explicit CompiledGraph(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Compiles a graph for a device and loads it. `device` is "cuda:N", "vulkan:N", "null" (it runs
// nothing; it serves tests) or "auto". Throws Error(bad_input) for a mistake in the graph or an
// option, Error(no_device), Error(device) where a kernel's compiler fails or the device has too
// little memory (for one buffer or for all), and Cancelled.
CompiledGraph compile(const Graph& graph, std::string_view device,
                      const CompileOptions& options = {});

// Evaluates the graph on the CPU, op by op with each result rounded to its dtype, and returns the
// outputs. It is slow, and serves to check results. States have their first values. It uses `dims`
// and `dtype` of the options. Throws Error(bad_input) for inputs that do not fit the graph.
std::vector<HostTensor> run_reference(const Graph& graph, std::span<const HostTensor> inputs,
                                      const CompileOptions& options = {});

// How a Context is made.
struct ContextOptions {
  // The caller's stream, as Context(compiled, stream) takes it; none: one of its own.
  std::optional<void*> stream{};
  // Gives the memory of intermediate values and of states: at least that many bytes of the graph's
  // device, at a multiple of 256, from the caller's pool (DeviceBuffer::wrap). It is called while
  // the context is made, and where open dims need more than before. The memory goes, after the
  // stream's work, with the context.
  std::function<DeviceBuffer(std::int64_t bytes)> allocate{};
  std::map<std::string, std::int64_t> dims{};  // sizes of the open dims
};

// Running needs a Context: a stream and the memory of intermediate values and of states. It is not
// thread-safe; threads that run at once have one each. It keeps the compiled graph alive.
class Context {
 public:
  // Makes a context with a stream of its own. Where the compiled graph has open dims, the sizes
  // come with set_shapes(), set_dims() or a run on HostTensors.
  explicit Context(const CompiledGraph& compiled);
  // The same with the sizes of the compiled graph's open dims. Throws Error(bad_input) for one that
  // is missing or unknown, and where the graph cannot have the size.
  Context(const CompiledGraph& compiled, const std::map<std::string, std::int64_t>& dims);
  // Makes a context on the caller's stream, which must outlive it. On CUDA this is a CUstream or
  // cudaStream_t of the device's primary context, null for the default stream. Throws
  // Error(bad_input) on other devices.
  Context(const CompiledGraph& compiled, void* stream);
  // The same with a stream and memory of the caller's. Throws Error(bad_input) where the memory is
  // too small, misplaced or of another device.
  Context(const CompiledGraph& compiled, const ContextOptions& options);
  // Makes a context on the stream of `other`, which may go before it: what the two run is in the
  // order of the calls. Throws Error(bad_input) for another device, and for `dims` as above. Both
  // belong to one thread at a time.
  Context(const CompiledGraph& compiled, const Context& other,
          const std::map<std::string, std::int64_t>& dims = {});
  ~Context();  // the last context of a stream waits for it, unless it is the caller's
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  // Sets the sizes of the open dims for the runs that follow, by the shapes of the inputs in the
  // graph's order, or by name (also that of a dim which is equal to open ones, which must agree
  // with them); dims that are not named keep their sizes. A context keeps what it made for the last
  // 16 sizes: for these, the call allocates nothing, compiles nothing and takes about a
  // microsecond. Throws Error(bad_input), which names the input, its dim, the size and what it
  // breaks (a number of the graph, a range, another input's size); the sizes are as before then.
  void set_shapes(std::span<const std::span<const std::int64_t>> inputs);
  void set_shapes(const std::vector<std::vector<std::int64_t>>& inputs);
  void set_dims(const std::map<std::string, std::int64_t>& dims);
  // Makes the device memory that runs at these sizes need, as large as the largest: runs at sizes
  // that need no more allocate none. Other runs do, at the first run at a larger size.
  void reserve_dims(const std::map<std::string, std::int64_t>& dims);
  // The open dims' sizes; empty before any were set. Those that a run counts are the last run's.
  std::map<std::string, std::int64_t> dims() const;
  // The inputs and outputs at these sizes. Throw Error(bad_input) where there are none yet.
  std::vector<TensorSpec> inputs() const;
  std::vector<TensorSpec> outputs() const;
  // The outputs at these sizes and the largest ones of dims that a run counts on the device (the
  // results of nonzero, say): the room that run_host and run_device need for them. A result lies
  // dense at its beginning, and after the run outputs() has its shape.
  std::vector<TensorSpec> largest_outputs() const;

  // Copies host tensors to device buffers of the context's own, runs the graph, waits and returns
  // the outputs. Open dims have the sizes of the tensors' shapes. Throws Error(bad_input) for a
  // wrong number of inputs, a wrong dtype or a shape that does not fit.
  std::vector<HostTensor> run(std::span<const HostTensor> inputs);
  std::vector<HostTensor> run(std::initializer_list<HostTensor> inputs) {
    return run(std::span<const HostTensor>(inputs.begin(), inputs.size()));
  }
  // Does the same on plain host memory, at the sizes that were set. Each pointer refers to
  // TensorSpec::bytes bytes.
  void run_host(std::span<const void* const> inputs, std::span<void* const> outputs);
  // Does the same with all inputs and all outputs by name. Throws Error(bad_input) for a missing or
  // an unknown name.
  std::map<std::string, HostTensor> run_named(const std::map<std::string, HostTensor>& inputs);

  // Runs on the caller's device memory (CUDA device pointers), in the graph's order. They are
  // dense, row-major and aligned to their elements; outputs overlap no other buffer. The call is
  // asynchronous on the stream: it allocates nothing and does not wait, so that it can be captured
  // in a CUDA graph. Where the graph has dims that a run counts, it waits for each count and cannot
  // be captured; outputs have the room of largest_outputs(). Throws Error(bad_input) for a wrong
  // number of pointers, a null pointer or a pointer that is not aligned to its elements.
  //
  // If a pointer is not a multiple of TensorSpec::alignment, its tensor is copied from or to
  // aligned device memory of the context's own. The first run with such a pointer reserves that
  // memory.
  void run_device(std::span<const void* const> inputs, std::span<void* const> outputs);
  // Does the same with all inputs and all outputs by name.
  void run_device_named(const std::map<std::string, const void*>& inputs,
                        const std::map<std::string, void*>& outputs);
  // Reserves the memory that run_device() needs for pointers with these alignments. This is needed
  // only if the first run with them is captured: nothing may be allocated then, and run_device()
  // throws Error(bad_input).
  void reserve(std::span<const void* const> inputs, std::span<void* const> outputs);
  // Runs on device buffers of any device, in the graph's order, each of TensorSpec::bytes bytes.
  // Inputs may share memory; an output shares none with any other. The call is asynchronous as the
  // one above; it waits only for runs on other streams that write what it reads or use what it
  // writes, and not for those on streams of the caller's. Throws Error(bad_input), which names the
  // tensor.
  void run_device(std::span<const DeviceBuffer> inputs, std::span<const DeviceBuffer> outputs);
  void run_device_named(const std::map<std::string, DeviceBuffer>& inputs,
                        const std::map<std::string, DeviceBuffer>& outputs);
  void reserve(std::span<const DeviceBuffer> inputs, std::span<const DeviceBuffer> outputs);
  // The same with tensors, whose dtypes and shapes are checked too. Open dims have the sizes of the
  // inputs' shapes.
  void run_device(std::span<const DeviceTensor> inputs, std::span<const DeviceTensor> outputs);
  void run_device_named(const std::map<std::string, DeviceTensor>& inputs,
                        const std::map<std::string, DeviceTensor>& outputs);
  void synchronize();  // waits for the stream
  // Calls `use` with the stream (a CUstream of the device's primary context, which is current
  // meanwhile), so that the caller enqueues on it: waits for events, events, kernels, copies.
  // Throws Error(bad_input) on Vulkan, where tcc/vulkan.hpp has semaphores.
  void with_stream(const std::function<void(void* stream)>& use);

  // The states of the graph, by name: the value after the last run, another value for the next one,
  // and the first values again. state() and set_state() wait for the stream. They throw
  // Error(bad_input) for an unknown name, a wrong dtype or a wrong shape. A state that grows may be
  // as long as a last run leaves it: that it is full is said by the next run.
  std::vector<TensorSpec> states() const;  // at the context's sizes, if it has any yet
  HostTensor state(std::string_view name);
  void set_state(std::string_view name, const HostTensor& value);
  void reset_states();
  // Write all states to a .safetensors file, each under its name, and read such a file, which has
  // all of them and nothing else. load_states() changes no state if it throws Error(bad_input),
  // which names the file, for a damaged file or one of other names, dtypes or shapes.
  void save_states(const std::filesystem::path& file);
  void load_states(const std::filesystem::path& file);
  // Makes device memory the state, with the value that it has. Contexts that bind the same memory
  // share the state: each run has what the run before it left, on whichever stream (streams of the
  // caller's are the caller's to order). Slices lie at multiples of what kernels assume, 64 bytes
  // at most. It waits for the stream. Throws Error(bad_input), which names the state, for an
  // unknown name, another size or device, and memory that is part of another state; run() and
  // run_device() do for an input or an output that shares memory with the state. A state that grows
  // takes memory for its largest size, and the `length` of the part that counts. Each context
  // counts for itself: one that shares the memory is told a new length by binding it again.
  void bind_state(std::string_view name, const DeviceBuffer& memory,
                  std::optional<std::int64_t> length = {});
  void bind_state(std::string_view name, const DeviceTensor& tensor,
                  std::optional<std::int64_t> length = {});

  // Returns the device's seconds for one run: the mean of `replays` (at least 1) runs in a row by
  // the device's timers. It runs on the buffers of run() and run_host() with their present
  // contents, and waits.
  double time(int replays = 1);
  // Returns the device's seconds for one launch of each kernel, in the order of
  // CompiledGraph::kernels(): the mean over its launches in one run, each of which is timed; 0 for
  // those that are for other sizes. It waits.
  std::vector<double> time_kernels();
  // Returns how often a run at the context's sizes launches each kernel, in the same order: 0 for
  // those that are for other sizes. Throws Error(bad_input) where there are no sizes yet.
  std::vector<int> kernel_launches();

 private:
  friend struct ContextAccess;  // of files that know what a context is
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

template <class T>
constexpr std::string_view dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_same_v<T, double>)
    return "f64";
  else if constexpr (std::is_same_v<T, float>)
    return "f32";
  else {
    static_assert(std::is_integral_v<T>, "not an element type of tcc");
    constexpr std::string_view names[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
    constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return names[size + (std::is_signed_v<T> ? 0 : 4)];
  }
}

template <class T>
std::span<T> HostTensor::as() {
  const bool bits = (std::is_same_v<T, std::uint16_t> && (dtype == "f16" || dtype == "bf16")) ||
                    (std::is_same_v<T, std::uint8_t> && (dtype == "f8e4m3" || dtype == "f8e5m2"));
  if (!bits && dtype != dtype_of<T>())
    throw Error(ErrorKind::bad_input,
                "the tensor is " + dtype + ", not " + std::string(dtype_of<T>()));
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class T>
std::span<const T> HostTensor::as() const {
  return const_cast<HostTensor*>(this)->as<T>();
}

template <class T>
HostTensor HostTensor::of(std::vector<std::int64_t> shape, const std::vector<T>& values) {
  HostTensor tensor(dtype_of<T>(), std::move(shape));
  const std::span<T> to = tensor.as<T>();
  if (to.size() != values.size())
    throw Error(ErrorKind::bad_input, "the shape has " + std::to_string(to.size()) + " elements, " +
                                          std::to_string(values.size()) + " were given");
  std::copy(values.begin(), values.end(), to.begin());
  return tensor;
}

}  // namespace tcc
#pragma GCC visibility pop
#endif
