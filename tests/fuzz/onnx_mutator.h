// Random changes of an ONNX model that leave it a protobuf message: for the fuzzer of the front
// end.
#pragma once

#include <cstdint>

#include <onnx.pb.h>

namespace tcc::fuzz {

// Changes a few things: operators, operands, attributes, shapes, numbers. The same seed gives the
// same changes.
void mutate(::onnx::ModelProto& model, uint32_t seed);

}  // namespace tcc::fuzz
