#include "tools/tensors.h"

#include <map>
#include <memory>

#include "frontend/npz.h"
#include "frontend/random_init.h"
#include "frontend/tensor_file.h"
#include "ir/reference/interpreter.h"
#include "support/error.h"

namespace tcc::tools {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  ir::Shape dims(shape.begin(), shape.end());
  return ir::to_string(std::span<const ir::SymInt>(dims));
}

Tensor fit(Tensor tensor, const ir::Value& input, const std::string& from) {
  std::vector<int64_t> shape = ir::const_shape(input);
  if (tensor.shape() != shape)
    fail_input(from, " has shape ", shape_text(tensor.shape()), ", but input '", input.name,
               "' is ", shape_text(shape));
  if (tensor.dtype() == input.dtype()) return tensor;
  if (is_float(tensor.dtype()) && is_float(input.dtype())) return cast(tensor, input.dtype());
  fail_input(from, " is ", name(tensor.dtype()), ", but input '", input.name, "' is ",
             name(input.dtype()));
}

Tensor draw(const ir::Value& input, uint64_t seed) {
  DType dtype = input.dtype();
  Init init = Init::normal(1);
  if (dtype == DType::boolean)
    init = Init::integers(0, 2);
  else if (is_integer(dtype))
    init = input.random_range
               ? Init::integers(input.random_range->first, input.random_range->second)
               : Init::integers(0, 8);
  return random_tensor(dtype, ir::const_shape(input), init, stream_seed(seed, input.name));
}

}  // namespace

std::vector<Tensor> load_inputs(const ir::Graph& bound, const InputFiles& files) {
  std::map<std::string, std::string> named;
  for (const std::string& text : files.named) {
    size_t equal = text.find('=');
    if (equal == std::string::npos || equal == 0)
      fail_input("--input ", text, ": must be NAME=FILE.npy");
    if (!named.emplace(text.substr(0, equal), text.substr(equal + 1)).second)
      fail_input("--input ", text, ": given twice");
  }
  std::unique_ptr<TensorFile> npz;
  if (!files.npz.empty()) npz = open_tensor_file(files.npz);
  std::vector<Tensor> tensors;
  for (const ir::Value* input : bound.inputs) {
    if (auto found = named.find(input->name); found != named.end()) {
      tensors.push_back(fit(open_tensor_file(found->second)->load(""), *input, found->second));
      named.erase(found);
    } else if (npz && npz->contains(input->name)) {
      tensors.push_back(
          fit(npz->load(input->name), *input, str(files.npz, ": '", input->name, "'")));
    } else {
      tensors.push_back(draw(*input, files.seed));
    }
  }
  if (!named.empty()) fail_input("--input ", named.begin()->first, ": the graph has no such input");
  return tensors;
}

void save_outputs(const ir::Graph& graph, const std::vector<Tensor>& outputs,
                  const std::string& path) {
  std::vector<std::pair<std::string, const Tensor*>> named;
  for (size_t i = 0; i < outputs.size(); ++i)
    named.emplace_back(graph.output_names[i], &outputs[i]);
  write_npz(path, named);
}

std::vector<ir::Comparison> check_outputs(const ir::Graph& bound, const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& outputs, bool tf32) {
  std::vector<ir::RefTensor> given;
  for (const Tensor& tensor : inputs) given.push_back(ir::to_ref(tensor));
  std::vector<ir::RefTensor> ideal = ir::interpret(bound, given, ir::RefMode::ideal);
  std::vector<ir::RefTensor> stepwise =
      ir::interpret(bound, given, ir::RefMode::stepwise, {.observe = {}, .tf32 = tf32});
  std::vector<ir::Comparison> comparisons;
  for (size_t i = 0; i < outputs.size(); ++i)
    comparisons.push_back(ir::compare(ir::to_ref(outputs[i]), ideal[i], stepwise[i]));
  return comparisons;
}

}  // namespace tcc::tools
