#include "tools/run_sizes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "frontend/safetensors.h"
#include "ir/deciding_extent.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::tools {

namespace {

// The shapes of given inputs, and what they tell of the dims.
class GivenShapes {
 public:
  GivenShapes(std::span<const RunInput> inputs, std::span<const RunDim> dims,
              const InputFiles& files, RunSizes& sizes)
      : dims_(dims), sizes_(sizes) {
    for (const RunInput& input : inputs) {
      const std::optional<TensorInfo> given = files.info(input.name);
      if (!given || given->shape.size() != input.shape.size()) continue;
      for (size_t axis = 0; axis < input.shape.size(); ++axis) {
        const std::string source = files.source(input.name);
        places_.push_back(
            {input.shape[axis], given->shape[axis], source,
             str(source, ": dim ", axis, " of input '", input.name, "' is ", given->shape[axis])});
      }
    }
  }

  void read() {
    for (const Place& place : places_)
      if (ir::deciding_extent(place.extent)) take(place, place.extent);
    // Sizes that are known by now may leave one that is not: that of S in P + S.
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (const Place& place : places_)
        if (const SymInt rest = with_sizes(place.extent);
            !rest.is_const() && ir::deciding_extent(rest))
          is_new |= take(place, rest);
    }
    for (const Place& place : places_)
      if (const SymInt wanted = with_sizes(place.extent);
          !place.extent.is_const() && wanted.is_const() && !wanted.is(place.size))
        fail_input(place.said, ", not ", wanted, ": ", reasons(place.extent));
  }

 private:
  using SymInt = ir::SymInt;
  struct Place {
    SymInt extent;
    int64_t size;
    std::string source, said;
  };

  const RunDim* dim_of(const ir::Atom& atom) const {
    if (atom.kind != ir::Atom::Kind::symbol) return nullptr;
    const auto dim = std::ranges::find(dims_, atom.name, &RunDim::symbol);
    return dim == dims_.end() ? nullptr : &*dim;
  }

  SymInt with_sizes(const SymInt& extent) const {
    return extent.substitute([&](const ir::AtomPtr& atom) -> std::optional<SymInt> {
      const RunDim* dim = dim_of(*atom);
      const auto known = dim ? sizes_.find(dim->name) : sizes_.end();
      if (known == sizes_.end()) return std::nullopt;
      return known->second.size / dim->multiple;
    });
  }

  // "T = 5 by y.npy, S = 3 by x.npy"
  std::string reasons(const SymInt& extent) const {
    std::string text;
    extent.visit_atoms([&](const ir::AtomPtr& atom) {
      const RunDim* dim = dim_of(*atom);
      if (!dim || text.find(str(dim->name, " = ")) != text.npos) return;
      const RunSize& size = sizes_.at(dim->name);
      text += str(text.empty() ? "" : ", ", dim->name, " = ", size.size, " by ", size.from);
    });
    return text;
  }

  // Takes the size of the dim that decides the extent. Returns whether it was not known.
  bool take(const Place& place, const SymInt& decides) {
    const ir::DecidingExtent extent = *ir::deciding_extent(decides);
    const auto dim = std::ranges::find(dims_, extent.symbol, &RunDim::symbol);
    if (dim == dims_.end()) return false;
    std::optional<int64_t> size = extent.value(place.size);
    if (size) size = checked_mul(*size, dim->multiple);
    if (!size) {
      const bool is_of_sizes = extent.factor % dim->multiple == 0;
      const SymInt by_name =
          SymInt::symbol(dim->name) * (extent.factor / dim->multiple) + extent.constant;
      fail_input(place.said, ", which ", is_of_sizes ? by_name : decides, " is for no ", dim->name,
                 " = ", dim->range.to_string());
    }
    const std::string said = str(place.said, ": ", dim->name, " = ", *size);
    if (const std::string reason = dim->range.why_not(*size); !reason.empty())
      fail_input(said, " ", reason, " (", dim->name, " = ", dim->range.to_string(), ")");
    const auto [known, is_new] = sizes_.try_emplace(dim->name, RunSize{*size, place.source});
    if (!is_new && known->second.size != *size)
      fail_input(said, ", but ", dim->name, " = ", known->second.size, " by ", known->second.from);
    return is_new;
  }

  std::span<const RunDim> dims_;
  RunSizes& sizes_;
  std::vector<Place> places_;
};

}  // namespace

void refuse_equal_dim(const std::string& name, int64_t size, const ir::SymInt& value) {
  fail_input("--at ", name, "=", size, ": '", name, "' is ", value, ": give the sizes of its dims");
}

void add_sizes_of_inputs(std::span<const RunInput> inputs, std::span<const RunDim> dims,
                         const InputFiles& files, RunSizes& sizes) {
  GivenShapes(inputs, dims, files, sizes).read();
}

RunSize first_length(const std::string& state, size_t axis, const std::string& dim,
                     const ir::SizeRange& range, const std::string& states_file) {
  if (!states_file.empty()) {
    const SafetensorsFile file(states_file);
    if (file.contains(state)) {
      const std::vector<int64_t> shape = file.info(state).shape;
      if (axis < shape.size()) {
        if (const std::string why = range.why_not(shape[axis]); !why.empty())
          fail_input(states_file, ": state '", state, "' is ", shape[axis], " long, and ", dim,
                     " = ", shape[axis], " ", why, " (", dim, " = ", range.to_string(), ")");
        return {shape[axis], states_file};
      }
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
