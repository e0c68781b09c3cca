#include "executable/open_dims.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/deciding_extent.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/plural.h"

namespace tcc::exec {

void check_size(const OpenDim& dim, int64_t size) {
  if (const std::string reason = dim.range.why_not(size); !reason.empty())
    fail_input(dim.name, " = ", size, " ", reason, " (", dim.name, " = ", dim.range.to_string(),
               ")");
}

namespace {

// The open dim that the equal one tells the size of, and that size.
std::optional<std::pair<const OpenDim*, int64_t>> told(const Executable& executable,
                                                       const EqualDim& equal, int64_t size) {
  const std::optional<ir::DecidingExtent> extent = ir::deciding_extent(equal.value);
  if (!extent) return std::nullopt;
  const auto dim = std::ranges::find(executable.dims, extent->symbol, &OpenDim::name);
  if (dim == executable.dims.end()) return std::nullopt;
  const std::optional<int64_t> value = extent->value(size);
  if (!value || !dim->range.why_not(*value).empty())
    fail_input(equal.name, " = ", size, ": is ", equal.value, ", which is ", size, " for no ",
               dim->name, " = ", dim->range.to_string());
  return std::pair(&*dim, *value);
}

bool is_open(const Executable& executable, const std::string& name) {
  return std::ranges::find(executable.dims, name, &OpenDim::name) != executable.dims.end();
}

// Reads the sizes of open dims alone.
void read_open_dims(const Executable& executable, const Dims& dims, std::span<int64_t> sizes) {
  for (const OpenDim& dim : executable.dims)
    if (const auto given = dims.find(dim.name); given != dims.end())
      check_size(dim, given->second);
    else if (sizes[static_cast<size_t>(&dim - executable.dims.data())] < 0)
      fail_input("'", dim.name, "' has no size (", dim.name, " = ", dim.range.to_string(), ")");
  for (size_t i = 0; i < sizes.size(); ++i)
    if (const auto given = dims.find(executable.dims[i].name); given != dims.end())
      sizes[i] = given->second;
}

}  // namespace

Dims sizes_of_open(const Executable& executable, const Dims& dims) {
  Dims result;
  for (const auto& [name, size] : dims)
    if (is_open(executable, name)) result.emplace(name, size);
  for (const auto& [name, size] : dims) {
    if (result.contains(name)) continue;
    const auto equal = std::ranges::find(executable.equal_dims, name, &EqualDim::name);
    if (equal == executable.equal_dims.end()) fail_input("no size '", name, "' is open");
    const auto open = told(executable, *equal, size);
    if (!open) {
      result.emplace(name, size);
      continue;
    }
    const auto [dim, value] = *open;
    const auto [known, is_new] = result.emplace(dim->name, value);
    if (!is_new && known->second != value)
      fail_input(name, " = ", size, ": is ", equal->value, ", and ", dim->name, " = ",
                 known->second);
  }
  return result;
}

void read_dims(const Executable& executable, const Dims& dims, std::span<int64_t> sizes) {
  // Sizes of open dims are read without an allocation.
  if (std::ranges::all_of(dims, [&](const auto& dim) { return is_open(executable, dim.first); }))
    return read_open_dims(executable, dims, sizes);
  const Dims given = sizes_of_open(executable, dims);
  std::vector<int64_t> read(sizes.begin(), sizes.end());
  read_open_dims(executable, given, read);
  Sizes values;
  for (size_t i = 0; i < read.size(); ++i) values.values[executable.dims[i].name] = read[i];
  for (const EqualDim& equal : executable.equal_dims)
    if (const auto size = given.find(equal.name); size != given.end())
      if (const int64_t value = values.of(equal.value); value != size->second)
        fail_input(equal.name, " = ", size->second, ": is ", equal.value, ", which is ", value);
  std::ranges::copy(read, sizes.begin());
}

Sizes sizes_of(const Executable& executable, std::span<const int64_t> sizes) {
  Sizes result;
  for (size_t i = 0; i < sizes.size(); ++i)
    result.values[executable.dims[i].symbol()] = sizes[i] / executable.dims[i].range.multiple;
  return result;
}

ShapeReader::ShapeReader(const Executable& executable)
    : executable_(executable), deciding_(executable.dims.size()), found_(executable.dims.size()) {
  const std::vector<OpenDim>& dims = executable.dims;
  for (size_t i = 0; i < executable.inputs.size(); ++i) {
    const auto& shape = executable.buffers[static_cast<size_t>(executable.inputs[i])].shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      Place& place = places_.emplace_back(Place{i, axis, &shape[axis]});
      const std::optional<ir::DecidingExtent> extent = ir::deciding_extent(shape[axis]);
      if (!extent) continue;
      const auto dim = std::ranges::find(dims, extent->symbol, &OpenDim::symbol);
      if (dim == dims.end()) continue;
      place.dim = static_cast<int>(dim - dims.begin());
      place.factor = extent->factor;
      place.constant = extent->constant;
    }
  }
  for (const OpenDim& dim : dims) values_.values[dim.symbol()] = 0;
  for (const StateInfo& state : executable.states)
    if (state.grows()) growing_.emplace(static_cast<size_t>(state.dim), &state);
  for (size_t d = 0; d < dims.size(); ++d) {
    symbols_.push_back(&values_.values.at(dims[d].symbol()));
    const auto first = std::ranges::find(places_, static_cast<int>(d), &Place::dim);
    if (first != places_.end() && !growing_.contains(d)) deciding_[d] = &*first;
  }
}

std::string ShapeReader::named(const Place& place) const {
  const int buffer = executable_.inputs[place.input];
  return str("input '", executable_.buffers[static_cast<size_t>(buffer)].name, "': dim ",
             place.axis);
}

void ShapeReader::check(const Place& place, int64_t size) const {
  const auto wanted = values_.of(*place.extent);
  if (size == wanted) return;
  if (place.extent->is_const()) fail_input(named(place), " is ", size, ", not ", wanted);
  std::string reasons;
  for (size_t d = 0; d < executable_.dims.size(); ++d) {
    const OpenDim& dim = executable_.dims[d];
    bool is_used = false;
    place.extent->visit_atoms(
        [&](const ir::AtomPtr& atom) { is_used |= atom->name == dim.symbol(); });
    if (!is_used) continue;
    reasons += str(reasons.empty() ? "" : ", ", dim.name, " = ", found_[d]);
    if (deciding_[d]) reasons += str(" by ", named(*deciding_[d]));
    if (const auto state = growing_.find(d); state != growing_.end())
      reasons += str(" by state '",
                     executable_.buffers[static_cast<size_t>(state->second->buffer)].name, "'");
  }
  fail_input(named(place), " is ", size, ", not ", wanted, " (", reasons, ")");
}

void ShapeReader::read(std::span<const ShapeView> shapes, std::span<int64_t> sizes) {
  const std::vector<int>& inputs = executable_.inputs;
  if (shapes.size() != inputs.size())
    fail_input("the graph has ", counted(inputs.size(), "input"), ", not ", shapes.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const BufferInfo& buffer = executable_.buffers[static_cast<size_t>(inputs[i])];
    if (shapes[i].size() != buffer.shape.size())
      fail_input("input '", buffer.name, "' has ", counted(shapes[i].size(), "dim"), ", not ",
                 buffer.shape.size());
  }
  for (size_t d = 0; d < found_.size(); ++d) {
    const OpenDim& dim = executable_.dims[d];
    found_[d] = sizes[d];
    if (const Place* place = deciding_[d]) {
      const int64_t size = shapes[place->input][place->axis];
      // A step of the symbol is a step of `factor` here and of the multiple in the dim.
      const auto rest = checked_add(size, -place->constant);
      const int64_t m = dim.range.multiple;
      const bool is_plain = place->constant == 0 && place->factor == m;
      std::optional<int64_t> whole;
      if (is_plain)
        whole = size;
      else if (rest && *rest >= 0 && *rest % place->factor == 0)
        whole = checked_mul(*rest / place->factor, m);
      if (!whole)
        fail_input(named(*place), " is ", size, ", which it is for no ", dim.name, " = ",
                   dim.range.to_string());
      found_[d] = *whole;
      if (const std::string reason = dim.range.why_not(found_[d]); !reason.empty())
        fail_input(named(*place), " is ", size, ": ", dim.name, " = ", found_[d], " ", reason, " (",
                   dim.name, " = ", dim.range.to_string(), ")");
    } else if (sizes[d] < 0) {
      fail_input("no input's shape tells the size of '", dim.name,
                 "': the context needs it by name");
    }
    *symbols_[d] = found_[d] / dim.range.multiple;
  }
  for (const Place& place : places_) check(place, shapes[place.input][place.axis]);
  std::ranges::copy(found_, sizes.begin());
}

}  // namespace tcc::exec
