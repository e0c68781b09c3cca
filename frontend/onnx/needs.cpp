#include "frontend/onnx/needs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "support/error.h"

namespace tcc::onnx {
namespace {

using Dims = std::map<std::string, int64_t, std::less<>>;

// The dim that is likely to be the number of examples: by its name, or the first dim of all where
// its name does not say more.
bool is_batch(std::string name, bool is_first) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name.find("batch") != std::string::npos || name == "n" || name == "b") return true;
  constexpr std::array kSizes = {"seq",    "len",   "time",  "step",  "frame",
                                 "sample", "audio", "width", "height"};
  return is_first && std::ranges::none_of(kSizes, [&](const char* word) {
           return name.find(word) != std::string::npos;
         });
}

// The inputs at hand, and ones for those that are asked for.
class Assumed : public GivenInputs {
 public:
  Assumed(const pb::ModelProto& model, const GivenInputs* given, const Dims& dims)
      : given_(given), dims_(dims) {
    for (const pb::ValueInfoProto& input : model.graph().input()) types_[input.name()] = &input;
  }
  // False where there is nothing to assume.
  bool add(const std::string& name) {
    return types_.contains(name) && type_of(name) && assumed_.insert(name).second;
  }
  std::optional<TensorInfo> info(const std::string& name) const override {
    if (assumed_.contains(name)) return type_of(name);
    return given_ ? given_->info(name) : std::nullopt;
  }
  TensorPtr load(const std::string& name) const override {
    if (!assumed_.contains(name)) return given_->load(name);
    const TensorInfo type = *type_of(name);
    Tensor tensor(type.dtype, type.shape);
    for (int64_t k = 0; k < tensor.numel(); ++k) tensor.set(k, 1);
    return std::make_shared<const Tensor>(std::move(tensor));
  }
  // Writes the input as an option: a single number is written out, other data comes from a file.
  std::string option(const std::string& name) const {
    const auto type = types_.contains(name) ? type_of(name) : std::nullopt;
    const bool is_number =
        type && std::ranges::all_of(type->shape, [](int64_t d) { return d == 1; });
    return str(" --input ", name, is_number ? "=NUMBER" : "=FILE.npy");
  }

 private:
  std::optional<TensorInfo> type_of(const std::string& name) const {
    constexpr int64_t kMost = 4096;
    const auto& tensor = types_.at(name)->type().tensor_type();
    if (!tensor.has_shape()) return std::nullopt;
    TensorInfo info;
    int64_t count = 1;
    for (const auto& dim : tensor.shape().dim()) {
      const auto named = dims_.find(dim.dim_param());
      const int64_t extent = dim.has_dim_value()    ? dim.dim_value()
                             : named != dims_.end() ? named->second
                                                    : 1;
      if (extent < 0 || extent > kMost) return std::nullopt;
      count *= extent;
      if (count > kMost) return std::nullopt;
      info.shape.push_back(extent);
    }
    try {
      info.dtype = dtype_of(tensor.elem_type(), "");
    } catch (const Error&) { return std::nullopt; }
    return info;
  }

  const GivenInputs* given_;
  const Dims& dims_;
  std::map<std::string, const pb::ValueInfoProto*, std::less<>> types_;
  std::set<std::string> assumed_;
};

// Imports with some dims bound, and with data for whatever input is asked for on the way.
struct Attempt {
  Dims dims;
  std::vector<std::string> inputs;
  std::string error;  // none: the model was read
  std::string place;  // of that error

  bool is_read() const { return error.empty(); }
  // Whether it got beyond the node at which `failed` ended, or found inputs that this node needs.
  bool helps(const Importer& failed) const {
    return is_read() || !inputs.empty() || place != failed.last_place();
  }
};

Attempt attempt(const pb::ModelProto& model, const std::filesystem::path& path,
                const GraphFileOptions& options, const Dims& dims) {
  constexpr int kMostInputs = 8;
  Attempt result{dims, {}, {}, {}};
  GraphFileOptions assumed = options;
  for (const auto& [name, extent] : dims) assumed.dims[name] = extent;
  Assumed inputs(model, options.inputs, dims);
  assumed.inputs = &inputs;
  for (int k = 0; k < kMostInputs; ++k) {
    Importer importer(model, path, assumed);
    try {
      importer.run();
      result.error.clear();
      return result;
    } catch (const Error& error) {
      result.error = error.what();
      result.place = importer.last_place();
    }
    bool more = false;
    for (const std::string& name : importer.missing_inputs()) {
      if (std::ranges::find(result.inputs, name) == result.inputs.end())
        result.inputs.push_back(name);
      more |= inputs.add(name);
    }
    if (!more) return result;
  }
  return result;
}

// " tcc-run m.onnx --dim batch=1 --input k=NUMBER".
std::string command(const pb::ModelProto& model, const std::filesystem::path& path,
                    const GraphFileOptions& options, const std::vector<std::string>& free,
                    const Attempt& found) {
  std::string text = " tcc-run " + path.string();
  for (const std::string& name : free) text += str(" --dim ", name, "=", found.dims.at(name));
  const Assumed inputs(model, options.inputs, found.dims);
  for (const std::string& name : found.inputs) text += inputs.option(name);
  return text;
}

// " dims batch=1, time=128; inputs 'k'".
std::string members(const std::vector<std::string>& free, const Attempt& found) {
  std::string text;
  for (const std::string& name : free)
    text += str(text.empty() ? " dims " : ", ", name, "=", found.dims.at(name));
  if (!found.inputs.empty()) text += text.empty() ? " inputs " : "; inputs ";
  for (size_t k = 0; k < found.inputs.size(); ++k)
    text += (k ? ", " : "") + quoted_name(found.inputs[k]);
  return text;
}

}  // namespace

std::string what_is_needed(const pb::ModelProto& model, const std::filesystem::path& path,
                           const GraphFileOptions& options, const Importer& failed) {
  const std::vector<std::string> free = failed.free_dims();
  if (free.empty() && failed.missing_inputs().empty()) return "";
  // Sizes that exist in many kinds of models: images, texts, sounds.
  std::optional<Attempt> best;
  for (const int64_t size : {128, 512, 1}) {
    Dims dims;
    for (size_t k = 0; k < free.size(); ++k) dims[free[k]] = is_batch(free[k], k == 0) ? 1 : size;
    Attempt found = attempt(model, path, options, dims);
    if (found.helps(failed) && (!best || found.is_read())) best = std::move(found);
    if ((best && best->is_read()) || free.empty()) break;
  }
  // The same node fails whatever the dims are: they are not what is missing.
  if (!best) return "";
  std::string text = best->is_read() ? "; it can be read with:" : "; it needs, at least:";
  return text +
         (options.is_tool ? command(model, path, options, free, *best) : members(free, *best));
}

}  // namespace tcc::onnx
