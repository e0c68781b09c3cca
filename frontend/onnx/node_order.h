// The order in which nodes are imported: that of the file, but for nodes that stand in front of
// what they read, as some converters write them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <google/protobuf/repeated_field.h>
#include <onnx.pb.h>

namespace tcc::onnx {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;
using IsDefined = std::function<bool(const std::string&)>;

// Positions in `nodes`, each behind the nodes whose results it or its subgraphs read; of nodes that
// could come next, the first of the file does. No node is waited for because of a name that is
// defined before all of them (an input). Nodes in a cycle, and those that need them, are missing.
std::vector<int> node_order(const Nodes& nodes, const IsDefined& is_defined);

// A node in a cycle, where node_order() left some out.
int node_in_cycle(const Nodes& nodes, const std::vector<int>& order, const IsDefined& is_defined);

}  // namespace tcc::onnx
