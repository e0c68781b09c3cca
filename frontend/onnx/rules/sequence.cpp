// Sequences and optionals, where their lengths are known: they exist while importing only.
#include <algorithm>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

using Items = std::vector<Value*>;

constexpr int64_t kMaxPieces = 10000;

Operand list_of(Items items) { return {std::make_shared<const Items>(std::move(items))}; }

size_t position(OpNode& n, size_t k, size_t size, size_t places) {
  const int64_t at = n.int_of(k), length = static_cast<int64_t>(size);
  const int64_t index = at < 0 ? at + length : at;
  n.require(index >= 0 && index < static_cast<int64_t>(places),
            str("position ", at, " is out of range for a sequence of ", size));
  return static_cast<size_t>(index);
}

Results construct(OpNode& n) { return {list_of(n.all_inputs())}; }

Results empty(OpNode& n) {
  n.ignore("dtype");
  return {list_of({})};
}

Results at(OpNode& n) {
  const List list = n.list(0);
  return {(*list)[position(n, 1, list->size(), list->size())]};
}

Results insert(OpNode& n) {
  Items items = *n.list(0);
  const size_t place =
      n.has_input(2) ? position(n, 2, items.size(), items.size() + 1) : items.size();
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(place), n.in(1));
  return {list_of(std::move(items))};
}

Results erase(OpNode& n) {
  Items items = *n.list(0);
  n.require(!items.empty(), "the sequence is empty");
  const size_t place =
      n.has_input(1) ? position(n, 1, items.size(), items.size()) : items.size() - 1;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(place));
  return {list_of(std::move(items))};
}

Results length(OpNode& n) { return {scalar(n, static_cast<int64_t>(n.list(0)->size()))}; }

Results concat_sequence(OpNode& n) {
  const List list = n.list(0);
  n.require(!list->empty(), "the sequence is empty");
  const bool stacks = n.flag("new_axis", false);
  const int rank = (*list)[0]->rank();
  const int64_t axis = n.axis(n.integer("axis"), stacks ? rank + 1 : rank);
  return {n.b.op(stacks ? "stack" : "cat", *list, {{"dim", axis}})};
}

Results split_to_sequence(OpNode& n) {
  Value* x = n.in(0);
  const int64_t axis = n.axis(n.integer("axis", 0), x->rank());
  const SymInt& extent = x->shape()[static_cast<size_t>(axis)];
  n.require(extent.is_const(),
            str("the dim must be a number, not ", extent, " (", n.dim_option(), ")"));
  const auto check_count = [&](int64_t pieces) {
    n.require(pieces <= kMaxPieces, str("more than ", kMaxPieces, " pieces"));
  };
  std::vector<int64_t> sizes;
  bool keepdims = n.flag("keepdims", true);
  if (n.has_input(1)) {
    keepdims = true;  // the format ignores it then
    const Value* lengths = n.in(1);
    sizes = n.ints(1);
    for (int64_t size : sizes)
      n.require(size >= 0 && size <= extent.value(), str("a piece of ", size, " elements"));
    if (lengths->rank() == 0) {
      const int64_t size = sizes[0];
      n.require(size > 0, str("a piece cannot have ", size, " elements"));
      check_count(extent.value() / size);
      sizes.clear();
      for (int64_t at = 0; at < extent.value(); at += size)
        sizes.push_back(std::min(size, extent.value() - at));
    }
  } else {
    check_count(extent.value());
    sizes = repeated(1, static_cast<size_t>(extent.value()));
  }
  Items items;
  int64_t at = 0;
  for (int64_t size : sizes) {
    Value* piece = n.b.slice(x, axis, at, at + size);
    items.push_back(keepdims ? piece : n.b.op("squeeze", {piece}, {{"dim", ir::ints({axis})}}));
    at += size;
  }
  n.require(at == extent.value(), str("the pieces make ", at, ", but the dim is ", extent));
  return {list_of(std::move(items))};
}

// The body once for every element; tensors among the other operands go to each.
Results map(OpNode& n) {
  const List first = n.list(0);
  const pb::GraphProto& body = n.graph("body");
  std::vector<Items> columns(n.num_outputs());
  for (size_t k = 0; k < first->size(); ++k) {
    std::vector<Operand> arguments = {(*first)[k]};
    for (size_t other = 1; other < n.num_inputs(); ++other) {
      const Operand operand = n.operand(other);
      if (operand.list)
        n.require(operand.list->size() == first->size(), "the sequences differ in length");
      arguments.push_back(operand.list ? Operand((*operand.list)[k]) : operand);
    }
    const Results results = n.import_subgraph(body, arguments);
    n.require(results.size() >= columns.size(), "the body has too few outputs");
    for (size_t out = 0; out < columns.size(); ++out) {
      n.require(results[out].value, "the body must give tensors");
      columns[out].push_back(results[out].value);
    }
  }
  Results results;
  for (Items& items : columns) results.push_back(list_of(std::move(items)));
  return results;
}

Results optional(OpNode& n) {
  n.ignore("type");
  return {n.operand(0)};
}

Results has_element(OpNode& n) {
  Tensor truth(DType::boolean, {});
  truth.set_int(0, n.operand(0) ? 1 : 0);
  return {n.constant(std::make_shared<const Tensor>(std::move(truth)))};
}

Results get_element(OpNode& n) {
  const Operand found = n.operand(0);
  n.require(static_cast<bool>(found), "the optional is empty");
  return {found};
}

constexpr Rule kSequenceRules[] = {
    {"ConcatFromSequence", concat_sequence},
    {"Optional", optional},
    {"OptionalGetElement", get_element},
    {"OptionalHasElement", has_element},
    {"SequenceAt", at},
    {"SequenceConstruct", construct},
    {"SequenceEmpty", empty},
    {"SequenceErase", erase},
    {"SequenceInsert", insert},
    {"SequenceLength", length},
    {"SequenceMap", map},
    {"SplitToSequence", split_to_sequence},
};

}  // namespace

std::span<const Rule> sequence_rules() { return kSequenceRules; }

}  // namespace tcc::onnx
