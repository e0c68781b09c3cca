#include "tools/run_sizes.h"

#include <algorithm>
#include <optional>

#include "frontend/safetensors.h"
#include "ir/deciding_extent.h"
#include "support/checked.h"
#include "support/error.h"
#include "tools/program.h"

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

ir::Numbers parse_at(const std::vector<std::string>& texts) {
  return parse_numbers(texts, "--at", "it is the size of one run");
}

}  // namespace tcc::tools
