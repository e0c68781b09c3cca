#include "ir/external.h"

#include "ir/op.h"
#include "ir/reference/interpreter.h"
#include "support/error.h"

namespace tcc::ir::ops::op_external {
namespace {

ExternalFunctionPtr function_of(const Node& node) {
  return external_function(node.attr<std::string>("function"));
}

std::vector<Type> types_of(const ExternalFunction& function, std::span<const Type* const> inputs) {
  std::vector<Type> operands;
  for (const Type* input : inputs) operands.push_back(*input);
  return function.results(operands);
}

std::vector<Type> infer(const InferContext& context) {
  const ExternalFunctionPtr function = function_of(context.node);
  std::vector<Type> types = types_of(*function, context.inputs);
  context.require(!types.empty(), str("the host's function '", function->name, "' has no result"));
  for (const Type& type : types)
    for (const SymInt& dim : type.shape)
      context.require(!dim.is_const() || dim.value() >= 0,
                      str("the host's function '", function->name, "' has a result ",
                          to_string(type), ", with a negative dim"));
  return types;
}

// The function says how many.
int num_results(const Node& node) {
  std::vector<const Type*> inputs;
  for (const Value* input : node.inputs) inputs.push_back(&input->type);
  return static_cast<int>(types_of(*function_of(node), inputs).size());
}

// The function that runs on the device's data, too.
void reference(EvalContext& context) {
  std::vector<Tensor> operands, results;
  for (const RefTensor* input : context.inputs) operands.push_back(to_tensor(*input));
  for (const RefTensor& output : context.outputs) results.emplace_back(output.dtype, output.shape);
  call_external(*function_of(context.node), operands, results);
  for (size_t i = 0; i < results.size(); ++i) context.outputs[i] = to_ref(results[i]);
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "external";
  op.kind = OpKind::external;
  op.operands = {"xs..."};
  op.attrs = {{"function", AttrType::text, std::nullopt}};
  op.num_results = num_results;
  op.doc = "the results of a function of the host's, which the program registers by name";
  op.infer = infer;
  op.reference = reference;
  op.takes_f8 = true;
  return op;
}

}  // namespace tcc::ir::ops::op_external
