// Adds nodes to a graph, with functions named as in PyTorch. Ops state their composition with it,
// tests build graphs, and passes make new nodes.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/op.h"

namespace tcc::ir {

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}
  Graph& graph() { return graph_; }
  void set_location(Location location) { location_ = std::move(location); }
  const Location& location() const { return location_; }

  // The first (or only) output of a new node; constants fold later, in a pass.
  Value* op(std::string_view name, std::vector<Value*> inputs, Attrs attrs = {});
  std::vector<Value*> ops(std::string_view name, std::vector<Value*> inputs, Attrs attrs = {});

  Value* scalar(DType dtype, double value);                     // a constant of shape []
  Value* splat(DType dtype, const Shape& shape, double value);  // `full`
  // Returns x as `dtype`; x itself where it has that dtype already.
  Value* cast(Value* x, DType dtype);
  // Returns x as compute_dtype(x), the dtype of statistics and sums.
  Value* compute(Value* x) { return cast(x, compute_dtype(x->dtype())); }

  // These are elementwise, with broadcasting and PyTorch's promotion.
  Value* add(Value* a, Value* b) { return op("add", {a, b}); }
  Value* sub(Value* a, Value* b) { return op("sub", {a, b}); }
  Value* mul(Value* a, Value* b) { return op("mul", {a, b}); }
  Value* div(Value* a, Value* b) { return op("div", {a, b}); }
  Value* unary(std::string_view name, Value* x) { return op(name, {x}); }

  Value* reshape(Value* x, const Shape& shape);
  Value* permute(Value* x, const std::vector<int64_t>& dims);
  Value* transpose(Value* x, int64_t dim0, int64_t dim1);
  Value* expand(Value* x, const Shape& shape);
  Value* unsqueeze(Value* x, int64_t dim);
  Value* slice(Value* x, int64_t dim, const SymInt& start, const SymInt& end, int64_t step = 1);
  // sum, mean, prod, amax, amin, ...
  Value* reduce(std::string_view name, Value* x, const std::vector<int64_t>& dims,
                bool keepdim = false);
  Value* matmul(Value* a, Value* b) { return op("matmul", {a, b}); }

 private:
  Graph& graph_;
  Location location_;
};

// Attribute helpers: ints({1, 2}), dims of a shape.
Attr ints(const std::vector<int64_t>& values);
Attr shape_attr(const Shape& shape);

}  // namespace tcc::ir
