#include "ir/ops/_permutation.h"

#include <utility>

namespace tcc::ir::ops {
namespace {

std::vector<SymInt> permuted_source(std::span<const int> dims, std::span<const SymInt> index) {
  std::vector<SymInt> source(index.size());
  for (size_t d = 0; d < index.size(); ++d) source[static_cast<size_t>(dims[d])] = index[d];
  return source;
}

}  // namespace

OpDef permuting(std::string name, std::string doc, std::vector<AttrDef> attrs,
                std::function<void(const InferContext&)> check,
                std::function<std::vector<int>(const Node&, int rank)> dims) {
  return view({.name = std::move(name),
               .doc = std::move(doc),
               .attrs = std::move(attrs),
               .shape =
                   [dims, check](const InferContext& context) {
                     check(context);
                     const Shape& x = context.inputs[0]->shape;
                     Shape shape;
                     for (int dim : dims(context.node, static_cast<int>(x.size())))
                       shape.push_back(x[static_cast<size_t>(dim)]);
                     return shape;
                   },
               .source =
                   [dims](const Node& node, std::span<const SymInt> index) {
                     return permuted_source(dims(node, static_cast<int>(index.size())), index);
                   },
               .inverse =
                   [dims](const Node& node, std::span<const SymInt> index) {
                     std::vector<SymInt> out;
                     for (int dim : dims(node, static_cast<int>(index.size())))
                       out.push_back(index[static_cast<size_t>(dim)]);
                     return out;
                   },
               .reference =
                   [dims](EvalContext& context) {
                     const auto x_strides = strides_of(context.inputs[0]->shape);
                     std::vector<int64_t> strides;
                     for (int dim : dims(context.node, static_cast<int>(x_strides.size())))
                       strides.push_back(x_strides[static_cast<size_t>(dim)]);
                     copy_strided(context, 0, strides);
                   }});
}

}  // namespace tcc::ir::ops
