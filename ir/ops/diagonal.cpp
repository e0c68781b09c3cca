#include <optional>

#include "ir/ops/_movement.h"
#include "support/error.h"

namespace tcc::ir::ops::op_diagonal {
namespace {

struct Diagonal {
  int dim1, dim2;
  int64_t offset;  // above the main diagonal; below when negative
  SymInt row() const { return offset < 0 ? -offset : 0; }
  SymInt column() const { return offset > 0 ? offset : 0; }
};

Diagonal diagonal_of(const Node& node, int rank) {
  return {dim_attr(node, "dim1", rank), dim_attr(node, "dim2", rank), node.attr<int64_t>("offset")};
}

Shape shape(const InferContext& context) {
  const Shape& x = context.inputs[0]->shape;
  const int rank = static_cast<int>(x.size());
  dim_attr(context, "dim1", rank);
  dim_attr(context, "dim2", rank);
  const Diagonal diagonal = diagonal_of(context.node, rank);
  context.require(diagonal.dim1 != diagonal.dim2, "dim1 and dim2 must differ");
  context.require(diagonal.offset > -kUnbounded && diagonal.offset < kUnbounded,
                  str("offset ", diagonal.offset, " is too far"));
  Shape shape;
  for (int d = 0; d < rank; ++d)
    if (d != diagonal.dim1 && d != diagonal.dim2) shape.push_back(x[static_cast<size_t>(d)]);
  const SymInt rows = x[static_cast<size_t>(diagonal.dim1)] - diagonal.row();
  const SymInt columns = x[static_cast<size_t>(diagonal.dim2)] - diagonal.column();
  shape.push_back(max(min(rows, columns), 0));
  return shape;
}

// The operand's dims in order, with the two of the diagonal taken from the output's last.
template <class T>
std::vector<T> unfolded(const Diagonal& diagonal, std::span<const T> out, int rank, const T& row,
                        const T& column) {
  std::vector<T> result;
  size_t next = 0;
  for (int d = 0; d < rank; ++d) {
    if (d == diagonal.dim1)
      result.push_back(row);
    else if (d == diagonal.dim2)
      result.push_back(column);
    else
      result.push_back(out[next++]);
  }
  return result;
}

std::vector<SymInt> source(const Node& node, std::span<const SymInt> index) {
  const int rank = node.inputs[0]->rank();
  const Diagonal diagonal = diagonal_of(node, rank);
  return unfolded<SymInt>(diagonal, index, rank, index.back() + diagonal.row(),
                          index.back() + diagonal.column());
}

void reference(EvalContext& context) {
  const auto strides = strides_of(context.inputs[0]->shape);
  const int rank = static_cast<int>(strides.size());
  const Diagonal diagonal = diagonal_of(context.node, rank);
  const int64_t row = strides[static_cast<size_t>(diagonal.dim1)];
  const int64_t column = strides[static_cast<size_t>(diagonal.dim2)];
  std::vector<int64_t> kept;
  for (int d = 0; d < rank; ++d)
    if (d != diagonal.dim1 && d != diagonal.dim2) kept.push_back(strides[static_cast<size_t>(d)]);
  kept.push_back(row + column);
  copy_strided(context, diagonal.offset < 0 ? -diagonal.offset * row : diagonal.offset * column,
               kept);
}

}  // namespace

OpDef make() {
  OpDef op = view({.name = "diagonal",
                   .doc = "The diagonal of dims dim1 and dim2, `offset` above the main one, as the "
                          "last dim; torch.diagonal",
                   .attrs = {size_attr({"offset", AttrType::integer, int64_t{0}}),
                             {"dim1", AttrType::integer, int64_t{0}},
                             {"dim2", AttrType::integer, int64_t{1}}},
                   .shape = shape,
                   .source = source,
                   .reference = reference});
  using enum DType;
  op.samples = {{.inputs = {{f32, {5, 5}}}},
                {.inputs = {{f32, {4, 7}}}, .attrs = {{"offset", -2}}},
                {.inputs = {{f32, {2, 3, 4}}}, .attrs = {{"offset", 1}, {"dim1", -1}, {"dim2", 0}}},
                {.inputs = {{f16, {2, 3}}}, .attrs = {{"offset", 9}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_diagonal
