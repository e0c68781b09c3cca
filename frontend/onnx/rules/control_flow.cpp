// If, Loop and Scan, where the decisions are known when the graph is compiled: branches are chosen
// and loops unrolled.
#include <algorithm>
#include <limits>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

constexpr int64_t kMaxTrips = 10000;

// `if` chooses by a value that must be known.
Results choose(OpNode& n) {
  const pb::GraphProto &yes = n.graph("then_branch"), &no = n.graph("else_branch");
  return n.import_subgraph(n.int_of(0) != 0 ? yes : no, {});
}

Value* stacked(OpNode& n, const std::vector<Value*>& values, int64_t axis) {
  n.require(!values.empty(), "a loop without a single turn has no results to stack");
  return n.b.op("stack", values, {{"dim", axis}});
}

// (trip count, condition, carried...) -> (carried..., stacked...); the body takes (turn, condition,
// carried...) and gives (condition, carried..., one slice of each stacked).
Results loop(OpNode& n) {
  const pb::GraphProto& body = n.graph("body");
  const int64_t limit = n.has_input(0) ? n.int_of(0) : std::numeric_limits<int64_t>::max();
  bool goes_on = !n.has_input(1) || n.int_of(1) != 0;
  Results carried;
  for (size_t k = 2; k < n.num_inputs(); ++k) carried.push_back(n.operand(k));
  std::vector<std::vector<Value*>> slices;
  for (int64_t turn = 0; goes_on && turn < limit; ++turn) {
    n.require(turn < kMaxTrips, str("more than ", kMaxTrips, " turns cannot be unrolled"));
    std::vector<Operand> arguments = {n.b.reshape(n.constant_ints({turn}), {})};
    Tensor truth(DType::boolean, {});
    truth.set_int(0, 1);
    arguments.emplace_back(n.constant(std::make_shared<const Tensor>(std::move(truth))));
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    Results results = n.import_subgraph(body, arguments);
    n.require(results.size() > carried.size(), "the body has too few outputs");
    n.require(results[0].value, "the body's condition must be a tensor");
    const std::vector<SymInt> condition = n.dims_of(results[0].value, "the loop's condition");
    n.require(condition.size() == 1 && condition[0].is_const(), "the condition must be one bool");
    goes_on = !condition[0].is(0);
    std::copy_n(results.begin() + 1, carried.size(), carried.begin());
    slices.resize(results.size() - 1 - carried.size());
    for (size_t k = 0; k < slices.size(); ++k) {
      Value* slice = results[1 + carried.size() + k].value;
      n.require(slice, "the body must give tensors to stack");
      slices[k].push_back(slice);
    }
  }
  Results results = carried;
  for (size_t k = 0; k < slices.size(); ++k)
    if (n.wants(results.size()))
      results.emplace_back(stacked(n, slices[k], 0));
    else
      results.emplace_back();
  return results;
}

// (states..., scanned...) -> (states..., stacked...), a turn for each slice. Opset 8 had a batch
// dim in front and the lengths as first operand.
Results scan(OpNode& n) {
  const pb::GraphProto& body = n.graph("body");
  const bool batched = n.opset < 9;
  const size_t first = batched ? 1 : 0;
  n.require(!batched || !n.has_input(0), "sequence_lens are not supported");
  const auto scanned = static_cast<size_t>(n.integer("num_scan_inputs"));
  n.require(scanned >= 1 && scanned + first <= n.num_inputs(), "num_scan_inputs is out of range");
  const size_t states = n.num_inputs() - first - scanned;
  const size_t outputs = static_cast<size_t>(body.output_size());
  n.require(outputs >= states, "the body has too few outputs");
  const std::vector<int64_t> directions =
      n.ints_attr(batched ? "directions" : "scan_input_directions", repeated(0, scanned));
  const std::vector<int64_t> out_directions =
      n.ints_attr("scan_output_directions", repeated(0, outputs - states));
  const std::vector<int64_t> axes = n.ints_attr("scan_input_axes", repeated(0, scanned));
  const std::vector<int64_t> out_axes =
      n.ints_attr("scan_output_axes", repeated(0, outputs - states));
  n.require(directions.size() == scanned && axes.size() == scanned &&
                out_axes.size() == outputs - states && out_directions.size() == outputs - states,
            "an attribute's length does not fit the operands");

  // One batch entry of opset 8, or all there is.
  const auto run = [&](std::vector<Operand> carried, const std::vector<Value*>& xs) {
    SymInt length = xs[0]->shape()[static_cast<size_t>(n.axis(axes[0], xs[0]->rank()))];
    n.require(length.is_const(), str("the scanned dim must be a number, not ", length, " (--dim)"));
    n.require(length.value() <= kMaxTrips,
              str("more than ", kMaxTrips, " turns cannot be unrolled"));
    std::vector<std::vector<Value*>> slices(outputs - states);
    for (int64_t turn = 0; turn < length.value(); ++turn) {
      std::vector<Operand> arguments = carried;
      for (size_t k = 0; k < scanned; ++k) {
        const int64_t at = directions[k] ? length.value() - 1 - turn : turn;
        arguments.emplace_back(
            n.b.op("select", {xs[k]}, {{"dim", n.axis(axes[k], xs[k]->rank())}, {"index", at}}));
      }
      const Results results = n.import_subgraph(body, arguments);
      std::copy_n(results.begin(), states, carried.begin());
      for (size_t k = 0; k < slices.size(); ++k) slices[k].push_back(results[states + k].value);
    }
    Results results(carried.begin(), carried.end());
    for (size_t k = 0; k < slices.size(); ++k) {
      if (out_directions[k]) std::ranges::reverse(slices[k]);
      n.require(!slices[k].empty(), "a scan over nothing has no results to stack");
      const int64_t axis = n.axis(out_axes[k], slices[k][0]->rank() + 1);
      results.emplace_back(stacked(n, slices[k], axis));
    }
    return results;
  };

  std::vector<Operand> carried;
  std::vector<Value*> xs;
  for (size_t k = 0; k < states; ++k) carried.push_back(n.operand(first + k));
  for (size_t k = 0; k < scanned; ++k) xs.push_back(n.in(first + states + k));
  if (!batched) return run(carried, xs);

  const SymInt batch = xs[0]->shape()[0];
  n.require(batch.is_const(), "the batch must be a number (--dim)");
  std::vector<std::vector<Value*>> columns(outputs);
  for (int64_t entry = 0; entry < batch.value(); ++entry) {
    const auto pick = [&](Value* x) {
      return n.b.op("select", {x}, {{"dim", 0}, {"index", entry}});
    };
    std::vector<Operand> own;
    for (const Operand& state : carried) own.emplace_back(pick(state.value));
    std::vector<Value*> slices;
    for (Value* x : xs) slices.push_back(pick(x));
    const Results results = run(own, slices);
    for (size_t k = 0; k < outputs; ++k) columns[k].push_back(results[k].value);
  }
  Results results;
  for (const auto& column : columns) results.emplace_back(stacked(n, column, 0));
  return results;
}

constexpr Rule kRules[] = {{"If", choose}, {"Loop", loop}, {"Scan", scan}};

}  // namespace

std::span<const Rule> control_flow_rules() { return kRules; }

}  // namespace tcc::onnx
