// States of a program in a .safetensors file, each under its name.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "frontend/tensor_file.h"

namespace tcc {

using NamedType = std::pair<std::string, TensorInfo>;

// Writes atomically; `value` gives state k of the list.
void save_states(const std::filesystem::path& path, std::span<const NamedType> states,
                 const std::function<Tensor(size_t k)>& value);
// Calls `use` with the value of each state in turn. Throws Error(bad_input), before the first call,
// for a damaged file and for one whose tensors are not these by name, dtype and shape. A state that
// grows has more shapes than its type says: `fits` tells whether state k takes the tensor.
void load_states(const std::filesystem::path& path, std::span<const NamedType> states,
                 const std::function<bool(size_t k, const TensorInfo& info)>& fits,
                 const std::function<void(size_t k, const Tensor& value)>& use);
void load_states(const std::filesystem::path& path, std::span<const NamedType> states,
                 const std::function<void(size_t k, const Tensor& value)>& use);

}  // namespace tcc
