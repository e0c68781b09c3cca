// Inputs at hand, in memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/graph_file.h"

namespace tcc::testing {

class GivenTensors : public GivenInputs {
 public:
  GivenTensors& add(const std::string& name, TensorPtr tensor) {
    tensors_[name] = std::move(tensor);
    return *this;
  }
  GivenTensors& add(const std::string& name, Tensor tensor) {
    return add(name, std::make_shared<const Tensor>(std::move(tensor)));
  }
  GivenTensors& ints(const std::string& name, const std::vector<int64_t>& values) {
    Tensor tensor(DType::i64, {static_cast<int64_t>(values.size())});
    for (size_t k = 0; k < values.size(); ++k) tensor.set_int(static_cast<int64_t>(k), values[k]);
    return add(name, std::move(tensor));
  }
  std::optional<TensorInfo> info(const std::string& name) const override {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return std::nullopt;
    return TensorInfo{found->second->dtype(), found->second->shape()};
  }
  TensorPtr load(const std::string& name) const override { return tensors_.at(name); }

 private:
  std::map<std::string, TensorPtr> tensors_;
};

}  // namespace tcc::testing
