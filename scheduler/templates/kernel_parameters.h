// Structs that templates share with device sources (backends/device/common), as the text of a
// kernel's parameters.
#pragma once

#include <string>
#include <type_traits>

#include "backends/device/common/matrix.h"
#include "ir/dtype.h"
#include "scheduler/kernel.h"

namespace tcc::sched {

// Return the enumerators as C++ spells them: "Load::tiles".
std::string spelling(kernels::Load load);
std::string spelling(kernels::Element element);
std::string spelling(kernels::Sum sum);
// Return the last enumerator of an enumeration, which counts from 0.
constexpr kernels::Load last_of(kernels::Load) { return kernels::Load::im2col; }
constexpr kernels::Element last_of(kernels::Element) { return kernels::Element::e5m2; }
constexpr kernels::Sum last_of(kernels::Sum) { return kernels::Sum::u32; }

// Returns the type as which a matrix unit reads a dtype: f32 as tf32. Throws InternalError where no
// matrix unit reads it.
kernels::Element element_of(DType dtype);
// The type of sums of an accumulator: f32, i32 or u32.
kernels::Sum sum_of(DType accumulator);

namespace detail {

template <class Value>
void add_fields(Parameters& parameters, const std::string& name, const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    parameters.fields.emplace_back(name, spelling(value));
    for (int number = 0; number <= static_cast<int>(last_of(value)); ++number)
      parameters.enumerators[spelling(static_cast<Value>(number))] = number;
  } else if constexpr (std::is_same_v<Value, bool>) {
    parameters.fields.emplace_back(name, value ? "true" : "false");
  } else if constexpr (std::is_integral_v<Value>) {
    parameters.fields.emplace_back(name, std::to_string(value));
  } else {
    value.each_field([&](const char* field, const auto& member) {
      add_fields(parameters, name.empty() ? field : name + "." + field, member);
    });
  }
}

}  // namespace detail

// The parameters of a kernel whose struct `type` is declared in `header`.
template <class Struct>
Parameters parameters_of(const Struct& value, std::string type, std::string header) {
  Parameters parameters{std::move(header), std::move(type), {}, {}};
  detail::add_fields(parameters, "", value);
  return parameters;
}

// Adds the members of another struct, as those of a member `name`.
template <class Struct>
void add_parameters(Parameters& parameters, const std::string& name, const Struct& value) {
  detail::add_fields(parameters, name, value);
}

}  // namespace tcc::sched
