#include "ir/counted_dims.h"
#include "ir/op.h"
#include "ir/ops/_samples.h"
#include "support/error.h"

namespace tcc::ir::ops::op_read_size {

OpDef make() {
  OpDef op;
  op.name = "read_size";
  op.kind = OpKind::external;
  op.operands = {"count"};
  op.attrs = {{"size", AttrType::ints, std::nullopt, {}, true},
              {"most", AttrType::ints, std::nullopt, {}, true}};
  op.doc =
      "Gives the dim `size` the number `count` (i64, shape []), which is read back while the graph "
      "runs: what has that dim comes after it; at most `most`; the result is the number";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    counted_size(context);
    context.require(context.node.attr<std::vector<SymInt>>("most").size() == 1,
                    "most must be one size");
    const Type& count = *context.inputs[0];
    context.require(count.dtype == DType::i64 && count.shape.empty(),
                    str("count is ", to_string(count), ", not i64[]"));
    return {count};
  };
  op.most_counted = [](const Node& node) { return node.attr<std::vector<SymInt>>("most")[0]; };
  op.reference = [](EvalContext& context) {
    const int64_t count = context.inputs[0]->i[0];
    const SymInt& size = context.node.attr<std::vector<SymInt>>("size")[0];
    if (size.is_const() && size.value() != count)
      fail_input("read_size '", context.node.outputs[0]->name, "' is ", count, ", not ",
                 size.value());
    context.outputs[0].i[0] = count;
  };
  return op;
}

}  // namespace tcc::ir::ops::op_read_size
