#include "tools/track/contestant.h"

#include <chrono>
#include <cmath>
#include <limits>

#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "support/error.h"

namespace tcc::tools {
namespace {

constexpr uint64_t kSeed = 1;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Named {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
};

Named described(const Library& library, decltype(&tcc_compiled_input) ask,
                const tcc_compiled* compiled, size_t i) {
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  library.check(ask(compiled, i, &info));
  const std::optional<DType> dtype = parse_dtype(info.dtype);
  if (!dtype) fail_input(library.path().string(), ": unknown type ", info.dtype);
  return {info.name, *dtype, {info.shape, info.shape + info.rank}};
}

// Floats in [-1, 1), integers as the graph's file says.
Init drawn(const Named& input, const ir::Graph& graph) {
  if (is_float(input.dtype)) return Init::uniform(-1, 1);
  if (input.dtype == DType::boolean) return Init::integers(0, 2);
  for (const ir::Value* value : graph.inputs)
    if (value->name == input.name && value->random_range)
      return Init::integers(value->random_range->first, value->random_range->second);
  return Init::integers(0, 8);
}

}  // namespace

Contestant::Contestant(const Library& library, const TrackCase& one, const TrackCompile& options)
    : library_(library),
      case_(one),
      options_(options),
      graph_(nullptr, {&library}),
      compiled_(nullptr, {&library}) {
  tcc_graph* graph = nullptr;
  library_.check(library_.graph_load(case_.graph.c_str(), &graph));
  graph_.reset(graph);
  const auto start = std::chrono::steady_clock::now();
  reload();
  facts_ = {library_.launches(compiled_.get()), library_.arena_bytes(compiled_.get()),
            library_.constant_bytes(compiled_.get()), seconds_since(start)};
  GraphFileOptions file;
  file.dims.insert(case_.dims.begin(), case_.dims.end());
  const ir::Graph read = load_graph(case_.graph, file);
  for (size_t i = 0; i < library_.num_inputs(compiled_.get()); ++i) {
    const Named input = described(library_, library_.input, compiled_.get(), i);
    inputs_.push_back(random_tensor(input.dtype, input.shape, drawn(input, read),
                                    stream_seed(kSeed, input.name)));
  }
}

void Contestant::reload() {
  std::vector<const char*> names, tuning;
  std::vector<int64_t> values;
  for (const auto& [name, value] : case_.dims) {
    names.push_back(name.c_str());
    values.push_back(value);
  }
  for (const std::string& path : options_.tuning) tuning.push_back(path.c_str());
  tcc_compile_options options = TCC_COMPILE_OPTIONS_INIT;
  options.num_dims = names.size();
  options.dim_names = names.data();
  options.dim_values = values.data();
  options.dtype = case_.dtype.empty() ? nullptr : case_.dtype.c_str();
  options.matmul_precision = case_.matmul_precision.c_str();
  options.num_tuning = tuning.size();
  options.tuning = tuning.data();
  tcc_compiled* compiled = nullptr;
  library_.check(library_.compile(graph_.get(), options_.device.c_str(), &options, &compiled));
  compiled_.reset(compiled);
}

Contestant::Session::Session(const Contestant& contestant)
    : library_(contestant.library_), context_(nullptr, {&contestant.library_}) {
  const tcc_compiled* compiled = contestant.compiled_.get();
  tcc_context* context = nullptr;
  library_.check(library_.context_create(compiled, &context));
  context_.reset(context);
  std::vector<const void*> inputs;
  for (const Tensor& input : contestant.inputs_) inputs.push_back(input.data());
  std::vector<void*> outputs;
  for (size_t i = 0; i < library_.num_outputs(compiled); ++i) {
    const Named output = described(library_, library_.output, compiled, i);
    outputs_.emplace_back(output.dtype, output.shape);
  }
  for (Tensor& output : outputs_) outputs.push_back(output.data());
  library_.check(library_.run_host(context_.get(), inputs.data(), inputs.size(), outputs.data(),
                                   outputs.size()));
}

double Contestant::Session::time(int replays) const {
  double seconds = 0;
  library_.check(library_.time(context_.get(), replays, &seconds));
  return seconds;
}

double relative_difference(const std::vector<Tensor>& base, const std::vector<Tensor>& head) {
  constexpr double kDifferent = std::numeric_limits<double>::infinity();
  if (base.size() != head.size()) return kDifferent;
  double squares = 0, differences = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    const Tensor &a = base[i], &b = head[i];
    if (a.dtype() != b.dtype() || a.shape() != b.shape()) return kDifferent;
    for (int64_t e = 0; e < a.numel(); ++e) {
      const double x = a.get(e), y = b.get(e);
      if (x == y || (std::isnan(x) && std::isnan(y))) {
        if (std::isfinite(x)) squares += x * x;
        continue;
      }
      if (!std::isfinite(x) || !std::isfinite(y)) return kDifferent;
      squares += x * x;
      differences += (x - y) * (x - y);
    }
  }
  return differences == 0 ? 0 : std::sqrt(differences / squares);
}

}  // namespace tcc::tools
