#include "ir/builder.h"

#include "ir/suggest.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

Attr one(const SymInt& value) { return std::vector<SymInt>{value}; }

}  // namespace

std::vector<Value*> Builder::ops(std::string_view name, std::vector<Value*> inputs, Attrs attrs) {
  const OpDef* op = find_op(name);
  if (!op) {
    const std::string near = suggest_op(name), where = to_string(location_);
    fail_input(where, where.empty() ? "" : ": ", "unknown op '", name, "'",
               near.empty() ? "" : "; did you mean '" + near + "'?");
  }
  return graph_.add_node(*op, std::move(inputs), std::move(attrs), location_)->outputs;
}

Value* Builder::op(std::string_view name, std::vector<Value*> inputs, Attrs attrs) {
  return ops(name, std::move(inputs), std::move(attrs)).front();
}

Value* Builder::scalar(DType dtype, double value) {
  Value* constant = graph_.add_constant("", {dtype, {}}, make_splat(dtype, {}, value));
  constant->location = location_;
  return constant;
}

Value* Builder::splat(DType dtype, const Shape& shape, double value) {
  return op("full", {}, {{"size", shape}, {"fill_value", value}, {"dtype", dtype}});
}

Value* Builder::cast(Value* x, DType dtype) {
  return x->dtype() == dtype ? x : op("cast", {x}, {{"dtype", dtype}});
}

Value* Builder::reshape(Value* x, const Shape& shape) {
  return x->shape() == shape ? x : op("reshape", {x}, {{"shape", shape}});
}

Value* Builder::permute(Value* x, const std::vector<int64_t>& dims) {
  return op("permute", {x}, {{"dims", ints(dims)}});
}

Value* Builder::transpose(Value* x, int64_t dim0, int64_t dim1) {
  return op("transpose", {x}, {{"dim0", dim0}, {"dim1", dim1}});
}

Value* Builder::expand(Value* x, const Shape& shape) {
  return x->shape() == shape ? x : op("expand", {x}, {{"size", shape}});
}

Value* Builder::unsqueeze(Value* x, int64_t dim) { return op("unsqueeze", {x}, {{"dim", dim}}); }

Value* Builder::slice(Value* x, int64_t dim, const SymInt& start, const SymInt& end, int64_t step) {
  return op("slice", {x}, {{"dim", dim}, {"start", one(start)}, {"end", one(end)}, {"step", step}});
}

Value* Builder::reduce(std::string_view name, Value* x, const std::vector<int64_t>& dims,
                       bool keepdim) {
  return op(name, {x}, {{"dim", ints(dims)}, {"keepdim", keepdim}});
}

Attr ints(const std::vector<int64_t>& values) {
  return std::vector<SymInt>(values.begin(), values.end());
}

Attr shape_attr(const Shape& shape) { return shape; }

}  // namespace tcc::ir
