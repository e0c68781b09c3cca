#include "tools/tensors.h"

#include <filesystem>
#include <map>
#include <memory>

#include "frontend/npy.h"
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

void add_input_options(CLI::App& app, InputOptions& options) {
  app.add_option("--input", options.named, "an input, from an .npy; several")
      ->allow_extra_args(false);
  app.add_option("--inputs", options.npz,
                 "inputs by name, from an .npz; those that no file gives are drawn");
}

InputFiles::InputFiles(const InputOptions& options) : npz_path_(options.npz) {
  for (const std::string& text : options.named) {
    const size_t equal = text.find('=');
    if (equal == std::string::npos || equal == 0)
      fail_input("--input ", text, ": must be NAME=FILE.npy");
    if (!named_.try_emplace(text.substr(0, equal), text.substr(equal + 1), nullptr).second)
      fail_input("--input ", text, ": given twice");
  }
  for (auto& [name, file] : named_) file.second = open_tensor_file(file.first);
  if (!npz_path_.empty()) npz_ = open_tensor_file(npz_path_);
}

const TensorFile* InputFiles::file_of(const std::string& name, std::string& key) const {
  if (const auto found = named_.find(name); found != named_.end()) {
    used_.insert(name);
    key = "";
    return found->second.second.get();
  }
  key = name;
  return npz_ && npz_->contains(name) ? npz_.get() : nullptr;
}

std::optional<TensorInfo> InputFiles::info(const std::string& name) const {
  std::string key;
  const TensorFile* file = file_of(name, key);
  return file ? std::optional(file->info(key)) : std::nullopt;
}

TensorPtr InputFiles::load(const std::string& name) const {
  std::string key;
  const TensorFile* file = file_of(name, key);
  TCC_CHECK(file, "no file of input ", name);
  return std::make_shared<const Tensor>(file->load(key));
}

std::string InputFiles::source(const std::string& name) const {
  const auto found = named_.find(name);
  return found == named_.end() ? str(npz_path_, ": '", name, "'") : found->second.first;
}

void InputFiles::check_all_used() const {
  for (const auto& [name, file] : named_)
    if (!used_.contains(name)) fail_input("--input ", name, ": the graph has no such input");
}

std::vector<Tensor> load_inputs(const ir::Graph& bound, const InputFiles& files, uint64_t seed) {
  std::vector<Tensor> tensors;
  for (const ir::Value* input : bound.inputs)
    tensors.push_back(files.info(input->name)
                          ? fit(*files.load(input->name), *input, files.source(input->name))
                          : draw(*input, seed));
  files.check_all_used();
  return tensors;
}

void check_outputs_path(const std::string& path, size_t num_outputs) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (path.empty() || ending == ".npz" || (ending == ".npy" && num_outputs == 1)) return;
  if (ending == ".npy")
    fail_input("--outputs ", path, ": an .npy holds one array, the graph has ", num_outputs,
               " outputs: name an .npz");
  fail_input("--outputs ", path, ": must end in .npz, or in .npy for a single output");
}

void save_outputs(const ir::Graph& graph, const std::vector<Tensor>& outputs,
                  const std::string& path) {
  if (std::filesystem::path(path).extension() == ".npy") return write_npy(path, outputs.at(0));
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
