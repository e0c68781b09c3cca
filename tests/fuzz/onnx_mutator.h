// Random changes of an ONNX model that leave it a protobuf message: for the fuzzer of the front
// end.
#pragma once

#include <cstdint>

#include "frontend/onnx/rules.h"
#include <onnx.pb.h>

namespace tcc::fuzz {

// A model of one node of that operator, whose operands, attributes and opset are drawn: small
// tensors and constants of rank 0 to 5, named dims, dims of 0 and 1.
::onnx::ModelProto random_model(const onnx::Rule& rule, uint32_t seed);

// Changes a few things: operators, operands, attributes, shapes, numbers. The same seed gives the
// same changes.
void mutate(::onnx::ModelProto& model, uint32_t seed);

}  // namespace tcc::fuzz
