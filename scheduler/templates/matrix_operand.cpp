#include "scheduler/templates/matrix_operand.h"

#include <algorithm>
#include <functional>

#include "ir/passes/graph_rewrite.h"
#include "scheduler/templates/common.h"

namespace tcc::sched {
namespace {

// Gives the type that a matrix unit reads the operand as, if it does.
std::optional<DType> unit_dtype(const Region& region, const ContractionPlan& plan,
                                const std::optional<OperandView>& view, const ir::Value* operand) {
  if (is_integer(plan.accumulator)) {
    // Bytes have either sign; wider integers that are a buffer of bytes, widened, are bytes.
    const DType dtype = view ? view->dtype : operand->dtype();
    return is_byte(dtype) ? std::optional(dtype) : std::nullopt;
  }
  // A wider operand that is a narrow buffer, widened: its values are narrow.
  if (view && is_low_precision(view->dtype)) return view->dtype;
  if (is_low_precision(operand->dtype())) return operand->dtype();
  if (operand->dtype() == DType::f32 && region.tf32) return DType::f32;
  return std::nullopt;
}

// Lines beyond the last are asked for, too: what they hold is not read.
constexpr int64_t kManyLines = int64_t{1} << 31;

Hook offset_hook(std::string name, std::vector<Hook::Parameter> parameters, const SymInt& offset) {
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = std::move(parameters);
  hook.result = DType::i64;
  hook.returns = true;
  hook.body = {return_value(ir::index_value(offset))};
  return hook;
}

}  // namespace

std::optional<MatrixOperand> matrix_operand(const Region& region, const ContractionPlan& plan,
                                            bool of_a) {
  const ContractionPlan::Operand& of_plan = of_a ? plan.a : plan.b;
  const std::optional<OperandView> view = operand_view(region, plan, of_a);
  const std::optional<DType> dtype =
      unit_dtype(region, plan, view, region.anchor->inputs[static_cast<size_t>(of_plan.input)]);
  if (!dtype) return std::nullopt;
  if (view && view->dtype == *dtype) return described_operand(region, *view, plan, of_a);
  return converted_operand(plan, of_a, *dtype);
}

MatrixOperand converted_operand(const ContractionPlan& plan, bool of_a, DType dtype) {
  const ContractionPlan::Operand& of_plan = of_a ? plan.a : plan.b;
  MatrixOperand operand;
  operand.dtype = dtype;
  operand.major_k = of_plan.along_k;
  operand.vector = of_plan.vector;
  return operand;
}

MatrixOperand described_operand(const Region& region, const OperandView& view,
                                const ContractionPlan& plan, bool of_a) {
  MatrixOperand operand;
  operand.dtype = view.dtype;
  operand.major_k = (of_a ? plan.a : plan.b).along_k;
  operand.vector = (of_a ? plan.a : plan.b).vector;
  const bool along_k = view.k_stride.is(1) || plan.k.size().is(1),
             along_free = view.free_stride.is(1) || (of_a ? plan.m : plan.n).size().is(1);
  if (!along_k && !along_free) return operand;
  operand.view = view;
  operand.fixed = ir::is_fixed(region.inputs[static_cast<size_t>(view.buffer)]);
  operand.major_k = along_k;
  operand.alignment = view.alignment(operand.line_stride());
  operand.load = operand.alignment == 16 ? MatrixOperand::Load::tiles : MatrixOperand::Load::rows;
  return operand;
}

void need_alignment(Kernel& kernel, const MatrixOperand& operand) {
  if (kernels::is_copied(operand.load)) need_alignment(kernel, operand.view, operand.alignment);
}

void need_alignment(Kernel& kernel, const OperandView& view, int64_t alignment) {
  Argument& argument = kernel.arguments[static_cast<size_t>(view.buffer)];
  argument.needed = std::max(argument.needed, alignment);
}

Hook line_hook(const MatrixOperand& operand, const ContractionPlan& plan, std::string name) {
  const Hook::Parameter batch = Hook::index_parameter("batch", plan.batch.size()),
                        line = Hook::index_parameter("line", kManyLines);
  return offset_hook(std::move(name), {batch, line},
                     batch_offset(operand.view, batch.axis) + line.axis * operand.line_stride());
}

Hook vector_hook(const MatrixOperand& operand, const ContractionPlan& plan, std::string name) {
  const Hook::Parameter batch = Hook::index_parameter("batch", plan.batch.size()),
                        at = Hook::index_parameter("at", kManyLines),
                        k = Hook::index_parameter("k", kManyLines);
  const int64_t vector = operand.alignment / size_bytes(operand.dtype);
  const SymInt line = operand.major_k ? at.axis : k.axis,
               along = operand.major_k ? k.axis : at.axis;
  return offset_hook(
      std::move(name), {batch, at, k},
      batch_offset(operand.view, batch.axis) + line * operand.line_stride() + along * vector);
}

Hook chunk_hook(const MatrixOperand& operand, int64_t bytes, const ContractionPlan& plan, bool of_a,
                std::string name) {
  const int64_t chunk = bytes / size_bytes(operand.dtype);
  const SymInt free = (of_a ? plan.m : plan.n).size(), k = plan.k.size();
  OperandView chunks = operand.view;
  chunks.offset = floordiv(chunks.offset, chunk);
  for (OperandView::BatchAxis& axis : chunks.batch) axis.stride = floordiv(axis.stride, chunk);
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan.batch.size()),
                     passed_index("at", operand.major_k ? free : floordiv(free, chunk)),
                     passed_index("k", operand.major_k ? floordiv(k, chunk) : k)};
  const SymInt at = hook.parameters[1].axis, along_k = hook.parameters[2].axis;
  const SymInt line = operand.major_k ? at : along_k, along = operand.major_k ? along_k : at;
  hook.result = DType::i32;
  hook.returns = true;
  hook.body = {
      return_value(ir::cast(ir::index_value(batch_offset(chunks, hook.parameters[0].axis) +
                                            line * floordiv(operand.line_stride(), chunk) + along),
                            DType::i32))};
  return hook;
}

namespace {

// Sets the first elements of the hook's array `c` from the batch's number.
using CoordinatesOf = std::function<std::vector<SymInt>(const SymInt& batch)>;
Hook array_hook(const SymInt& batches, std::string name, const CoordinatesOf& of) {
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", batches),
                     Hook::array_parameter("c", DType::i32, 3, true)};
  const Variable& coordinates = hook.parameters[1].array;
  int64_t place = 0;
  for (const SymInt& value : of(hook.parameters[0].axis))
    hook.body.push_back(
        set_element(coordinates, place++, ir::cast(ir::index_value(value), DType::i32)));
  return hook;
}

}  // namespace

Hook coordinates_hook(const OperandView& view, const SymInt& batches, std::string name) {
  return array_hook(batches, std::move(name), [&](const SymInt& batch) {
    std::vector<SymInt> values;
    for (size_t i = view.batch.size(); i-- > 0;) values.push_back(coordinate(view.batch[i], batch));
    return values;
  });
}

Hook batch_hook(const MatrixOperand& operand, const ContractionPlan& plan, std::string name) {
  return coordinates_hook(operand.view, plan.batch.size(), std::move(name));
}

Hook group_hook(const MatrixOperand& operand, const ContractionPlan& plan, std::string name) {
  return array_hook(plan.batch.size(), std::move(name), [&](const SymInt& batch) {
    return std::vector<SymInt>{batch_offset(operand.view, batch) - operand.view.offset};
  });
}

}  // namespace tcc::sched
