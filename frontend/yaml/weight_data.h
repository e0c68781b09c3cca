// The data of weights as a YAML graph states it: numbers that are drawn, and files whose shapes
// have dims.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/random_init.h"
#include "ir/graph.h"
#include "ir/unbound_constant.h"

namespace tcc::yaml {

// The distribution and the seed of a weight. `seed` is that of its own stream: stream_seed(graph's
// seed, its name).
struct Drawn {
  DType dtype;
  Init init;
  uint64_t seed;
};

// Numbers as a frontend draws them, on first use.
class DrawnConstant : public ir::ConstantData {
 public:
  DrawnConstant(Drawn drawn, std::vector<int64_t> shape)
      : drawn_(drawn), shape_(std::move(shape)) {}
  const Drawn& drawn() const { return drawn_; }
  TensorPtr load() const override;
  std::optional<double> splat() const override;

 private:
  Drawn drawn_;
  std::vector<int64_t> shape_;
};

class UnboundDrawn : public ir::UnboundConstant {
 public:
  explicit UnboundDrawn(Drawn drawn) : drawn_(drawn) {}
  const Drawn& drawn() const { return drawn_; }
  ir::ConstantPtr bind(const std::vector<int64_t>& shape) const override {
    return std::make_shared<DrawnConstant>(drawn_, shape);
  }

 private:
  Drawn drawn_;
};

// A file's tensor, which fits one number for each symbol.
class UnboundFile : public ir::UnboundConstant {
 public:
  UnboundFile(std::string name, ir::Type type, ir::ConstantPtr data)
      : name_(std::move(name)), type_(std::move(type)), data_(std::move(data)) {}
  const ir::Type& file_type() const { return type_; }
  const ir::ConstantPtr& file_data() const { return data_; }
  ir::ConstantPtr bind(const std::vector<int64_t>& shape) const override;

 private:
  std::string name_;
  ir::Type type_;
  ir::ConstantPtr data_;
};

}  // namespace tcc::yaml
