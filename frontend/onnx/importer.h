// Walks an ONNX model and builds an ir::Graph: names become values, nodes go through the import
// rules (rules.h), functions and subgraphs are expanded where they stand.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/graph_file.h"
#include "frontend/onnx/newer_fields.h"
#include "frontend/onnx/node_order.h"
#include "frontend/onnx/op_node.h"
#include "frontend/onnx/tensors.h"
#include "ir/graph.h"
#include "ir/known_values.h"

namespace tcc::onnx {

using OpsetImports = std::map<std::string, int, std::less<>>;  // domain ("" is ai.onnx) -> version
using AttributeMap = std::map<std::string, const pb::AttributeProto*, std::less<>>;

// A scope holds the names that a node can refer to.
struct Scope {
  std::map<std::string, Operand, std::less<>> names;
  const Scope* outer = nullptr;              // of a subgraph; a function's body has none
  const OpsetImports* opsets = nullptr;      // of the model or the function
  const AttributeMap* attributes = nullptr;  // of the call, inside a function
  const Operand* find(std::string_view name) const;
};

class Importer {
 public:
  Importer(const pb::ModelProto& model, const std::filesystem::path& path,
           const GraphFileOptions& options);
  ir::Graph run();

  // ---- of a run that failed

  // Dims of inputs that have no number, in the order of the inputs.
  std::vector<std::string> free_dims() const;
  // Whether nodes were still to be read, so that more dims and inputs may help.
  bool was_incomplete() const { return incomplete_; }
  // Returns the place of the node that was read last, "" before the first one.
  const std::string& last_place() const { return last_place_; }
  // Inputs whose data was asked for, and is not at hand.
  const std::vector<std::string>& missing_inputs() const { return missing_inputs_; }

  // ---- for OpNode

  ir::Graph& graph() { return graph_; }
  ir::KnownValues& known() { return known_; }
  const TensorReader& tensors() const { return tensors_; }
  // Makes constants of the graph inputs that `value` is computed from, where the caller of the
  // import gave their data. False where there is nothing more to learn.
  bool specialise(const Value* value);
  // Explains why `value` is not known: it names the graph inputs or dims that it depends on.
  std::string why_unknown(const Value* value) const;
  // Whether the value depends on sizes that each run counts (ir/counted_dims.h).
  bool depends_on_counts(const Value* value) const { return !counts_of(value).empty(); }
  // The results of an op that counts, without its attribute `size`: a new dim of the graph whose
  // name follows from `result`. The same op of the same operands counts once, and not at all where
  // its operands are known.
  std::vector<Value*> count(ir::Builder& b, const ir::OpDef& op, const std::vector<Value*>& inputs,
                            ir::Attrs attrs, const std::string& result);
  std::string_view without_file(std::string_view message) const {
    return message.starts_with(file_ + ": ") ? message.substr(file_.size() + 2) : message;
  }
  // Returns that text as a reason to fail.
  std::string need(const Value* value);
  // Return the names of the options that bind dims and that give inputs, for messages.
  std::string_view dim_option() const { return options_.is_tool ? "--dim" : "dims"; }
  std::string_view input_option() const { return options_.is_tool ? "--input" : "inputs"; }
  Results import_subgraph(const pb::GraphProto& graph, const Scope& outer,
                          std::span<const Operand> arguments);

 private:
  OpsetImports opsets_of(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& list,
                         const std::string& what);
  void warn_of_newer(const std::string& what, int64_t opset);
  void read_opsets();
  void read_functions();
  void read_initializers(const pb::GraphProto& graph, Scope& scope);
  void read_inputs(Scope& scope);
  void read_outputs(const Scope& scope);
  void read_states(const Scope& scope);  // of the options
  ir::Type input_type(const pb::ValueInfoProto& input);
  SymInt dim(const pb::ValueInfoProto& input, int k, const pb::TensorShapeProto& shape,
             const std::optional<TensorInfo>& given);
  // Returns the graph's symbol for a name of the file: an identifier that is unique for each key.
  SymInt symbol(const std::string& key, const std::string& name);
  // Returns the name as an identifier that none of the graph's dims has.
  std::string new_dim_name(const std::string& name);
  SymInt named_dim(const std::string& name);
  std::vector<std::string> counts_of(const Value* value) const;
  // The results where all operands are known; none otherwise.
  std::vector<Value*> count_known(ir::Builder& b, const ir::OpDef& op,
                                  const std::vector<Value*>& inputs, const ir::Attrs& attrs);
  // Removes what counts a dim that no other node and no output has.
  void drop_unused_counts();
  bool stays_open(const SymInt& extent) const;
  // Fails where `info` says that the value is of another type.
  void check_element_type(const pb::ValueInfoProto& info, const Operand& operand,
                          std::string_view kind) const;
  const std::vector<int>& order_of(const Nodes& nodes, const Scope& scope,
                                   const std::string& prefix);
  // Fails for an operator without a rule; the message names all such operators of the model.
  [[noreturn]] void fail_unknown(OpNode& op, const std::string& domain) const;
  // Fails where the operator cannot take an operand of narrow elements. Returns the element type of
  // the results where it moves the elements of its first operand; otherwise 0.
  int32_t narrow_operands(const OpNode& op, const Scope& scope, const pb::NodeProto& node) const;
  void import_nodes(const Nodes& nodes, Scope& scope, const std::string& prefix,
                    const std::string& layer_prefix = "");
  Results import_node(const pb::NodeProto& node, const Scope& scope, const ir::Location& location);
  Results call(const pb::FunctionProto& function, OpNode& node, const pb::NodeProto& proto,
               const Scope& scope, const std::string& place);
  void define(Scope& scope, const std::string& name, const Operand& operand,
              const ir::Location& location);
  void spend(int64_t nodes);
  [[noreturn]] void fail(const std::string& reason) const;

  const pb::ModelProto& model_;
  std::string file_;
  const GraphFileOptions& options_;
  TensorReader tensors_;
  ir::Graph graph_;
  ir::KnownValues known_;
  OpsetImports opsets_;
  std::map<std::pair<std::string, std::string>, const pb::FunctionProto*> functions_;
  std::map<const pb::FunctionProto*, OpsetImports> function_opsets_;
  std::map<const pb::FunctionProto*, DefaultAttributes> function_defaults_;
  std::map<std::string, SymInt, std::less<>> symbols_;  // name in the file -> what it is
  std::map<std::string, SymInt, std::less<>> bound_;    // dim_param -> what it is
  std::map<std::string, int> dim_numbers_;              // of names that several dims would have
  std::map<std::string, std::string, std::less<>> counted_;  // dim -> the layer that counts it
  struct CountedResults {
    ir::Attrs attrs;
    std::vector<Value*> results;
  };
  std::map<std::pair<const ir::OpDef*, std::vector<Value*>>, std::vector<CountedResults>>
      counted_results_;
  int64_t known_counts_ = 0;  // elements of the operands of those that were counted here
  std::map<const Nodes*, std::vector<int>> orders_;  // of graphs, bodies and functions
  bool incomplete_ = true;
  bool warned_ = false;  // of an opset that is newer than the rules
  int64_t nodes_ = 0;
  int depth_ = 0;
  std::string last_place_;
  std::vector<std::string> missing_inputs_;
};

}  // namespace tcc::onnx
