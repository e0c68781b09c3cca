#include "tools/tensors.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "frontend/npy.h"
#include "frontend/npz.h"
#include "frontend/random_init.h"
#include "frontend/tensor_file.h"
#include "frontend/yaml/document.h"
#include "ir/index_inputs.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::tools {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  ir::Shape dims(shape.begin(), shape.end());
  return ir::to_string(std::span<const ir::SymInt>(dims));
}

// Whether the wider float has all values of the narrow one.
bool is_exact(DType narrow, DType wide) {
  return size_bytes(narrow) < size_bytes(wide) && (size_bytes(wide) > 2 || size_bytes(narrow) == 1);
}

Tensor fitted(const std::string& program, Tensor tensor, const ir::Value& input,
              const std::string& from) {
  std::vector<int64_t> shape = ir::const_shape(input);
  if (tensor.shape() != shape)
    fail_input(from, " has shape ", shape_text(tensor.shape()), ", but input '", input.name,
               "' is ", shape_text(shape));
  if (tensor.dtype() == input.dtype()) return tensor;
  if (!is_float(tensor.dtype()) || !is_float(input.dtype()))
    fail_input(from, " is ", name(tensor.dtype()), ", but input '", input.name, "' is ",
               name(input.dtype()));
  if (!is_exact(tensor.dtype(), input.dtype()))
    note_once(program, str(from, " is ", name(tensor.dtype()), ", and input '", input.name, "' ",
                           name(input.dtype()), ": its values are rounded"));
  return cast(tensor, input.dtype());
}

// Integers of a range, as far as the input's type goes, sorted from its first to its last where
// they ascend.
Tensor draw_indices(const ir::Value& input, ir::IndexRange range, uint64_t seed) {
  if (size_bytes(input.dtype()) < 8) {
    const int bits =
        8 * static_cast<int>(size_bytes(input.dtype())) - info(input.dtype()).is_signed;
    range.most = std::min(range.most, (int64_t{1} << bits) - 2);
  }
  Tensor tensor = random_tensor(input.dtype(), ir::const_shape(input),
                                Init::integers(range.least, range.most + 1), seed);
  const int64_t count = tensor.numel();
  if (!range.ascending || count == 0) return tensor;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(tensor.get_int(i));
  std::ranges::sort(numbers);
  numbers.back() = range.most;
  numbers.front() = range.least;
  for (int64_t i = 0; i < count; ++i) tensor.set_int(i, numbers[static_cast<size_t>(i)]);
  return tensor;
}

Tensor draw(const ir::Graph& bound, const ir::Value& input, uint64_t seed) {
  DType dtype = input.dtype();
  Init init = Init::normal(1);
  if (dtype == DType::boolean) {
    init = Init::integers(0, 2);
  } else if (is_integer(dtype)) {
    if (input.random_range)
      init = Init::integers(input.random_range->first, input.random_range->second);
    else if (const auto range = ir::index_range(bound, input))
      return draw_indices(input, *range, stream_seed(seed, input.name));
    else
      init = Init::integers(0, 8);
  }
  return random_tensor(dtype, ir::const_shape(input), init, stream_seed(seed, input.name));
}

// The integer that the whole text is.
std::optional<int64_t> as_integer(const std::string& word) {
  const char* end = word.data() + word.size();
  int64_t integer = 0;
  const auto [stop, error] = std::from_chars(word.data(), end, integer);
  if (error != std::errc() || stop != end) return std::nullopt;
  return integer;
}

// "16000", "1,3,224,224", "0.5,inf" as a tensor of i64 or f64: a scalar, or of one dim. Null: the
// text names a file.
TensorPtr parse_numbers(const std::string& text) {
  constexpr size_t kMost = 4096;
  std::vector<int64_t> integers;
  std::vector<double> floats;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',') && floats.size() < kMost;) {
    const char* end = word.data() + word.size();
    double number = 0;
    const auto as_float = std::from_chars(word.data(), end, number);
    if (as_float.ec != std::errc() || as_float.ptr != end) return nullptr;
    if (const auto integer = as_integer(word)) integers.push_back(*integer);
    floats.push_back(number);
  }
  if (floats.empty() || text.back() == ',') return nullptr;
  const bool whole = integers.size() == floats.size();
  const auto count = static_cast<int64_t>(floats.size());
  Tensor tensor(whole ? DType::i64 : DType::f64,
                count == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{count});
  for (int64_t i = 0; i < count; ++i) {
    if (whole)
      tensor.set_int(i, integers[static_cast<size_t>(i)]);
    else
      tensor.set(i, floats[static_cast<size_t>(i)]);
  }
  return std::make_shared<const Tensor>(std::move(tensor));
}

// Fails for the first number of the text that is no integer.
void require_integers(const std::string& text, const ir::Value& input) {
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');)
    if (!as_integer(word))
      fail_input("--input ", input.name, ": ", word, " is no integer, but the input is ",
                 name(input.dtype()));
}

// The numbers of the text as `input` has them.
TensorPtr typed(const Tensor& numbers, const std::string& text, const ir::Value& input) {
  const bool fits = std::ranges::all_of(input.shape(), [](const auto& d) { return d.is_const(); });
  std::vector<int64_t> shape = numbers.shape();
  if (fits && numbers.numel() == 1 && checked_product(ir::const_shape(input)) == 1)
    shape = ir::const_shape(input);
  const DType dtype = input.dtype();
  if (!is_float(dtype)) require_integers(text, input);
  Tensor result(dtype, std::move(shape));
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    if (is_float(dtype)) {
      result.set(i, numbers.get(i));
      continue;
    }
    const int64_t number = numbers.get_int(i);
    if (wrap_to(dtype, number) != number)
      fail_input("--input ", input.name, ": ", number, " is no ", name(dtype));
    result.set_int(i, number);
  }
  return std::make_shared<const Tensor>(std::move(result));
}

}  // namespace

void add_input_options(CLI::App& app, InputOptions& options) {
  app.add_option("--input", options.named,
                 "an input, from an .npy, or numbers: sr=16000, shape=1,3,224,224; several")
      ->allow_extra_args(false);
  app.add_option("--inputs", options.npz,
                 "inputs by name, from an .npz; those that nothing gives are drawn");
  app.add_option("--state", options.states,
                 "INPUT=OUTPUT: the input becomes a state, the output its next value; several")
      ->allow_extra_args(false);
}

StatePairs parse_states(const InputOptions& options) {
  StatePairs pairs;
  for (const std::string& text : options.states) {
    const size_t equal = text.find('=');
    if (equal == std::string::npos || equal == 0 || equal + 1 == text.size())
      fail_input("--state ", text, ": must be INPUT=OUTPUT");
    pairs.emplace_back(text.substr(0, equal), text.substr(equal + 1));
  }
  return pairs;
}

InputFiles::InputFiles(const InputOptions& options) : npz_path_(options.npz) {
  for (const std::string& text : options.named) {
    const size_t equal = text.find('=');
    if (equal == std::string::npos || equal == 0)
      fail_input("--input ", text, ": must be NAME=FILE.npy or NAME=NUMBERS");
    Named named{text.substr(equal + 1), nullptr};
    named.numbers = parse_numbers(named.text);
    if (!named_.try_emplace(text.substr(0, equal), std::move(named)).second)
      fail_input("--input ", text, ": given twice");
  }
  for (auto& [name, named] : named_)
    if (!named.numbers) named.file = open_tensor_file(named.text);
  if (!npz_path_.empty()) npz_ = open_tensor_file(npz_path_);
}

const TensorFile* InputFiles::file_of(const std::string& name, std::string& key) const {
  if (const auto found = named_.find(name); found != named_.end()) {
    used_.insert(name);
    key = "";
    return found->second.file.get();
  }
  key = name;
  if (!npz_ || !npz_->contains(name)) return nullptr;
  used_.insert(name);
  return npz_.get();
}

std::optional<TensorInfo> InputFiles::info(const std::string& name) const {
  std::string key;
  if (const TensorFile* file = file_of(name, key)) return file->info(key);
  const auto found = named_.find(name);
  if (found == named_.end()) return std::nullopt;
  const Tensor& numbers = *found->second.numbers;
  return TensorInfo{numbers.dtype(), numbers.shape()};
}

TensorPtr InputFiles::load(const std::string& name) const {
  std::string key;
  const TensorFile* file = file_of(name, key);
  if (file) return std::make_shared<const Tensor>(file->load(key));
  const auto found = named_.find(name);
  TCC_CHECK(found != named_.end(), "nothing is given of input ", name);
  return found->second.numbers;
}

TensorPtr InputFiles::load_for(const ir::Value& input) const {
  const TensorPtr tensor = load(input.name);
  const auto found = named_.find(input.name);
  if (found == named_.end() || !found->second.numbers) return tensor;
  return typed(*tensor, found->second.text, input);
}

std::string InputFiles::source(const std::string& name) const {
  const auto found = named_.find(name);
  if (found == named_.end()) return str(npz_path_, ": '", name, "'");
  return found->second.numbers ? str("--input ", name, "=", found->second.text)
                               : found->second.text;
}

void InputFiles::check_all_used(const std::vector<std::string>& inputs) const {
  std::vector<std::string> known = inputs;
  const auto is_known = [&](const std::string& name) {
    return std::ranges::find(known, name) != known.end();
  };
  for (const std::string& name : used_)
    if (!is_known(name)) known.push_back(name);
  for (const auto& [name, named] : named_)
    if (!is_known(name))
      fail_input("--input ", name, ": the graph has no such input", yaml::or_known(name, known));
  if (!npz_) return;
  for (const std::string& name : npz_->names())
    if (!is_known(name))
      fail_input(npz_path_, ": ", quoted_name(name), " is no input of the graph",
                 yaml::or_known(name, known));
}

std::vector<std::string> input_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Value* input : graph.inputs) names.push_back(input->name);
  return names;
}

std::vector<Tensor> load_inputs(const std::string& program, const ir::Graph& bound,
                                const InputFiles& files, uint64_t seed) {
  files.check_all_used(input_names(bound));
  std::vector<Tensor> tensors;
  for (const ir::Value* input : bound.inputs)
    tensors.push_back(files.info(input->name) ? fitted(program, *files.load_for(*input), *input,
                                                       files.source(input->name))
                                              : draw(bound, *input, seed));
  return tensors;
}

void say_drawn_inputs(const std::string& program, const ir::Graph& graph, const InputFiles& files) {
  if (files.is_empty()) return;
  std::string list;
  for (const ir::Value* input : graph.inputs)
    if (!files.info(input->name)) list += (list.empty() ? "" : ", ") + quoted_name(input->name);
  if (!list.empty())
    std::cerr << program << ": note: drawn at random, since nothing is given of them: " << list
              << "\n";
}

std::string_view emptiness_of(const Tensor& tensor) {
  if (!is_float(tensor.dtype()) || tensor.numel() == 0) return "";
  bool nan = true, zero = tensor.numel() > 1;  // a single zero is a result like another
  for (int64_t i = 0; i < tensor.numel() && (nan || zero); ++i) {
    const double value = tensor.get(i);
    nan &= std::isnan(value);
    zero &= value == 0;
  }
  return nan ? "NaN" : zero ? "zero" : "";
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

}  // namespace tcc::tools
