#include <optional>

#include "ir/builder.h"
#include "ir/ops/_split.h"

namespace tcc::ir::ops::op_split {
namespace {

// One number is the size of every piece but the last; several are the sizes.
Sections sections(const Node& node, const SymInt& extent) {
  const Shape sizes = symint_list(node, "split_size_or_sections");
  if (sizes.size() == 1)
    return sizes[0] == extent ? Sections{sizes, ""} : equal_sections(extent, sizes[0]);
  return {sizes, sizes.empty() ? "there must be a section" : ""};
}

}  // namespace

OpDef make() {
  OpDef op = split_op(
      "split", "Pieces of x along `dim`, of one size or of sizes given; torch.split", sections);
  op.attrs = {{"split_size_or_sections", AttrType::ints, std::nullopt, {}, true},
              {"dim", AttrType::integer, int64_t{0}}};
  using enum DType;
  op.samples = {{.inputs = {{f32, {7, 3}}}, .attrs = {{"split_size_or_sections", 3}}},
                {.inputs = {{f32, {2, 9}}},
                 .attrs = {{"split_size_or_sections", ints({4, 0, 5})}, {"dim", -1}}},
                {.inputs = {{f16, {0, 3}}}, .attrs = {{"split_size_or_sections", 2}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_split
