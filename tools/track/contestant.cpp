#include "tools/track/contestant.h"
#include "tools/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "support/error.h"

namespace tcc::tools {
namespace {

constexpr uint64_t kSeed = 1;

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
Init distribution(const Named& input, const ir::Graph& graph) {
  if (is_float(input.dtype)) return Init::uniform(-1, 1);
  if (input.dtype == DType::boolean) return Init::integers(0, 2);
  for (const ir::Value* value : graph.inputs)
    if (value->name == input.name && value->random_range)
      return Init::integers(value->random_range->first, value->random_range->second);
  return Init::integers(0, 8);
}

// Large tensors repeat themselves: a time does not depend on it, and drawing is slow.
Tensor drawn(const Named& input, const ir::Graph& graph) {
  constexpr int64_t kPeriod = 65537;
  Tensor tensor(input.dtype, input.shape);
  const Tensor part = random_tensor(input.dtype, {std::min(tensor.numel(), kPeriod)},
                                    distribution(input, graph), stream_seed(kSeed, input.name));
  std::byte* to = tensor.data();
  const size_t size = tensor.bytes(), period = part.bytes();
  for (size_t at = 0; at < size; at += period)
    std::memcpy(to + at, part.data(), std::min(period, size - at));
  return tensor;
}

}  // namespace

Contestant::Contestant(const Library& library, const TrackCase& one, const TrackCompile& options)
    : library_(library), case_(one), graph_(nullptr, {&library}), compiled_(nullptr, {&library}) {
  tcc_graph* graph = nullptr;
  library_.check(library_.graph_load(case_.graph.c_str(), &graph));
  graph_.reset(graph);
  std::vector<const char*> names, tuning;
  std::vector<int64_t> values;
  for (const auto& [name, value] : case_.dims) {
    names.push_back(name.c_str());
    values.push_back(value);
  }
  for (const std::string& path : options.tuning) tuning.push_back(path.c_str());
  tcc_compile_options theirs = TCC_COMPILE_OPTIONS_INIT;
  theirs.num_dims = names.size();
  theirs.dim_names = names.data();
  theirs.dim_values = values.data();
  theirs.dtype = case_.dtype.empty() ? nullptr : case_.dtype.c_str();
  theirs.matmul_precision = case_.matmul_precision.c_str();
  theirs.num_tuning = tuning.size();
  theirs.tuning = tuning.data();
  theirs.cache_dir = options.cache_dir.empty() ? nullptr : options.cache_dir.c_str();
  const auto start = std::chrono::steady_clock::now();
  tcc_compiled* compiled = nullptr;
  library_.check(library_.compile(graph_.get(), options.device.c_str(), &theirs, &compiled));
  compiled_.reset(compiled);
  facts_ = {library_.launches(compiled), library_.arena_bytes(compiled),
            library_.constant_bytes(compiled), seconds_since(start),
            library_.kernel_report(compiled)};
  num_kernels_ = nlohmann::json::parse(facts_.kernels).size();
}

std::string Contestant::interface() const {
  const auto list = [&](size_t count, decltype(&tcc_compiled_input) ask) {
    std::string text;
    for (size_t i = 0; i < count; ++i) {
      tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
      library_.check(ask(compiled_.get(), i, &info));
      text += str(i > 0 ? ", " : "", info.dtype, info.shape_text);
    }
    return text;
  };
  return list(library_.num_inputs(compiled_.get()), library_.input) + " -> " +
         list(library_.num_outputs(compiled_.get()), library_.output);
}

std::vector<std::string> Contestant::sources() const {
  std::vector<std::string> sources;
  if (!library_.kernel_source) return sources;
  for (size_t i = 0; i < num_kernels_; ++i)
    sources.emplace_back(library_.kernel_source(compiled_.get(), i));
  return sources;
}

std::vector<Tensor> Contestant::draw_inputs() const {
  GraphFileOptions file;
  file.dims.insert(case_.dims.begin(), case_.dims.end());
  const ir::Graph read = load_graph(case_.graph, file);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < library_.num_inputs(compiled_.get()); ++i) {
    const Named input = described(library_, library_.input, compiled_.get(), i);
    inputs.push_back(drawn(input, read));
  }
  return inputs;
}

Contestant::Session::Session(const Contestant& contestant, const std::vector<Tensor>& inputs)
    : library_(contestant.library_),
      context_(nullptr, {&contestant.library_}),
      num_kernels_(contestant.num_kernels_) {
  const tcc_compiled* compiled = contestant.compiled_.get();
  tcc_context* context = nullptr;
  library_.check(library_.context_create(compiled, &context));
  context_.reset(context);
  std::vector<const void*> from;
  for (const Tensor& input : inputs) from.push_back(input.data());
  std::vector<void*> outputs;
  for (size_t i = 0; i < library_.num_outputs(compiled); ++i) {
    const Named output = described(library_, library_.output, compiled, i);
    outputs_.emplace_back(output.dtype, output.shape);
  }
  for (Tensor& output : outputs_) outputs.push_back(output.data());
  library_.check(
      library_.run_host(context, from.data(), from.size(), outputs.data(), outputs.size()));
}

std::vector<double> Contestant::Session::time_kernels() const {
  if (!library_.time_kernels)
    fail_input(library_.path().string(), ": is too old to time its kernels one by one");
  std::vector<double> seconds(num_kernels_);
  library_.check(library_.time_kernels(context_.get(), seconds.data(), seconds.size()));
  return seconds;
}

double Contestant::Session::time(int replays) const {
  double seconds = 0;
  library_.check(library_.time(context_.get(), replays, &seconds));
  if (!std::isfinite(seconds) || seconds < 0)
    fail_device("it took ", seconds, " s, by the device's timer");
  return seconds;
}

double relative_difference(const std::vector<Tensor>& base, const std::vector<Tensor>& head) {
  constexpr double kDifferent = std::numeric_limits<double>::infinity();
  if (base.size() != head.size()) return kDifferent;
  const auto equal = [](const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() &&
           std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  };
  if (std::equal(base.begin(), base.end(), head.begin(), equal)) return 0;
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
