// The C ABI on top of the C++ API: graphs and compiling.
#include "api/c_handles.h"

namespace tcc::c {

std::vector<Spec> specs_of(const std::vector<tcc::ValueSpec>& values) {
  std::vector<Spec> specs;
  for (const auto& v : values)
    specs.push_back({v.name, v.dtype, join(v.shape), v.shape.size(), {}, false, 0});
  return specs;
}

namespace {

MemoryOptions options_of(const tcc_graph_options* given_options) {
  MemoryOptions options;
  if (!given_options) return options;
  const tcc_graph_options theirs = sized(*given_options, "tcc_graph_options");
  options.dims = dims_of(theirs);
  const auto names = span_of(theirs.file_names, theirs.num_files, "file_names");
  const auto data = span_of(theirs.file_data, theirs.num_files, "file_data");
  const auto sizes = span_of(theirs.file_sizes, theirs.num_files, "file_sizes");
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = &given(names[i], "a name in file_names");
    if (sizes[i] > 0 && !data[i]) fail_input("the data of '", name, "' in file_data is NULL");
    options.files[name] = {static_cast<const std::byte*>(data[i]), sizes[i]};
  }
  const auto states = span_of(theirs.state_inputs, theirs.num_states, "state_inputs");
  const auto nexts = span_of(theirs.state_outputs, theirs.num_states, "state_outputs");
  for (size_t i = 0; i < states.size(); ++i)
    if (!options.states
             .emplace(&given(states[i], "a name in state_inputs"),
                      &given(nexts[i], "a name in state_outputs"))
             .second)
      fail_input("'", states[i], "' is twice in state_inputs");
  const auto inputs = span_of(theirs.input_names, theirs.num_inputs, "input_names");
  const auto dtypes = span_of(theirs.input_dtypes, theirs.num_inputs, "input_dtypes");
  const auto shapes = span_of(theirs.input_shapes, theirs.num_inputs, "input_shapes");
  const auto ranks = span_of(theirs.input_ranks, theirs.num_inputs, "input_ranks");
  const auto tensors = span_of(theirs.input_data, theirs.num_inputs, "input_data");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = &given(inputs[i], "a name in input_names");
    const auto shape = span_of(shapes[i], ranks[i], "a shape in input_shapes");
    HostTensor tensor(&given(dtypes[i], "a dtype in input_dtypes"), {shape.begin(), shape.end()});
    if (!tensor.bytes.empty()) {
      if (!tensors[i]) fail_input("the data of '", name, "' in input_data is NULL");
      std::memcpy(tensor.bytes.data(), tensors[i], tensor.bytes.size());
    }
    if (!options.inputs.emplace(name, std::move(tensor)).second)
      fail_input("'", name, "' is twice in input_names");
  }
  if (theirs.folder) options.folder = theirs.folder;
  if (theirs.read)
    options.read = [read = theirs.read, user = theirs.user](
                       std::string_view name, std::uint64_t offset, std::span<std::byte> to) {
      return read(user, std::string(name).c_str(), offset, to.data(), to.size()) != 0;
    };
  return options;
}

std::span<const std::byte> bytes_of(const void* data, size_t size, const char* name) {
  const auto* bytes = static_cast<const std::byte*>(data);
  if (size > 0) given(bytes, name);
  return {bytes, size};
}

}  // namespace

CompileOptions options_of(const tcc_compile_options* given_options) {
  CompileOptions options;
  if (!given_options) return options;
  const tcc_compile_options theirs = sized(*given_options, "tcc_compile_options");
  options.dims = dims_of(theirs);
  for (const char* dim : span_of(theirs.open_dims, theirs.num_open_dims, "open_dims"))
    options.open_dims.emplace_back(&given(dim, "a dim in open_dims"));
  for (const char* sizes : span_of(theirs.specialize, theirs.num_specialize, "specialize"))
    options.specialize.emplace_back(&given(sizes, "a text in specialize"));
  if (theirs.num_tuning > 0) given(theirs.tuning, "tuning");
  for (size_t i = 0; i < theirs.num_tuning; ++i)
    options.tuning.emplace_back(&given(theirs.tuning[i], "a path in tuning"));
  if (theirs.dtype) options.dtype = theirs.dtype;
  if (theirs.matmul_precision) options.matmul_precision = theirs.matmul_precision;
  if (theirs.cache_dir) options.cache_dir = theirs.cache_dir;
  options.use_cache = !theirs.no_cache;
  options.strict_rounding = theirs.strict_rounding != 0;
  options.fuse = theirs.no_fuse == 0;
  if (theirs.progress)
    options.progress = [tell = theirs.progress, user = theirs.user](const CompileProgress& now) {
      tell(user, std::string(now.stage).c_str(), now.done, now.total);
    };
  if (theirs.cancelled)
    options.cancelled = [ask = theirs.cancelled, user = theirs.user] { return ask(user) != 0; };
  return options;
}

}  // namespace tcc::c

using namespace tcc::c;  // NOLINT: what follows is the ABI

tcc_status tcc_graph_load(const char* path, tcc_graph** graph) noexcept {
  return guard([&] {
    given(graph, "graph");
    *graph = new tcc_graph(tcc::Graph::load(&given(path, "path")));
  });
}

tcc_status tcc_graph_load_with(const char* path, const tcc_graph_options* options,
                               tcc_graph** graph) noexcept {
  return guard([&] {
    given(graph, "graph");
    const tcc::MemoryOptions how = options_of(options);
    if (!how.files.empty() || how.read || !how.folder.empty())
      tcc::fail_input("files, read and folder are for graphs from memory");
    *graph =
        new tcc_graph(tcc::Graph::load(&given(path, "path"), how.dims, how.states, how.inputs));
  });
}

tcc_status tcc_graph_from_yaml(const char* text, const char* folder, tcc_graph** graph) noexcept {
  return guard([&] {
    given(graph, "graph");
    *graph = new tcc_graph(tcc::Graph::from_yaml(&given(text, "text"), folder ? folder : "."));
  });
}

tcc_status tcc_graph_from_onnx(const void* model, size_t model_size,
                               const tcc_graph_options* options, tcc_graph** graph) noexcept {
  return guard([&] {
    given(graph, "graph");
    *graph = new tcc_graph(
        tcc::Graph::from_onnx(bytes_of(model, model_size, "model"), options_of(options)));
  });
}

tcc_status tcc_graph_from_yaml_bytes(const void* text, size_t text_size,
                                     const tcc_graph_options* options, tcc_graph** graph) noexcept {
  return guard([&] {
    given(graph, "graph");
    const auto bytes = bytes_of(text, text_size, "text");
    *graph = new tcc_graph(tcc::Graph::from_yaml(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
        options_of(options)));
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

size_t tcc_graph_num_states(const tcc_graph* graph) noexcept {
  return graph ? graph->states.size() : 0;
}

tcc_status tcc_graph_state(const tcc_graph* graph, size_t index, tcc_tensor_info* info) noexcept {
  return guard([&] { describe(given(graph, "graph").states, index, info); });
}

tcc_status tcc_compile(const tcc_graph* graph, const char* device,
                       const tcc_compile_options* options, tcc_compiled** compiled) noexcept {
  return guard([&] {
    given(compiled, "compiled");
    *compiled = new tcc_compiled(
        tcc::compile(given(graph, "graph").graph, &given(device, "device"), options_of(options)));
  });
}
