#include "ir/ops/_attributes.h"

#include <algorithm>

#include <cmath>

#include "ir/exact_double.h"
#include "ir/ops/_integers.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

const Attr& find_attr(const Node& node, std::string_view key) {
  const auto found = node.attrs.find(key);
  TCC_CHECK(found != node.attrs.end(), node.op_name(), " has no attribute ", key);
  return found->second;
}

int wrap_dim(int64_t dim, int rank) { return static_cast<int>(dim < 0 ? dim + rank : dim); }

bool names_no_dim(int64_t dim, int rank) { return rank == 0 && (dim == 0 || dim == -1); }

}  // namespace

Shape symint_list(const Node& node, std::string_view key) {
  const Attr& attr = find_attr(node, key);
  if (const auto* single = std::get_if<int64_t>(&attr)) return {SymInt(*single)};
  return std::get<std::vector<SymInt>>(attr);
}

SymInt symint_attr(const Node& node, std::string_view key) {
  const Shape values = symint_list(node, key);
  TCC_CHECK(values.size() == 1, key);
  return values[0];
}

double number_attr(const Node& node, std::string_view key) {
  const Attr& attr = find_attr(node, key);
  if (const auto* whole = std::get_if<int64_t>(&attr)) return static_cast<double>(*whole);
  return std::get<double>(attr);
}

int64_t whole_attr(const Node& node, std::string_view key) {
  const Attr& attr = find_attr(node, key);
  const auto* whole = std::get_if<int64_t>(&attr);
  return whole ? *whole : whole_value(std::get<double>(attr));
}

SymInt symint_attr(const InferContext& context, std::string_view key) {
  const Shape values = symint_list(context.node, key);
  context.require(values.size() == 1, str(key, " must be one integer, not ", shape_text(values)));
  return values[0];
}

std::vector<int64_t> int_list(const InferContext& context, std::string_view key) {
  std::vector<int64_t> result;
  for (const SymInt& value : symint_list(context.node, key)) {
    context.require(value.is_const(), str(key, " must hold numbers, not ", value.to_string()));
    result.push_back(value.value());
  }
  return result;
}

std::vector<int64_t> int_list(const Node& node, std::string_view key) {
  std::vector<int64_t> result;
  for (const SymInt& value : symint_list(node, key)) result.push_back(value.value());
  return result;
}

std::vector<int> dim_list(const InferContext& context, std::string_view key, int rank) {
  std::vector<int> dims;
  for (int64_t dim : int_list(context, key)) {
    if (names_no_dim(dim, rank)) continue;
    const int normalized = context.normalize_dim(dim, rank);
    const bool twice = std::find(dims.begin(), dims.end(), normalized) != dims.end();
    context.require(!twice, str(key, " names dim ", normalized, " twice"));
    dims.push_back(normalized);
  }
  return dims;
}

std::vector<int> dim_list(const Node& node, std::string_view key, int rank) {
  std::vector<int> dims;
  for (int64_t dim : int_list(node, key))
    if (!names_no_dim(dim, rank)) dims.push_back(wrap_dim(dim, rank));
  return dims;
}

int dim_attr(const InferContext& context, std::string_view key, int rank) {
  return context.normalize_dim(context.node.attr<int64_t>(key), rank);
}

int dim_attr(const Node& node, std::string_view key, int rank) {
  return wrap_dim(node.attr<int64_t>(key), rank);
}

void require_value_of(const InferContext& context, std::string_view key, DType dtype,
                      bool drops_fraction) {
  const Attr& attr = find_attr(context.node, key);
  const auto* whole = std::get_if<int64_t>(&attr);
  const double given = number_attr(context.node, key),
               value = drops_fraction ? std::trunc(given) : given;
  const bool is_value = whole ? is_value_of(dtype, *whole) : round_to(dtype, value) == value;
  context.require(is_float(dtype) || is_value,
                  str(key, " = ", to_string(attr), " is not a value of ", name(dtype)));
}

Shape checked_shape(const InferContext& context, Shape shape) {
  std::vector<int64_t> known;
  for (const SymInt& dim : shape) {
    if (!dim.is_const()) continue;
    context.require(dim.value() >= 0, str("shape ", shape_text(shape), " has a negative dim"));
    known.push_back(dim.value());
  }
  context.require(checked_product(known).has_value(),
                  str("shape ", shape_text(shape), " has too many elements"));
  return shape;
}

SymInt checked_size(const InferContext& context, const SymInt& a, const SymInt& b) {
  if (a.is_const() && b.is_const()) {
    const auto size = checked_mul(a.value(), b.value());
    context.require(size.has_value(), str("size ", a, " * ", b, " overflows"));
    return *size;
  }
  return a * b;
}

}  // namespace tcc::ir::ops
