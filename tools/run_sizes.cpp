#include "tools/run_sizes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "frontend/safetensors.h"
#include "ir/deciding_extent.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::tools {

void add_sizes_of_inputs(std::span<const RunInput> inputs, std::span<const RunDim> dims,
                         const InputFiles& files, RunSizes& sizes) {
  for (const RunInput& input : inputs) {
    const std::optional<TensorInfo> given = files.info(input.name);
    if (!given || given->shape.size() != input.shape.size()) continue;
    for (size_t axis = 0; axis < input.shape.size(); ++axis) {
      const std::optional<ir::DecidingExtent> extent = ir::deciding_extent(input.shape[axis]);
      if (!extent) continue;
      const auto dim = std::ranges::find(dims, extent->symbol, &RunDim::symbol);
      if (dim == dims.end()) continue;
      std::optional<int64_t> size = extent->value(given->shape[axis]);
      if (size) size = checked_mul(*size, dim->multiple);
      if (!size) continue;
      const std::string source = files.source(input.name),
                        said = str(source, ": dim ", axis, " of input '", input.name, "' is ",
                                   given->shape[axis], ": ", dim->name, " = ", *size);
      if (const std::string reason = dim->range.why_not(*size); !reason.empty())
        fail_input(said, " ", reason, " (", dim->name, " = ", dim->range.to_string(), ")");
      const auto [known, is_new] = sizes.try_emplace(dim->name, RunSize{*size, source});
      if (!is_new && known->second.size != *size)
        fail_input(said, ", but ", dim->name, " = ", known->second.size, " by ",
                   known->second.from);
    }
  }
}

RunSize first_length(const std::string& state, size_t axis, const ir::SizeRange& range,
                     const std::string& states_file) {
  if (!states_file.empty()) {
    const SafetensorsFile file(states_file);
    if (file.contains(state)) {
      const std::vector<int64_t> shape = file.info(state).shape;
      if (axis < shape.size() && range.why_not(shape[axis]).empty())
        return {shape[axis], states_file};
    }
  }
  return {range.least, str("the first length of state '", state, "'")};
}

std::vector<ir::Numbers> parse_at(const std::vector<std::string>& texts) {
  constexpr size_t kMostRuns = 4096;
  std::vector<std::pair<std::string, std::vector<int64_t>>> dims;  // as they were given
  for (const std::string& text : texts) {
    const std::string said = str("--at ", text);
    auto [name, sizes] = ir::parse_sizes(text, said);
    auto dim = std::ranges::find(dims, name, &decltype(dims)::value_type::first);
    if (dim == dims.end()) dim = dims.insert(dim, {name, {}});
    for (const int64_t size : sizes) {
      if (std::ranges::find(dim->second, size) != dim->second.end())
        fail_input(said, ": ", size, " is given twice");
      dim->second.push_back(size);
    }
  }
  std::vector<ir::Numbers> runs = {{}};
  for (const auto& [name, sizes] : dims) {
    if (runs.size() * sizes.size() > kMostRuns)
      fail_input("--at: these are more than ", kMostRuns, " combinations of sizes");
    std::vector<ir::Numbers> longer;
    for (const ir::Numbers& run : runs)
      for (const int64_t size : sizes) longer.emplace_back(run)[name] = size;
    runs = std::move(longer);
  }
  return runs;
}

std::string sizes_text(const ir::Numbers& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += str(text.empty() ? "" : ", ", name, " = ", size);
  return text;
}

void check_one_run(size_t runs, const std::string& outputs, const std::string& saved_states) {
  if (runs == 1) return;
  const std::string why = str(": has the results of one run, and --at names ", runs);
  if (!outputs.empty()) fail_input("--outputs ", outputs, why);
  if (!saved_states.empty()) fail_input("--save-states ", saved_states, why);
}

}  // namespace tcc::tools
