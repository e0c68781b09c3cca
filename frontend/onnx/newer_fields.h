// Fields of ONNX's messages that are younger than the onnx.proto of some distributions. What they
// say changes a graph, so they are read from the unknown fields where the message class lacks them.
#pragma once

#include <map>
#include <string>

#include <onnx.pb.h>

namespace tcc::onnx {

namespace pb = ::onnx;

using DefaultAttributes = std::map<std::string, pb::AttributeProto, std::less<>>;

// FunctionProto.attribute_proto (ONNX 1.13): attributes with a default.
DefaultAttributes default_attributes(const pb::FunctionProto& function);

// `overload` (ONNX 1.16) is there and not empty.
bool is_overload(const pb::FunctionProto& function);
bool is_overload(const pb::NodeProto& node);

}  // namespace tcc::onnx
