#include "ir/ops/_window.h"

#include "ir/ops/_attributes.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

constexpr int64_t kEntryLimit = int64_t{1} << 31;

std::vector<int64_t> widen(std::vector<int64_t> values, int rank,
                           const std::vector<int64_t>& fallback) {
  if (values.empty() && !fallback.empty()) return fallback;
  if (values.size() == 1) values.resize(static_cast<size_t>(rank), values[0]);
  return values;
}

Padding split_padding(const std::vector<int64_t>& values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  return {{values.begin(), half}, {half, values.end()}};
}

bool has_ends(const Node& node, std::string_view key, int rank) {
  return symint_list(node, key).size() == 2 * static_cast<size_t>(rank);
}

}  // namespace

std::vector<int64_t> spatial_ints(const InferContext& context, std::string_view key, int rank,
                                  int64_t lowest, const std::vector<int64_t>& fallback) {
  const auto values = widen(int_list(context, key), rank, fallback);
  context.require(values.size() == static_cast<size_t>(rank),
                  str(key, " must have 1 or ", rank, " entries, not ", values.size()));
  for (int64_t value : values)
    context.require(
        value >= lowest && value < kEntryLimit,
        str(key, " ", value, " is out of range (", lowest, " to ", kEntryLimit - 1, ")"));
  return values;
}

std::vector<int64_t> spatial_ints(const Node& node, std::string_view key, int rank,
                                  const std::vector<int64_t>& fallback) {
  return widen(int_list(node, key), rank, fallback);
}

Padding spatial_padding(const InferContext& context, std::string_view key, int rank,
                        int64_t lowest) {
  if (has_ends(context.node, key, rank))
    return split_padding(spatial_ints(context, key, 2 * rank, lowest));
  const auto both = spatial_ints(context, key, rank, 0);
  return {both, both};
}

Padding spatial_padding(const Node& node, std::string_view key, int rank) {
  if (has_ends(node, key, rank)) return split_padding(spatial_ints(node, key, 2 * rank));
  const auto both = spatial_ints(node, key, rank);
  return {both, both};
}

std::vector<SymInt> spatial_dims(const Shape& shape, int rank) {
  return {shape.end() - rank, shape.end()};
}

void require_image(const InferContext& context, size_t k, int spatial) {
  const Shape& shape = context.inputs[k]->shape;
  const int rank = static_cast<int>(shape.size());
  context.require(rank == spatial + 1 || rank == spatial + 2,
                  str("operand ", k, " must have ", spatial,
                      " spatial dims behind [N, C] or [C], not the shape ", shape_text(shape)));
  for (const SymInt& extent : spatial_dims(shape, spatial))
    context.require(!extent.is(0), str("operand ", k, " has an empty spatial dim"));
}

SymInt Window::positions(const SymInt& extent) const {
  return floordiv(extent + (padding_lo + padding_hi - span()), stride) + 1;
}

void require_fit(const InferContext& context, const Window& window, const SymInt& extent) {
  constexpr int64_t limit = int64_t{1} << 60;
  const auto reach = checked_mul(window.dilation, window.kernel);
  context.require(reach && *reach < limit, "the dilated kernel is too large");
  if (!extent.is_const()) return;
  context.require(extent.value() < limit, str("a spatial dim of ", extent, " is too large"));
  const int64_t padded = extent.value() + window.padding_lo + window.padding_hi;
  context.require(padded >= window.span(), str("a window of ", window.span(),
                                               " does not fit into the padded extent ", padded));
}

Tap tap(const SymInt& position, const SymInt& extent) {
  const Expr valid = in_range(position, 0, extent);
  if (!valid || is_true(valid)) return {position, nullptr};
  return {min(max(position, SymInt(0)), extent - 1), valid};
}

}  // namespace tcc::ir::ops
