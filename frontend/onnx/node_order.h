// Nodes are imported in the order of the file, except those that stand before a node whose result
// they read, as some converters write them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <google/protobuf/repeated_field.h>
#include <onnx.pb.h>

namespace tcc::onnx {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;
using IsDefined = std::function<bool(const std::string&)>;

// Returns positions in `nodes`, each after the nodes whose results it or its subgraphs read. Of
// nodes that could come next, the first in the file does. A name that is defined before all nodes
// (an input) makes no node wait. Nodes in a cycle, and those that need them, are missing.
std::vector<int> node_order(const Nodes& nodes, const IsDefined& is_defined);

// Returns a node in a cycle, where node_order() left some out.
int node_in_cycle(const Nodes& nodes, const std::vector<int>& order, const IsDefined& is_defined);

}  // namespace tcc::onnx
