#include <optional>

#include "ir/ops/_split.h"
#include "support/error.h"

namespace tcc::ir::ops::op_chunk {
namespace {

Sections sections(const Node& node, const SymInt& extent) {
  const int64_t chunks = node.attr<int64_t>("chunks");
  constexpr int64_t limit = 1 << 16;
  if (chunks <= 0 || chunks > limit) return {{}, str("chunks must be positive, not ", chunks)};
  if (extent.is(0) || extent.divisible_by(chunks))
    return {Shape(static_cast<size_t>(chunks), floordiv(extent, chunks)), ""};
  return equal_sections(extent, ceildiv(extent, chunks));
}

}  // namespace

OpDef make() {
  OpDef op = split_op(
      "chunk", "At most `chunks` pieces of x along `dim`, equal but for the last; torch.chunk",
      sections);
  op.attrs = {{"chunks", AttrType::integer, std::nullopt}, {"dim", AttrType::integer, int64_t{0}}};
  op.samples = {{.inputs = {{DType::f32, {2, 9}}}, .attrs = {{"chunks", 3}, {"dim", 1}}},
                {.inputs = {{DType::f32, {7, 2}}}, .attrs = {{"chunks", 4}}},
                {.inputs = {{DType::f16, {5}}}, .attrs = {{"chunks", 4}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_chunk
