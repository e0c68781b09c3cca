#include "tcc/external.hpp"

#include "api/impl.h"
#include "ir/external.h"
#include "support/error.h"

namespace tcc {
namespace {

TensorType type_of(const ir::Type& type) {
  TensorType result{std::string(name(type.dtype)), {}};
  for (const ir::SymInt& dim : type.shape) result.shape.emplace_back(dim.to_string());
  return result;
}

ir::Type type_of(const TensorType& type, const std::string& function) {
  const auto dtype = parse_dtype(type.dtype);
  if (!dtype)
    fail_input("the host's function '", function, "': '", type.dtype, "' is no dtype of a result");
  ir::Type result{*dtype, {}};
  for (const Dim& dim : type.shape) result.shape.push_back(ir::parse_symint(dim.text));
  return result;
}

std::vector<DeviceOperand> public_of(std::span<const DeviceValue> values) {
  std::vector<DeviceOperand> tensors;
  for (const DeviceValue& value : values)
    tensors.push_back({std::string(name(value.dtype)), value.shape, value.bytes, value.address});
  return tensors;
}

std::vector<HostTensor> to_hosts(std::span<const Tensor> tensors) {
  std::vector<HostTensor> hosts;
  for (const Tensor& tensor : tensors) hosts.push_back(to_host(tensor));
  return hosts;
}

}  // namespace

void register_external(ExternalFunction function) {
  ir::ExternalFunction inner;
  inner.name = function.name;
  inner.has_effects = function.has_effects;
  if (function.results)
    inner.results = [name = function.name,
                     results = std::move(function.results)](std::span<const ir::Type> operands) {
      std::vector<TensorType> given;
      for (const ir::Type& operand : operands) given.push_back(type_of(operand));
      std::vector<ir::Type> types;
      for (const TensorType& type : results(given)) types.push_back(type_of(type, name));
      return types;
    };
  if (function.run)
    inner.run = [run = std::move(function.run)](std::span<const Tensor> operands,
                                                std::span<Tensor> results) {
      const std::vector<HostTensor> given = to_hosts(operands);
      std::vector<HostTensor> made = to_hosts(results);
      run(given, made);
      for (size_t i = 0; i < results.size(); ++i)
        results[i] = to_tensor(made[i], str("result ", i));
    };
  if (function.run_on_device)
    inner.run_on_device = [run = std::move(function.run_on_device)](
                              std::span<const DeviceValue> operands,
                              std::span<const DeviceValue> results, void* stream) {
      run(public_of(operands), public_of(results), stream);
    };
  inner.may_be_captured = function.may_be_captured;
  ir::register_external(std::move(inner));
}

namespace {

runtime::HostFunctions registered_functions(const exec::Executable& executable) {
  runtime::HostFunctions functions;
  for (const exec::Step& step : executable.steps) {
    const auto* call = std::get_if<exec::HostCall>(&step);
    if (!call) continue;
    const ir::ExternalFunctionPtr function = ir::external_function(call->function);
    runtime::HostFunction& forms = functions[call->function];
    if (function->run)
      forms.run = [function](std::span<const Tensor> reads, std::span<Tensor> writes) {
        ir::call_external(*function, reads, writes);
      };
    if (function->run_on_device)
      forms.run_on_device = [function](std::span<const DeviceValue> reads,
                                       std::span<const DeviceValue> writes, void* stream) {
        ir::call_external(*function, reads, writes, stream);
      };
    forms.may_be_captured = function->may_be_captured;
  }
  return functions;
}

const struct UseRegistered {
  UseRegistered() { use_host_functions(registered_functions); }
} use_registered;

}  // namespace

}  // namespace tcc
