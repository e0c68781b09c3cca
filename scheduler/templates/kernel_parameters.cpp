#include "scheduler/templates/kernel_parameters.h"

#include "support/error.h"

namespace tcc::sched {

using kernels::Element;
using kernels::Load;
using kernels::Sum;

std::string spelling(Load load) {
  switch (load) {
    case Load::tiles: return "Load::tiles";
    case Load::computed: return "Load::computed";
    case Load::rows: return "Load::rows";
    case Load::im2col: return "Load::im2col";
  }
  throw InternalError("a load without a name");
}

std::string spelling(Element element) {
  switch (element) {
    case Element::bf16: return "Element::bf16";
    case Element::f16: return "Element::f16";
    case Element::tf32: return "Element::tf32";
    case Element::f32: return "Element::f32";
    case Element::i8: return "Element::i8";
    case Element::u8: return "Element::u8";
    case Element::e4m3: return "Element::e4m3";
    case Element::e5m2: return "Element::e5m2";
  }
  throw InternalError("an element without a name");
}

std::string spelling(Sum sum) {
  switch (sum) {
    case Sum::f32: return "Sum::f32";
    case Sum::i32: return "Sum::i32";
    case Sum::u32: return "Sum::u32";
  }
  throw InternalError("a type of sums without a name");
}

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::bf16: return Element::bf16;
    case DType::f16: return Element::f16;
    case DType::f32: return Element::tf32;
    case DType::i8: return Element::i8;
    case DType::u8: return Element::u8;
    case DType::f8e4m3: return Element::e4m3;
    case DType::f8e5m2: return Element::e5m2;
    default: throw InternalError(str("no matrix unit reads ", name(dtype)));
  }
}

Sum sum_of(DType accumulator) {
  switch (accumulator) {
    case DType::f32: return Sum::f32;
    case DType::i32: return Sum::i32;
    case DType::u32: return Sum::u32;
    default: throw InternalError(str("no matrix unit sums in ", name(accumulator)));
  }
}

}  // namespace tcc::sched
