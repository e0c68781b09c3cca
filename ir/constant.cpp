// Constants' data: tensors at hand, tensors that are loaded on first use, and splats.
#include <cmath>
#include <limits>
#include <mutex>

#include "ir/graph.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

// The integer as a double, where that is exact.
std::optional<double> exact_double(DType dtype, int64_t value) {
  if (dtype == DType::u64 && value < 0) return std::nullopt;
  constexpr int64_t kExact = int64_t{1} << std::numeric_limits<double>::digits;
  if (value < -kExact || value > kExact) return std::nullopt;
  return static_cast<double>(value);
}

class TensorConstant : public ConstantData {
 public:
  explicit TensorConstant(TensorPtr tensor) : tensor_(std::move(tensor)) {
    if (tensor_->numel() != 1) return;
    if (is_float(tensor_->dtype()))
      splat_ = tensor_->get(0);
    else
      splat_ = exact_double(tensor_->dtype(), tensor_->get_int(0));
  }
  TensorPtr load() const override { return tensor_; }
  std::optional<double> splat() const override { return splat_; }
  bool is_literal() const override { return true; }

 private:
  TensorPtr tensor_;
  std::optional<double> splat_;
};

class LazyConstant : public ConstantData {
 public:
  explicit LazyConstant(std::function<TensorPtr()> load) : load_(std::move(load)) {}

  TensorPtr load() const override {
    const std::lock_guard lock(mutex_);
    if (tensor_) return tensor_;
    tensor_ = load_();
    TCC_CHECK(tensor_, "a lazy constant loaded nothing");
    load_ = nullptr;  // with what it holds
    return tensor_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::function<TensorPtr()> load_;
  mutable TensorPtr tensor_;
};

class SplatConstant : public ConstantData {
 public:
  SplatConstant(DType dtype, std::vector<int64_t> shape, double value)
      : dtype_(dtype), shape_(std::move(shape)), value_(round_to(dtype, value)) {}

  TensorPtr load() const override {
    const std::lock_guard lock(mutex_);
    if (TensorPtr tensor = tensor_.lock()) return tensor;
    auto tensor = std::make_shared<Tensor>(dtype_, shape_);
    // A fresh tensor is zero-filled; -0.0 is another matter.
    const bool is_zero = value_ == 0 && !std::signbit(value_);
    for (int64_t i = 0; i < tensor->numel() && !is_zero; ++i) tensor->set(i, value_);
    tensor_ = tensor;
    return tensor;
  }
  std::optional<double> splat() const override { return value_; }
  bool is_literal() const override { return true; }

 private:
  DType dtype_;
  std::vector<int64_t> shape_;
  double value_;
  mutable std::mutex mutex_;
  // The tensor is not kept alive: most users need the value only.
  mutable std::weak_ptr<const Tensor> tensor_;
};

}  // namespace

ConstantPtr make_constant(TensorPtr tensor) {
  TCC_CHECK(tensor, "a constant without a tensor");
  return std::make_shared<TensorConstant>(std::move(tensor));
}

ConstantPtr make_lazy_constant(std::function<TensorPtr()> load) {
  TCC_CHECK(load, "a lazy constant without a loader");
  return std::make_shared<LazyConstant>(std::move(load));
}

ConstantPtr make_splat(DType dtype, std::vector<int64_t> shape, double value) {
  return std::make_shared<SplatConstant>(dtype, std::move(shape), value);
}

ConstantPtr make_scalar_int(DType dtype, int64_t value) {
  Tensor tensor(dtype, {});
  tensor.set_int(0, value);
  return make_constant(std::make_shared<const Tensor>(std::move(tensor)));
}

}  // namespace tcc::ir
