#include "frontend/yaml/weight_data.h"

#include "support/error.h"

namespace tcc::yaml {

TensorPtr DrawnConstant::load() const {
  return std::make_shared<Tensor>(random_tensor(drawn_.dtype, shape_, drawn_.init, drawn_.seed));
}

std::optional<double> DrawnConstant::splat() const {
  if (drawn_.init.kind != Init::Kind::constant) return std::nullopt;
  if (drawn_.init.whole_value) return std::nullopt;  // a double would round it
  return is_float(drawn_.dtype) ? round_to(drawn_.dtype, drawn_.init.a) : drawn_.init.a;
}

ir::ConstantPtr UnboundFile::bind(const std::vector<int64_t>& shape) const {
  if (shape != ir::const_shape(type_.shape))
    fail_input(name_, " holds ", ir::to_string(type_), ", but the dims give ",
               ir::to_string(ir::Type{type_.dtype, ir::Shape(shape.begin(), shape.end())}));
  return data_;
}

}  // namespace tcc::yaml
