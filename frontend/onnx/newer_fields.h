// Some fields of ONNX's messages are newer than the onnx.proto of some distributions. They change a
// graph's meaning, so they are read from the unknown fields where the message class lacks them.
#pragma once

#include <map>
#include <string>

#include <onnx.pb.h>

namespace tcc::onnx {

namespace pb = ::onnx;

using DefaultAttributes = std::map<std::string, pb::AttributeProto, std::less<>>;

// FunctionProto.attribute_proto (ONNX 1.13): attributes with a default.
DefaultAttributes default_attributes(const pb::FunctionProto& function);

// Returns whether `overload` (ONNX 1.16) is present and not empty.
bool is_overload(const pb::FunctionProto& function);
bool is_overload(const pb::NodeProto& node);

}  // namespace tcc::onnx
