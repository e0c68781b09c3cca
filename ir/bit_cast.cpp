#include "ir/bit_cast.h"

#include <bit>
#include <memory>

#include "support/error.h"

namespace tcc::ir {
namespace {

uint64_t bits_of(const Number& value, DType dtype) {
  switch (dtype) {
    case DType::f64: return std::bit_cast<uint64_t>(value.number);
    case DType::f32: return std::bit_cast<uint32_t>(static_cast<float>(value.number));
    case DType::f16: return f64_to_f16(value.number);
    case DType::bf16: return f64_to_bf16(value.number);
    case DType::f8e4m3: return f64_to_f8e4m3(value.number);
    case DType::f8e5m2: return f64_to_f8e5m2(value.number);
    default: return static_cast<uint64_t>(value.integer);
  }
}

Number from_bits(uint64_t bits, DType dtype) {
  const auto real = [](float value) { return Number{static_cast<double>(value), 0}; };
  switch (dtype) {
    case DType::f64: return {std::bit_cast<double>(bits), 0};
    case DType::f32: return real(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case DType::f16: return real(f16_to_f32(static_cast<uint16_t>(bits)));
    case DType::bf16: return real(bf16_to_f32(static_cast<uint16_t>(bits)));
    case DType::f8e4m3: return real(f8e4m3_to_f32(static_cast<uint8_t>(bits)));
    case DType::f8e5m2: return real(f8e5m2_to_f32(static_cast<uint8_t>(bits)));
    default: return {0, wrap_to(dtype, static_cast<int64_t>(bits))};
  }
}

}  // namespace

Number bit_cast(const Number& value, DType from, DType to) {
  return from_bits(bits_of(value, from), to);
}

Expr bit_cast(const Expr& value, DType from, DType to) {
  TCC_CHECK(size_bytes(from) == size_bytes(to) && from != DType::boolean && to != DType::boolean,
            "bits of ", name(from), " as ", name(to));
  if (is_low_precision(from))
    if (const Expr bits = MovedBits(from).of(value)) return bit_cast(bits, bits->dtype, to);
  const Expr typed = cast(value, from);  // a narrow float arrives as f32
  if (from == to || (!is_float(from) && !is_float(to))) return cast(typed, to);
  if (typed->kind == ExprNode::Kind::constant) {
    const Number folded = bit_cast(Number{typed->number, typed->integer}, from, to);
    return is_float(to) ? constant(to, folded.number) : constant_int(to, folded.integer);
  }
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprNode::Kind::cast;
  node->dtype = to;
  node->integer = 1;
  node->args = {typed};
  return node;
}

Expr MovedBits::of(const Expr& value) {
  if (const auto found = memo_.find(value); found != memo_.end()) return found->second;
  return memo_[value] = find(value);
}

Expr MovedBits::find(const Expr& value) {
  switch (value->kind) {
    case ExprNode::Kind::constant:
      if (!is_float(value->dtype)) return nullptr;
      return constant_int(bits_type(type_),
                          static_cast<int64_t>(bits_of({value->number, 0}, type_)));
    case ExprNode::Kind::load:
      return value->stored == type_ ? load(value->buffer, bits_type(type_), value->index) : nullptr;
    case ExprNode::Kind::var:
    case ExprNode::Kind::element: return of_name_ ? of_name_(value) : nullptr;
    case ExprNode::Kind::cast: return of_cast(value);
    case ExprNode::Kind::call: {
      if (value->fn != Fn::select) return nullptr;
      const Expr yes = of(value->args[1]), no = yes ? of(value->args[2]) : nullptr;
      return no ? select(value->args[0], yes, no) : nullptr;
    }
    default: return nullptr;
  }
}

// Between the type and f32, in which its elements are computed.
Expr MovedBits::of_cast(const Expr& value) {
  const Expr& source = value->args[0];
  if (keeps_bits(*value))
    return value->dtype == type_ ? bit_cast(source, source->dtype, bits_type(type_)) : nullptr;
  const auto is_wide_or_stored = [&](DType d) { return d == DType::f32 || d == type_; };
  if (!is_wide_or_stored(value->dtype) || !is_wide_or_stored(source->dtype)) return nullptr;
  return of(source);
}

}  // namespace tcc::ir
