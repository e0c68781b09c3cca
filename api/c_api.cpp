// The C ABI on top of the C++ API. Handles cache what they give as strings and arrays.
#include "tcc/c_api.h"

#include <cstring>
#include <new>

#include "support/error.h"
#include "support/json_writer.h"

#include "tcc/tcc.hpp"

namespace {

struct Spec {
  std::string name, dtype, shape_text;
  size_t rank = 0;
  std::vector<int64_t> shape;  // empty for a graph's
  bool is_bound = false;
  int64_t bytes = 0, alignment = 0;
};

template <class Dims>
std::string join(const Dims& dims) {
  std::string text;
  for (const auto& dim : dims) text += (text.empty() ? "" : ", ") + tcc::str(dim);
  return "[" + text + "]";
}

std::vector<Spec> specs_of(const std::vector<tcc::ValueSpec>& values) {
  std::vector<Spec> specs;
  for (const auto& v : values)
    specs.push_back({v.name, v.dtype, join(v.shape), v.shape.size(), {}, false, 0});
  return specs;
}

std::vector<Spec> specs_of(const std::vector<tcc::TensorSpec>& tensors) {
  std::vector<Spec> specs;
  for (const auto& t : tensors)
    specs.push_back(
        {t.name, t.dtype, join(t.shape), t.shape.size(), t.shape, true, t.bytes, t.alignment});
  return specs;
}

std::string report_of(const tcc::CompiledGraph& compiled) {
  tcc::JsonWriter json;
  json.begin_array();
  for (const tcc::KernelReport& kernel : compiled.kernels())
    json.begin_object()
        .member("region", kernel.region)
        .member("template", kernel.kernel_template)
        .member("config", kernel.config)
        .member("tier", kernel.tier)
        .member("launches", kernel.launches)
        .member("flops", kernel.flops)
        .member("bytes", kernel.bytes)
        .end_object();
  json.end_array();
  return json.text();
}

}  // namespace

struct tcc_graph {
  explicit tcc_graph(tcc::Graph g)
      : graph(std::move(g)), inputs(specs_of(graph.inputs())), outputs(specs_of(graph.outputs())) {}
  const tcc::Graph graph;
  const std::vector<Spec> inputs, outputs;
};

struct tcc_compiled {
  explicit tcc_compiled(tcc::CompiledGraph c)
      : compiled(std::move(c)),
        inputs(specs_of(compiled.inputs())),
        outputs(specs_of(compiled.outputs())),
        device(compiled.device()),
        report(report_of(compiled)) {}
  const tcc::CompiledGraph compiled;
  const std::vector<Spec> inputs, outputs;
  const std::string device, report;
};

struct tcc_context {
  tcc::Context context;
};

namespace {

// A buffer rather than a string: saying that memory is out must not need any.
constexpr size_t kMaxError = 4096;
thread_local char last_error[kMaxError] = "";

tcc_status fail(tcc_status status, const char* message) {
  std::strncpy(last_error, message, kMaxError - 1);
  return status;
}

// Runs `body`; an exception becomes a status.
template <class Body>
tcc_status guard(Body body) {
  try {
    body();
    return TCC_OK;
  } catch (const tcc::Error& error) {
    return fail(static_cast<tcc_status>(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(TCC_DEVICE_FAILED, "out of host memory");
  } catch (const std::exception& error) { return fail(TCC_INTERNAL, error.what()); } catch (...) {
    return fail(TCC_INTERNAL, "an exception of an unknown type");
  }
}

template <class T>
T& given(T* pointer, const char* name) {
  if (!pointer) tcc::fail_input(name, " is NULL");
  return *pointer;
}

// The caller's struct as this version knows it: fields that an older caller lacks are zero.
template <class T>
T sized(const T& theirs, const char* type) {
  if (theirs.size < sizeof(theirs.size))
    tcc::fail_input(type, ": set its size to sizeof(", type, ")");
  if (theirs.size > sizeof(T)) {
    const auto* tail = reinterpret_cast<const char*>(&theirs);
    for (size_t i = sizeof(T); i < theirs.size; ++i)
      if (tail[i] != 0)
        tcc::fail_input(type, ": has fields that tcc ", tcc::version(), " does not know");
  }
  T ours{};
  std::memcpy(&ours, &theirs, std::min(theirs.size, sizeof(T)));
  return ours;
}

void describe(const std::vector<Spec>& specs, size_t index, tcc_tensor_info* info) {
  const size_t size = given(info, "info").size;
  if (size < sizeof(size))
    tcc::fail_input("tcc_tensor_info: set its size to sizeof(tcc_tensor_info)");
  if (index >= specs.size()) tcc::fail_input("index ", index, " of ", specs.size());
  const Spec& spec = specs[index];
  const tcc_tensor_info filled = {size,
                                  spec.name.c_str(),
                                  spec.dtype.c_str(),
                                  spec.shape_text.c_str(),
                                  spec.rank,
                                  spec.is_bound ? spec.shape.data() : nullptr,
                                  spec.bytes,
                                  spec.alignment};
  std::memcpy(info, &filled, std::min(size, sizeof filled));
}

tcc::CompileOptions options_of(const tcc_compile_options* given_options) {
  tcc::CompileOptions options;
  if (!given_options) return options;
  const tcc_compile_options theirs = sized(*given_options, "tcc_compile_options");
  if (theirs.num_dims > 0)
    given(theirs.dim_names, "dim_names"), given(theirs.dim_values, "dim_values");
  for (size_t i = 0; i < theirs.num_dims; ++i)
    options.dims[&given(theirs.dim_names[i], "a name in dim_names")] = theirs.dim_values[i];
  if (theirs.num_tuning > 0) given(theirs.tuning, "tuning");
  for (size_t i = 0; i < theirs.num_tuning; ++i)
    options.tuning.emplace_back(&given(theirs.tuning[i], "a path in tuning"));
  if (theirs.dtype) options.dtype = theirs.dtype;
  if (theirs.matmul_precision) options.matmul_precision = theirs.matmul_precision;
  if (theirs.cache_dir) options.cache_dir = theirs.cache_dir;
  options.use_cache = !theirs.no_cache;
  options.strict_rounding = theirs.strict_rounding != 0;
  return options;
}

template <class T>
std::span<T> span_of(T* pointers, size_t count, const char* name) {
  if (count > 0) given(pointers, name);
  return {pointers, count};
}

}  // namespace

const char* tcc_version(void) noexcept { return TCC_VERSION; }
const char* tcc_last_error(void) noexcept { return last_error; }

tcc_status tcc_graph_load(const char* path, tcc_graph** graph) noexcept {
  return guard([&] {
    given(graph, "graph");
    *graph = new tcc_graph(tcc::Graph::load(&given(path, "path")));
  });
}

tcc_status tcc_graph_from_yaml(const char* text, const char* folder, tcc_graph** graph) noexcept {
  return guard([&] {
    given(graph, "graph");
    *graph = new tcc_graph(tcc::Graph::from_yaml(&given(text, "text"), folder ? folder : "."));
  });
}

void tcc_graph_destroy(tcc_graph* graph) noexcept { delete graph; }

size_t tcc_graph_num_inputs(const tcc_graph* graph) noexcept {
  return graph ? graph->inputs.size() : 0;
}
size_t tcc_graph_num_outputs(const tcc_graph* graph) noexcept {
  return graph ? graph->outputs.size() : 0;
}

tcc_status tcc_graph_input(const tcc_graph* graph, size_t index, tcc_tensor_info* info) noexcept {
  return guard([&] { describe(given(graph, "graph").inputs, index, info); });
}

tcc_status tcc_graph_output(const tcc_graph* graph, size_t index, tcc_tensor_info* info) noexcept {
  return guard([&] { describe(given(graph, "graph").outputs, index, info); });
}

tcc_status tcc_compile(const tcc_graph* graph, const char* device,
                       const tcc_compile_options* options, tcc_compiled** compiled) noexcept {
  return guard([&] {
    given(compiled, "compiled");
    *compiled = new tcc_compiled(
        tcc::compile(given(graph, "graph").graph, &given(device, "device"), options_of(options)));
  });
}

void tcc_compiled_destroy(tcc_compiled* compiled) noexcept { delete compiled; }

size_t tcc_compiled_num_inputs(const tcc_compiled* compiled) noexcept {
  return compiled ? compiled->inputs.size() : 0;
}
size_t tcc_compiled_num_outputs(const tcc_compiled* compiled) noexcept {
  return compiled ? compiled->outputs.size() : 0;
}

tcc_status tcc_compiled_input(const tcc_compiled* compiled, size_t index,
                              tcc_tensor_info* info) noexcept {
  return guard([&] { describe(given(compiled, "compiled").inputs, index, info); });
}

tcc_status tcc_compiled_output(const tcc_compiled* compiled, size_t index,
                               tcc_tensor_info* info) noexcept {
  return guard([&] { describe(given(compiled, "compiled").outputs, index, info); });
}

const char* tcc_device(const tcc_compiled* compiled) noexcept {
  return compiled ? compiled->device.c_str() : "";
}
const char* tcc_kernel_report(const tcc_compiled* compiled) noexcept {
  return compiled ? compiled->report.c_str() : "[]";
}
int64_t tcc_launches(const tcc_compiled* compiled) noexcept {
  return compiled ? compiled->compiled.launches() : 0;
}
int64_t tcc_arena_bytes(const tcc_compiled* compiled) noexcept {
  return compiled ? compiled->compiled.arena_bytes() : 0;
}
int64_t tcc_constant_bytes(const tcc_compiled* compiled) noexcept {
  return compiled ? compiled->compiled.constant_bytes() : 0;
}

tcc_status tcc_context_create(const tcc_compiled* compiled, tcc_context** context) noexcept {
  return guard([&] {
    given(context, "context");
    *context = new tcc_context{tcc::Context(given(compiled, "compiled").compiled)};
  });
}

tcc_status tcc_context_create_on_stream(const tcc_compiled* compiled, void* stream,
                                        tcc_context** context) noexcept {
  return guard([&] {
    given(context, "context");
    *context = new tcc_context{tcc::Context(given(compiled, "compiled").compiled, stream)};
  });
}

void tcc_context_destroy(tcc_context* context) noexcept { delete context; }

tcc_status tcc_context_run(tcc_context* context, const void* const* inputs, size_t num_inputs,
                           void* const* outputs, size_t num_outputs) noexcept {
  return guard([&] {
    given(context, "context")
        .context.run_device(span_of(inputs, num_inputs, "inputs"),
                            span_of(outputs, num_outputs, "outputs"));
  });
}

tcc_status tcc_context_reserve(tcc_context* context, const void* const* inputs, size_t num_inputs,
                               void* const* outputs, size_t num_outputs) noexcept {
  return guard([&] {
    given(context, "context")
        .context.reserve(span_of(inputs, num_inputs, "inputs"),
                         span_of(outputs, num_outputs, "outputs"));
  });
}

tcc_status tcc_context_run_host(tcc_context* context, const void* const* inputs, size_t num_inputs,
                                void* const* outputs, size_t num_outputs) noexcept {
  return guard([&] {
    given(context, "context")
        .context.run_host(span_of(inputs, num_inputs, "inputs"),
                          span_of(outputs, num_outputs, "outputs"));
  });
}

tcc_status tcc_context_synchronize(tcc_context* context) noexcept {
  return guard([&] { given(context, "context").context.synchronize(); });
}
