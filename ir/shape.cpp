// Shapes: products, strides, and the way between an index and an offset.
#include "ir/symint.h"
#include "support/error.h"

namespace tcc::ir {

std::string to_string(std::span<const SymInt> shape) {
  std::string text = "[";
  for (const SymInt& dim : shape) {
    if (text.size() > 1) text += ", ";
    text += dim.to_string();
  }
  return text + "]";
}

SymInt product(std::span<const SymInt> values) {
  SymInt result = 1;
  for (const SymInt& value : values) result = result * value;
  return result;
}

std::vector<SymInt> row_major_strides(std::span<const SymInt> shape) {
  std::vector<SymInt> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

SymInt linearize(std::span<const SymInt> index, std::span<const SymInt> shape) {
  TCC_CHECK(index.size() == shape.size(), "index of rank ", index.size(), " in ", to_string(shape));
  SymInt offset = 0, stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    offset = offset + index[d] * stride;
    if (d > 0) stride = stride * shape[d];
  }
  return offset;
}

std::vector<SymInt> delinearize(const SymInt& offset, std::span<const SymInt> shape) {
  std::vector<SymInt> index(shape.size(), 0);
  // The offset is in range, so the outermost dim that is not 1 needs no remainder.
  size_t outermost = 0;
  while (outermost < shape.size() && shape[outermost].is(1)) ++outermost;
  SymInt rest = offset;
  for (size_t d = shape.size(); d-- > outermost;) {
    if (shape[d].is(0)) return std::vector<SymInt>(shape.size(), 0);  // no element, no index
    if (d == outermost) {
      index[d] = rest;
      break;
    }
    index[d] = mod(rest, shape[d]);
    rest = floordiv(rest, shape[d]);
  }
  return index;
}

}  // namespace tcc::ir
