#include "frontend/state_file.h"

#include <algorithm>

#include "frontend/safetensors.h"
#include "support/error.h"

namespace tcc {

void save_states(const std::filesystem::path& path, std::span<const NamedType> states,
                 const std::function<Tensor(size_t)>& value) {
  write_safetensors(path, states,
                    [&](size_t k) { return std::make_shared<const Tensor>(value(k)); });
}

void load_states(const std::filesystem::path& path, std::span<const NamedType> states,
                 const std::function<void(size_t, const Tensor&)>& use) {
  const auto is_equal = [&](size_t k, const TensorInfo& info) {
    return info.dtype == states[k].second.dtype && info.shape == states[k].second.shape;
  };
  load_states(path, states, is_equal, use);
}

void load_states(const std::filesystem::path& path, std::span<const NamedType> states,
                 const std::function<bool(size_t, const TensorInfo&)>& fits,
                 const std::function<void(size_t, const Tensor&)>& use) {
  const SafetensorsFile file(path);
  for (size_t k = 0; k < states.size(); ++k) {
    const auto& [name, type] = states[k];
    if (!file.contains(name)) fail_missing_tensor(path, file, name);
    const TensorInfo info = file.info(name);
    if (!fits(k, info))
      fail_input(path.string(), ": state ", quoted_name(name), " is ",
                 type_text(type.dtype, type.shape), ", in the file ",
                 type_text(info.dtype, info.shape));
  }
  for (const std::string& name : file.names())
    if (std::ranges::find(states, name, &NamedType::first) == states.end())
      fail_input(path.string(), ": ", quoted_name(name), " is no state of the graph");
  for (size_t k = 0; k < states.size(); ++k) use(k, file.load(states[k].first));
}

}  // namespace tcc
