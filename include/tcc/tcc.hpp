// tcc's C++ API: load a graph, compile it for a device, run it. `find_package(tcc)`, target
// tcc::tcc; docs/embedding.md.
//
//   tcc::Graph graph = tcc::Graph::load("mlp.yaml");
//   tcc::CompiledGraph compiled = tcc::compile(graph, "auto", {.dims = {{"B", 8}}});
//   tcc::Context context(compiled);
//   std::vector<tcc::HostTensor> outputs = context.run(inputs);
//
// Everything throws tcc::Error, or std::bad_alloc. Element types are named as in graph files:
// "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8" to "i64", "u8" to "u64", "bool".
#pragma once

#if __cplusplus < 202002L
#error "tcc needs C++20: compile with -std=c++20 (or use the C interface, tcc/c_api.h)"
#else

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tcc/error.hpp"
#include "tcc/log.hpp"
#include "tcc/progress.hpp"

#pragma GCC visibility push(default)
namespace tcc {

std::string_view version();  // "0.1.0"

// An input or output of a graph; its dims are numbers or expressions of the graph's symbols: "B",
// "2*B".
struct ValueSpec {
  std::string name, dtype;
  std::vector<std::string> shape;
};

// The same once it is compiled: dense, row-major.
struct TensorSpec {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  std::int64_t alignment = 1;  // of pointers that Context::run_device uses without a copy, in bytes
};

// The dtype of a C++ type: dtype_of<float>() is "f32".
template <class T>
constexpr std::string_view dtype_of();

// A dense, row-major tensor in host memory.
struct HostTensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  HostTensor() = default;
  // Zero-filled. Throws Error(bad_input) for an unknown dtype, a negative dim or a size that
  // overflows.
  HostTensor(std::string_view dtype, std::vector<std::int64_t> shape);
  explicit HostTensor(const TensorSpec& spec) : HostTensor(spec.dtype, spec.shape) {}
  // A copy of `values`, which must be as many as the shape says.
  template <class T>
  static HostTensor of(std::vector<std::int64_t> shape, const std::vector<T>& values);

  // The elements. Throws Error(bad_input) when they are of another type; f16 and bf16 are
  // std::uint16_t here, f8e4m3 and f8e5m2 std::uint8_t.
  template <class T>
  std::span<T> as();
  template <class T>
  std::span<const T> as() const;
};

// Where a graph in memory finds what it does not hold itself.
struct MemoryOptions {
  // As in Graph::load.
  std::map<std::string, std::int64_t> dims{};
  // The bytes of the files that the graph names (weights, external data), by the names that it
  // gives them. They are not copied: they must live as long as the graph and its copies.
  std::map<std::string, std::span<const std::byte>> files{};
  // For an ONNX model's external data that is not in `files`: fills `to` with the bytes of `name`
  // from `offset` on; false where it has none. Called on first use, when the graph is compiled, from
  // several threads at a time.
  std::function<bool(std::string_view name, std::uint64_t offset, std::span<std::byte> to)> read{};
  // The folder of the other files that it names; "": none is opened.
  std::filesystem::path folder{};
};

// A graph as it was written: its dims may still be symbols. Immutable; copies share it.
class Graph {
 public:
  // A .yaml (docs/yaml-format.md) or .onnx file (docs/onnx.md). Weight files must lie in its
  // folder; they are read when it is compiled. `dims` are numbers from the start: an ONNX graph
  // whose structure depends on a dim needs it here.
  static Graph load(const std::filesystem::path& path,
                    const std::map<std::string, std::int64_t>& dims = {});
  // The same from memory; `folder` is where weight files are looked for.
  static Graph from_yaml(std::string_view text, const std::filesystem::path& folder = ".");
  static Graph from_yaml(std::string_view text, const MemoryOptions& options);
  // An ONNX model: the bytes of its .onnx file, which are not needed afterwards.
  static Graph from_onnx(std::span<const std::byte> model, const MemoryOptions& options = {});

  std::string name() const;
  std::map<std::string, std::int64_t> dims() const;  // symbols and their default values
  std::vector<ValueSpec> inputs() const;
  std::vector<ValueSpec> outputs() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit Graph(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

struct CompileOptions {
  std::map<std::string, std::int64_t> dims{};  // of symbols; the graph's defaults fill the rest
  std::string dtype{};  // "f32", "f16", "bf16": casts the graph's floating point; "" leaves it
  // Of f32 and f8 products: "highest", "high" or "medium".
  std::string matmul_precision = "highest";
  bool strict_rounding = false;  // round after every op, as an eager framework does
  bool fuse = true;              // false: one kernel per op
  // Files and folders of tuning records, besides $TCC_TUNING_PATH.
  std::vector<std::filesystem::path> tuning{};
  bool use_cache = true;              // of compiled kernels, on disk
  std::filesystem::path cache_dir{};  // "": $TCC_CACHE_DIR, else ~/.cache/tcc
  // Told of tuning records that are damaged and skipped; by default the log is (tcc/log.hpp).
  std::function<void(const std::string&)> warn{};
  // Told how far compile() is, from any thread, one call at a time.
  std::function<void(const CompileProgress&)> progress{};
  // Asked between passes, kernels and weights, from any thread: true ends compile(), which throws
  // Cancelled. What is being compiled is waited for.
  std::function<bool()> cancelled{};
};

// What became of the graph: one entry per distinct kernel.
struct KernelReport {
  std::string region;           // the ops that are fused in it
  std::string kernel_template;  // what it was made from
  std::string config;           // "block_m=64 ..."
  std::string tier;  // where the config came from: exact, stale, nearest, device, default
  int launches = 0;  // per run
  double flops = 0, bytes = 0;      // per launch: operations, and bytes that must move
  double least_seconds = 0;         // per launch: what the device needs for them at least
  std::vector<std::string> layers;  // of the user's graph, which its launches compute
  // Hashes: of what it computes (as in tuning records), and of its source text.
  std::string region_key, source_key;
};

class KernelFile;  // tcc/tuned_kernel.hpp

// A device of this machine.
struct DeviceInfo {
  std::string id;      // "cuda:0": what compile() takes
  std::string kind;    // "cuda", "vulkan"
  int index = 0;       // of its kind
  std::string name;    // as the driver says: "NVIDIA H200"
  std::string driver;  // name and version
  std::string target;  // what kernels are compiled for: "cuda:sm_90a"
  std::int64_t memory_bytes = 0;
  std::int64_t max_buffer_bytes = 0;  // of one tensor
  bool is_cpu = false;                // a software device
};
struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::vector<std::string> missing;  // "cuda: libcuda.so.1 not found": why there are not more
};
// Opens none of them. "null" is not listed.
DeviceList list_devices();

// A graph on a device: kernels and weights. Immutable, may be used from several threads; copies
// share it.
class CompiledGraph {
 public:
  std::string device() const;  // "cuda:0"
  std::vector<TensorSpec> inputs() const;
  std::vector<TensorSpec> outputs() const;
  // The place of an input or output in them. Throws Error(bad_input) for a name that is none.
  std::size_t input_index(std::string_view name) const;
  std::size_t output_index(std::string_view name) const;
  std::int64_t launches() const;  // per run
  std::int64_t arena_bytes()
      const;  // device memory that each Context takes for intermediate values
  std::int64_t constant_bytes() const;  // device memory of the weights, shared by all
  std::vector<KernelReport> kernels() const;
  // The source of one of them, CUDA C++ or GLSL; lives as long as this. Throws Error(bad_input)
  // where there is none of this number.
  const std::string& kernel_source(std::size_t kernel) const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  friend CompiledGraph compile(const Graph&, std::string_view, const CompileOptions&);
  friend CompiledGraph compile(const KernelFile&, std::string_view, const CompileOptions&);
  friend class Context;
  explicit CompiledGraph(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// `device` is "cuda:N", "vulkan:N", "null" (runs nothing: for tests) or "auto". Throws Error:
// bad_input for the graph or an option, no_device, device (a compiler's error, or more memory than
// the device has, in one buffer or in all); Cancelled.
CompiledGraph compile(const Graph& graph, std::string_view device,
                      const CompileOptions& options = {});

// The reference's result: the graph evaluated on the CPU, op by op, slowly. Uses dims and dtype of
// the options.
std::vector<HostTensor> run_reference(const Graph& graph, std::span<const HostTensor> inputs,
                                      const CompileOptions& options = {});

// What running needs besides the compiled graph: a stream and the memory of intermediate values.
// One per thread; not thread-safe. Keeps the compiled graph alive.
class Context {
 public:
  // With a stream of its own.
  explicit Context(const CompiledGraph& compiled);
  // On the caller's stream (CUDA: a CUstream or cudaStream_t of the device's primary context, null
  // for the default stream), which must outlive this. Throws Error(bad_input) on other devices.
  Context(const CompiledGraph& compiled, void* stream);
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  // On host tensors, through device buffers of the context's own; waits for the result. Throws
  // Error(bad_input) for another number of inputs, another dtype or shape.
  std::vector<HostTensor> run(std::span<const HostTensor> inputs);
  // The same on plain host memory, each as large as TensorSpec::bytes says.
  void run_host(std::span<const void* const> inputs, std::span<void* const> outputs);
  // The same by name, in any order: every input, and all outputs come back. Throws
  // Error(bad_input) for a name that is missing or none of the graph's.
  std::map<std::string, HostTensor> run_named(const std::map<std::string, HostTensor>& inputs);

  // On the caller's device buffers (CUDA device pointers), in the graph's order, dense, row-major,
  // aligned to their elements; outputs overlap nothing else. Asynchronous on the stream: allocates
  // and waits for nothing, so that it can be captured in a CUDA graph. Throws Error(bad_input) for
  // a wrong number of pointers, a null or a misaligned one.
  //
  // A value whose pointer is no multiple of TensorSpec::alignment is copied from or to aligned
  // memory of the context's own, on the device; the first run with such a pointer reserves it.
  void run_device(std::span<const void* const> inputs, std::span<void* const> outputs);
  // The same by name: all inputs and all outputs.
  void run_device_named(const std::map<std::string, const void*>& inputs,
                        const std::map<std::string, void*>& outputs);
  // Reserves that memory ahead, for pointers that are aligned alike. Needed only where the first
  // run with them is captured: that throws Error(bad_input), since nothing may be allocated then.
  void reserve(std::span<const void* const> inputs, std::span<void* const> outputs);
  void synchronize();  // waits for the stream

  // Seconds of the device for one run: the mean of `replays` (at least 1) in a row, by its timers,
  // on the buffers of run() and run_host() with what they hold. Waits.
  double time(int replays = 1);
  // Seconds of the device for one launch of each kernel, in the order of CompiledGraph::kernels():
  // the mean over its launches in one run, each with a timer around it. Waits.
  std::vector<double> time_kernels();

 private:
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
