// The C ABI on top of the C++ API: compiled graphs, running.
#include "api/c_handles.h"
#include "support/json_writer.h"
#include "support/plural.h"

namespace tcc::c {
namespace {

// A buffer rather than a string: saying that memory is out must not need any.
constexpr size_t kMaxError = 4096;
thread_local char last_error[kMaxError] = "";

}  // namespace

tcc_status fail(tcc_status status, const char* message) {
  std::strncpy(last_error, message, kMaxError - 1);
  return status;
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
  for (const tcc::KernelReport& kernel : compiled.kernels()) {
    json.begin_object()
        .member("region", kernel.region)
        .member("template", kernel.kernel_template)
        .member("config", kernel.config)
        .member("tier", kernel.tier)
        .member("launches", kernel.launches)
        .member("flops", kernel.flops)
        .member("bytes", kernel.bytes)
        .member("least_seconds", kernel.least_seconds)
        .member("region_key", kernel.region_key)
        .member("source_key", kernel.source_key)
        .member("variant", kernel.variant)
        .key("layers")
        .begin_array();
    for (const std::string& layer : kernel.layers) json.value(layer);
    json.end_array().key("sizes").begin_array();
    for (const tcc::SizeChoice& one : kernel.sizes) {
      json.begin_object().member("table", one.table).member("choice", one.choice);
      json.member("text", one.text).key("ranges").begin_array();
      for (const std::vector<tcc::DimBounds>& range : one.ranges) {
        json.begin_array();
        for (const tcc::DimBounds& bounds : range)
          json.begin_object()
              .member("size", bounds.size)
              .member("least", bounds.least)
              .member("most", bounds.most)
              .end_object();
        json.end_array();
      }
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
  return json.text();
}

void describe(const std::vector<Spec>& specs, size_t index, tcc_tensor_info* info) {
  given(info, "info");
  if (index >= specs.size()) fail_input("index ", index, " of ", specs.size());
  const Spec& spec = specs[index];
  fill(info,
       {0, spec.name.c_str(), spec.dtype.c_str(), spec.shape_text.c_str(), spec.rank,
        spec.is_bound ? spec.shape.data() : nullptr, spec.bytes, spec.alignment},
       "tcc_tensor_info");
}

namespace {

// The pointers in the graph's order: `index` finds a name's place, `kind` is "input" or "output".
template <class T, class Index>
std::vector<T> in_order(size_t total, const char* kind, const char* const* names, const T* pointers,
                        size_t count, const Index& index) {
  const auto all = span_of(names, count, "the list of names");
  const auto values = span_of(pointers, count, "the list of pointers");
  std::vector<T> ordered(total);
  std::vector<bool> seen(total);
  for (size_t i = 0; i < count; ++i) {
    const size_t place = index(&given(all[i], "a name"));
    if (seen[place]) fail_input(kind, " '", all[i], "' is given twice");
    seen[place] = true;
    ordered[place] = values[i];
  }
  if (count != total) fail_input("the graph has ", counted(total, kind), ", not ", count);
  return ordered;
}

std::vector<const void*> inputs_of(const tcc_context& context, const char* const* names,
                                   const void* const* pointers, size_t count) {
  const CompiledGraph& compiled = context.compiled;
  return in_order(compiled.inputs().size(), "input", names, pointers, count,
                  [&](const char* name) { return compiled.input_index(name); });
}

std::vector<void*> outputs_of(const tcc_context& context, const char* const* names,
                              void* const* pointers, size_t count) {
  const CompiledGraph& compiled = context.compiled;
  return in_order(compiled.outputs().size(), "output", names, pointers, count,
                  [&](const char* name) { return compiled.output_index(name); });
}

}  // namespace

}  // namespace tcc::c

using namespace tcc::c;  // NOLINT: what follows is the ABI

const char* tcc_version(void) noexcept { return TCC_VERSION; }
const char* tcc_last_error(void) noexcept { return last_error; }

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

size_t tcc_compiled_num_states(const tcc_compiled* compiled) noexcept {
  return compiled ? compiled->states.size() : 0;
}

tcc_status tcc_compiled_state(const tcc_compiled* compiled, size_t index,
                              tcc_tensor_info* info) noexcept {
  return guard([&] { describe(given(compiled, "compiled").states, index, info); });
}

tcc_status tcc_compiled_input_index(const tcc_compiled* compiled, const char* name,
                                    size_t* index) noexcept {
  return guard([&] {
    given(index, "index");
    *index = given(compiled, "compiled").compiled.input_index(&given(name, "name"));
  });
}

tcc_status tcc_compiled_output_index(const tcc_compiled* compiled, const char* name,
                                     size_t* index) noexcept {
  return guard([&] {
    given(index, "index");
    *index = given(compiled, "compiled").compiled.output_index(&given(name, "name"));
  });
}

const char* tcc_device(const tcc_compiled* compiled) noexcept {
  return compiled ? compiled->device.c_str() : "";
}
const char* tcc_kernel_report(const tcc_compiled* compiled) noexcept {
  try {
    return compiled ? compiled->report().c_str() : "[]";
  } catch (const std::bad_alloc&) { return "[]"; }
}
const char* tcc_kernel_source(const tcc_compiled* compiled, size_t index) noexcept {
  try {
    return compiled ? compiled->compiled.kernel_source(index).c_str() : nullptr;
  } catch (const std::exception&) { return nullptr; }
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
    *context = new tcc_context(given(compiled, "compiled").compiled);
  });
}

tcc_status tcc_context_create_on_stream(const tcc_compiled* compiled, void* stream,
                                        tcc_context** context) noexcept {
  return guard([&] {
    given(context, "context");
    *context = new tcc_context(given(compiled, "compiled").compiled, stream);
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

tcc_status tcc_context_run_named(tcc_context* context, const char* const* input_names,
                                 const void* const* inputs, size_t num_inputs,
                                 const char* const* output_names, void* const* outputs,
                                 size_t num_outputs) noexcept {
  return guard([&] {
    tcc_context& c = given(context, "context");
    c.context.run_device(inputs_of(c, input_names, inputs, num_inputs),
                         outputs_of(c, output_names, outputs, num_outputs));
  });
}

tcc_status tcc_context_run_host_named(tcc_context* context, const char* const* input_names,
                                      const void* const* inputs, size_t num_inputs,
                                      const char* const* output_names, void* const* outputs,
                                      size_t num_outputs) noexcept {
  return guard([&] {
    tcc_context& c = given(context, "context");
    c.context.run_host(inputs_of(c, input_names, inputs, num_inputs),
                       outputs_of(c, output_names, outputs, num_outputs));
  });
}

tcc_status tcc_context_time(tcc_context* context, int32_t replays, double* seconds) noexcept {
  return guard([&] {
    given(seconds, "seconds");
    *seconds = given(context, "context").context.time(replays);
  });
}

tcc_status tcc_context_time_kernels(tcc_context* context, double* seconds, size_t size) noexcept {
  return guard([&] {
    given(seconds, "seconds");
    const std::vector<double> times = given(context, "context").context.time_kernels();
    if (size != times.size())
      tcc::fail_input("room for ", size, " times of ", times.size(), " kernels");
    std::copy(times.begin(), times.end(), seconds);
  });
}

tcc_status tcc_context_kernel_launches(tcc_context* context, int64_t* launches,
                                       size_t size) noexcept {
  return guard([&] {
    given(launches, "launches");
    const std::vector<int> counts = given(context, "context").context.kernel_launches();
    if (size != counts.size())
      tcc::fail_input("room for ", size, " numbers of ", counts.size(), " kernels");
    std::copy(counts.begin(), counts.end(), launches);
  });
}

tcc_status tcc_context_synchronize(tcc_context* context) noexcept {
  return guard([&] { given(context, "context").context.synchronize(); });
}
