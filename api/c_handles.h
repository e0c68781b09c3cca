// The files of the C ABI share these handles, which keep the strings and arrays that they return,
// and the function that turns exceptions into statuses.
#pragma once

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "support/error.h"

#include "tcc/c_api.h"
#include "tcc/tcc.hpp"

namespace tcc::c {

// An input or output.
struct Spec {
  std::string name, dtype, shape_text;
  size_t rank = 0;
  std::vector<int64_t> shape;  // empty for a graph's
  bool is_bound = false;
  int64_t bytes = 0, alignment = 0;
};
std::vector<Spec> specs_of(const std::vector<ValueSpec>& values);
std::vector<Spec> specs_of(const std::vector<TensorSpec>& tensors);
// "[B, 784]".
template <class Dims>
std::string join(const Dims& dims) {
  std::string text;
  for (const auto& dim : dims) text += (text.empty() ? "" : ", ") + str(dim);
  return "[" + text + "]";
}
// A JSON array of the kernels.
std::string report_of(const CompiledGraph& compiled);

// Keeps the message for tcc_last_error().
tcc_status fail(tcc_status status, const char* message);

// Runs `body`; an exception becomes a status.
template <class Body>
tcc_status guard(Body body) {
  try {
    body();
    return TCC_OK;
  } catch (const Error& error) {
    return fail(static_cast<tcc_status>(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(TCC_DEVICE_FAILED, "out of host memory");
  } catch (const std::exception& error) { return fail(TCC_INTERNAL, error.what()); } catch (...) {
    return fail(TCC_INTERNAL, "an exception of an unknown type");
  }
}

template <class T>
T& given(T* pointer, const char* name) {
  if (!pointer) fail_input(name, " is NULL");
  return *pointer;
}

template <class T>
std::span<T> span_of(T* pointers, size_t count, const char* name) {
  if (count > 0) given(pointers, name);
  return {pointers, count};
}

// Returns the caller's struct as this version knows it: fields that an older caller lacks are zero.
template <class T>
T sized(const T& theirs, const char* type) {
  if (theirs.size < sizeof(theirs.size)) fail_input(type, ": set its size to sizeof(", type, ")");
  if (theirs.size > sizeof(T)) {
    const auto* tail = reinterpret_cast<const char*>(&theirs);
    for (size_t i = sizeof(T); i < theirs.size; ++i)
      if (tail[i] != 0) fail_input(type, ": has fields that tcc ", version(), " does not know");
  }
  T ours{};
  std::memcpy(&ours, &theirs, std::min(theirs.size, sizeof(T)));
  return ours;
}

// Fills the caller's struct as far as its version goes. `filled.size` is set here.
template <class T>
void fill(T* theirs, T filled, const char* type) {
  const size_t size = given(theirs, type).size;
  if (size < sizeof(size)) fail_input(type, ": set its size to sizeof(", type, ")");
  filled.size = size;
  std::memcpy(theirs, &filled, std::min(size, sizeof filled));
}

// Reads the dims of options of any kind.
template <class Options>
std::map<std::string, std::int64_t> dims_of(const Options& options) {
  std::map<std::string, std::int64_t> dims;
  const auto names = span_of(options.dim_names, options.num_dims, "dim_names");
  const auto values = span_of(options.dim_values, options.num_dims, "dim_values");
  for (size_t i = 0; i < names.size(); ++i)
    dims[&given(names[i], "a name in dim_names")] = values[i];
  return dims;
}

// Fills `info` with the input or output. TCC_BAD_INPUT for an index beyond the end.
void describe(const std::vector<Spec>& specs, size_t index, tcc_tensor_info* info);

// The buffers of a list that the messages call `name`.
std::vector<DeviceBuffer> memory_of(tcc_buffer* const* buffers, size_t count, const char* name);

// Returns the defaults where `given_options` is NULL.
CompileOptions options_of(const tcc_compile_options* given_options);

}  // namespace tcc::c

struct tcc_graph {
  explicit tcc_graph(tcc::Graph g)
      : graph(std::move(g)),
        inputs(tcc::c::specs_of(graph.inputs())),
        outputs(tcc::c::specs_of(graph.outputs())),
        states(tcc::c::specs_of(graph.states())) {}
  const tcc::Graph graph;
  const std::vector<tcc::c::Spec> inputs, outputs, states;
  mutable std::mutex yaml_mutex;
  mutable std::string yaml_text;  // made at the first call
};

struct tcc_compiled {
  explicit tcc_compiled(tcc::CompiledGraph c)
      : compiled(std::move(c)),
        inputs(tcc::c::specs_of(compiled.inputs())),
        outputs(tcc::c::specs_of(compiled.outputs())),
        states(tcc::c::specs_of(compiled.states())),
        device(compiled.device()) {}
  // It is made at the first call, since it has the hash of every kernel's source.
  const std::string& report() const {
    std::call_once(report_made, [this] { report_text = tcc::c::report_of(compiled); });
    return report_text;
  }
  const tcc::CompiledGraph compiled;
  const std::vector<tcc::c::Spec> inputs, outputs, states;
  const std::string device;
  mutable std::once_flag report_made;
  mutable std::string report_text;
};

struct tcc_buffer {
  tcc::DeviceBuffer memory;
};

struct tcc_tensor {
  explicit tcc_tensor(tcc::DeviceTensor t) { assign(std::move(t)); }
  void assign(tcc::DeviceTensor t) {
    tensor = std::move(t);
    specs = tcc::c::specs_of(
        std::vector<tcc::TensorSpec>{{"", tensor.dtype(), tensor.shape(), tensor.bytes(), 0}});
    device = tensor.device();
  }
  tcc::DeviceTensor tensor;
  std::vector<tcc::c::Spec> specs;  // one
  std::string device;
};

struct tcc_context {
  tcc_context(const tcc::CompiledGraph& c) : compiled(c), context(c) {}
  tcc_context(const tcc::CompiledGraph& c, const tcc_context& other)
      : compiled(c), context(c, other.context) {}
  tcc_context(const tcc::CompiledGraph& c, void* stream) : compiled(c), context(c, stream) {}
  tcc_context(const tcc::CompiledGraph& c, const tcc::ContextOptions& options)
      : compiled(c), context(c, options) {}
  const tcc::CompiledGraph compiled;
  tcc::Context context;
  std::vector<std::span<const int64_t>> shapes;  // reused
  std::vector<tcc::c::Spec> specs;               // told last
};
