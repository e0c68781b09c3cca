#include "autotune/user_kernel/graph_check.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "autotune/random_words.h"
#include "autotune/reference_samples.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/reference/compare.h"
#include "ir/reference/interpreter.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/plural.h"

namespace tcc::autotune {
namespace {

constexpr int64_t kWholeOutput = 8192;  // elements; of larger ones as many are drawn
// The reference takes about a minute and a few GB for so much on two cores.
constexpr double kMaxOperations = 2e9;
constexpr int64_t kMaxElements = int64_t{1} << 26;  // of one value

class GraphCheck {
 public:
  explicit GraphCheck(const BoundKernel& kernel)
      : kernel_(kernel), check_(kernel.kernel().check), graph_(load()) {
    if (graph_.outputs.size() != kernel.outputs().size())
      fail(str("has ", counted(graph_.outputs.size(), "output"), ", the kernel ",
               kernel.outputs().size()));
    for (size_t i = 0; i < graph_.outputs.size(); ++i)
      require_type(*graph_.outputs[i], kernel.outputs()[i]);
    for (const ir::Value* input : graph_.inputs) place_of(*input);
  }

  void add_reference(BenchJob& job) const {
    // One region's elements can be computed one by one, whatever its size.
    const backends::Scheduled scheduled = backends::schedule(graph_, kernel_.target());
    if (is_one_region(scheduled)) {
      const sched::Region& region = scheduled.regions[0];
      std::vector<size_t> places;
      for (const ir::Value* input : region.inputs) places.push_back(place_of(*input));
      ReferenceSamples computed = reference_samples(region, job, places);
      job.reference = std::move(computed.samples);
      for (size_t i = 0; i < job.outputs.size(); ++i) job.outputs[i].noise = computed.noise[i];
      return;
    }
    limit_work();
    const auto given = inputs(job);
    const auto outputs = ir::interpret(graph_, given, ir::RefMode::ideal),
               noisy = ir::interpret(graph_, given, ir::RefMode::noisy, {.observe = {}, .seed = 1});
    for (size_t i = 0; i < outputs.size(); ++i) {
      for (const int64_t element : elements(kernel_.outputs()[i].elements, job.seed + i))
        job.reference.push_back({static_cast<int>(i), element, value(outputs[i], element)});
      job.outputs[i].noise =
          ir::compare(outputs[i], outputs[i], outputs[i], std::span(&noisy[i], 1)).noise;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    fail_input(check_.place, ": graph ", check_.file.string(), ": ", reason);
  }

  ir::Graph load() const {
    const ir::Graph graph = load_graph(check_.file);
    Dims dims;
    for (const auto& [name, value] : graph.dims)
      if (const auto known = kernel_.dims().find(name); known != kernel_.dims().end())
        dims[name] = known->second;
    return graph.bind(dims);
  }

  void require_type(const ir::Value& value, const BoundArgument& argument) const {
    if (value.dtype() == argument.declared->dtype && ir::const_shape(value) == argument.shape)
      return;
    fail(str("'", value.name, "' is ", ir::to_string(value.type), ", the kernel's '",
             argument.declared->name, "' ", type_text(argument.declared->dtype, argument.shape)));
  }

  void limit_work() const {
    backends::CompileOptions options;
    options.binaries = false;
    const exec::Executable executable = backends::compile(graph_, kernel_.target(), options);
    double operations = 0;
    for (const exec::KernelLaunch* launch : exec::launches(executable))
      operations += static_cast<double>(launch->times.usual()) * launch->flops.usual();
    int64_t largest = 0;
    for (const auto& value : graph_.values()) {
      const auto elements = checked_product(ir::const_shape(*value));
      largest = std::max(largest, elements.value_or(std::numeric_limits<int64_t>::max()));
    }
    if (operations <= kMaxOperations && largest <= kMaxElements) return;
    fail(str("takes ", operations, " operations and values of ", largest,
             " elements, too much for the CPU (", kMaxOperations, ", ", kMaxElements,
             "): tune with smaller dims, or check with a simple kernel of your own"));
  }

  // Gives the place of the graph's input among the kernel's.
  size_t place_of(const ir::Value& input) const {
    const auto& arguments = kernel_.inputs();
    const auto found = std::ranges::find_if(arguments, [&](const BoundArgument& argument) {
      return argument.declared->name == input.name;
    });
    if (found == arguments.end()) fail("the kernel has no input '" + input.name + "'");
    require_type(input, *found);
    return static_cast<size_t>(found - arguments.begin());
  }

  // Returns whether the graph is one region that reads and writes arguments of the kernel alone.
  static bool is_one_region(const backends::Scheduled& scheduled) {
    if (scheduled.regions.size() != 1) return false;
    const sched::Region& region = scheduled.regions[0];
    const auto is_input = [](const ir::Value* value) {
      return value->kind == ir::Value::Kind::input;
    };
    return std::ranges::all_of(region.inputs, is_input) &&
           std::ranges::equal(region.outputs, scheduled.graph->outputs);
  }

  std::vector<ir::RefTensor> inputs(const BenchJob& job) const {
    std::vector<ir::RefTensor> tensors;
    for (const ir::Value* input : graph_.inputs) {
      const size_t place = place_of(*input);
      const std::vector<std::byte> data = input_data(job, place);
      Tensor tensor(input->dtype(), kernel_.inputs()[place].shape);
      TCC_CHECK(data.size() == tensor.bytes(), input->name);
      std::memcpy(tensor.data(), data.data(), data.size());
      tensors.push_back(ir::to_ref(tensor));
    }
    return tensors;
  }

  // The first and the last are always among them.
  static std::set<int64_t> elements(int64_t count, uint64_t seed) {
    std::set<int64_t> chosen;
    if (count <= kWholeOutput) {
      for (int64_t i = 0; i < count; ++i) chosen.insert(i);
      return chosen;
    }
    chosen = {0, count - 1};
    RandomWords random(seed);
    while (chosen.size() < kWholeOutput)
      chosen.insert(static_cast<int64_t>(random.below(static_cast<uint64_t>(count))));
    return chosen;
  }

  static double value(const ir::RefTensor& tensor, int64_t element) {
    const auto i = static_cast<size_t>(element);
    return tensor.is_float() ? tensor.f[i] : static_cast<double>(tensor.i[i]);
  }

  const BoundKernel& kernel_;
  const KernelCheck& check_;
  ir::Graph graph_;
};

}  // namespace

void add_graph_reference(const BoundKernel& kernel, BenchJob& job) {
  GraphCheck(kernel).add_reference(job);
}

}  // namespace tcc::autotune
