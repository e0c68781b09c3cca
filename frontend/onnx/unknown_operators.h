// Finds all operators of a model that have neither an import rule nor a function, so that one error
// names them all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <onnx.pb.h>

namespace tcc::onnx {

namespace pb = ::onnx;

struct UnknownOperator {
  std::string domain, op;  // "" is ai.onnx
  int nodes = 0;           // in the file: of the graph, its subgraphs, and the functions it calls
  std::string first;       // what one of the nodes is called: "'conv1'", "node 7"
};

// Returns the function of a (domain, operator), or null.
using FindFunction =
    std::function<const pb::FunctionProto*(const std::string& domain, const std::string& op)>;
// Returns them in the order of the file.
std::vector<UnknownOperator> unknown_operators(const pb::GraphProto& graph,
                                               const FindFunction& function);

// "3 operators are not supported: 'Foo' (2 nodes, such as 'a'), ...".
std::string to_string(const std::vector<UnknownOperator>& operators);

}  // namespace tcc::onnx
