#include "frontend/onnx/newer_fields.h"

#include <google/protobuf/io/coded_stream.h>

#include <functional>

namespace tcc::onnx {
namespace {

using google::protobuf::io::CodedInputStream;

// Calls `visit` with every length-delimited field `number` of a message in the wire format.
void visit_fields(const std::string& wire, uint32_t number,
                  const std::function<void(const std::string&)>& visit) {
  enum WireType : uint32_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(wire.data()),
                          static_cast<int>(wire.size()));
  while (const uint32_t tag = stream.ReadTag()) {
    uint64_t ignored = 0;
    uint32_t size = 0;
    std::string content;
    switch (tag & 7) {
      case varint:
        if (!stream.ReadVarint64(&ignored)) return;
        break;
      case fixed64:
        if (!stream.Skip(8)) return;
        break;
      case delimited:
        if (!stream.ReadVarint32(&size) || !stream.ReadString(&content, static_cast<int>(size)))
          return;
        if (tag >> 3 == number) visit(content);
        break;
      case fixed32:
        if (!stream.Skip(4)) return;
        break;
      default: return;  // groups, which ONNX has not
    }
  }
}

template <class Message>
bool overloaded(const Message& message, uint32_t number) {
  if constexpr (requires { message.overload(); }) {
    return !message.overload().empty();
  } else {
    bool found = false;
    visit_fields(message.unknown_fields(), number,
                 [&](const std::string& text) { found = found || !text.empty(); });
    return found;
  }
}

template <class Function>
DefaultAttributes defaults(const Function& function) {
  DefaultAttributes result;
  if constexpr (requires { function.attribute_proto(); }) {
    for (const pb::AttributeProto& attribute : function.attribute_proto())
      result[attribute.name()] = attribute;
  } else {
    visit_fields(function.unknown_fields(), 11, [&](const std::string& wire) {
      pb::AttributeProto attribute;
      if (attribute.ParseFromString(wire)) result[attribute.name()] = attribute;
    });
  }
  return result;
}

}  // namespace

DefaultAttributes default_attributes(const pb::FunctionProto& function) {
  return defaults(function);
}

bool is_overload(const pb::FunctionProto& function) { return overloaded(function, 13); }
bool is_overload(const pb::NodeProto& node) { return overloaded(node, 8); }

}  // namespace tcc::onnx
