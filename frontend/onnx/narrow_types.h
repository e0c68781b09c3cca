// tcc lacks some element types of ONNX (those of fewer than 8 bits, and some floats of 8). Their
// elements are held in a wider type, and an Operand records the type of its elements.
#pragma once

#include <cstdint>
#include <string_view>

#include "frontend/onnx/op_node.h"
#include "ir/tensor.h"

namespace tcc::onnx {

struct NarrowType {
  int32_t code;  // of TensorProto.DataType
  std::string_view name;
  int bits;
  DType holder;
  int64_t low = 0, high = 0;  // integers: the range
  // Floats: values are multiples of 2^(e - mantissa_bits) where 2^e, from the smallest e on, is the
  // power of two below them, and at most `largest`.
  int mantissa_bits = 0, smallest_exponent = 0;
  double largest = 0;
  bool has_nan = false;  // one, in the place of -0: the FNUZ kinds

  bool is_integer() const { return high != 0; }
};

// Returns null for all other types.
const NarrowType* narrow_type(int32_t data_type);

// Returns the value of such an element.
inline Operand with_element_type(Value* value, int32_t data_type) {
  Operand operand(value);
  if (narrow_type(data_type)) operand.narrow = data_type;
  return operand;
}

// Returns whether the operator gives the elements of its first input as they are. All others but
// those that convert elements take no narrow types.
bool moves_narrow_elements(std::string_view op);
bool converts_narrow_elements(std::string_view op);

// Returns the bytes that `count` elements need, at `stride` bits from one to the next.
inline int64_t packed_bytes(int64_t count, int stride) { return (count * stride + 7) / 8; }
// Fills `tensor`, of the holder, from the bytes of its elements, the least significant bits first.
void unpack(const NarrowType& type, std::string_view bytes, int stride, Tensor& tensor);

// Converts x (floats, integers or bool) to elements of the type, in its holder: floats are rounded
// to nearest even, and saturate unless the node says not to; to integers, floats lose their
// fraction and integers wrap.
Value* to_narrow(OpNode& n, Value* x, const NarrowType& type);

}  // namespace tcc::onnx
