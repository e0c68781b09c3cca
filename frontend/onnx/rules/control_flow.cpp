// If, Loop and Scan, where the decisions are known when the graph is compiled: branches are chosen
// and loops unrolled.
#include <algorithm>
#include <limits>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "frontend/onnx/tensors.h"
#include "frontend/tensor_file.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

constexpr int64_t kMaxTrips = 10000;
constexpr int kMaxTypedRank = 16;

// Both branches and a choice between their results, which must be alike: a kernel computes what it
// computes whatever the data is.
Results choose_by_data(OpNode& n, const pb::GraphProto& yes, const pb::GraphProto& no) {
  Value* condition = n.in(0);
  const auto refuse = [&](const std::string& reason) {
    n.fail(str("both branches of a condition that is not known are computed, ", reason, "; ",
               n.need(0)));
  };
  const auto branch = [&](const char* name, const pb::GraphProto& graph) {
    try {
      return n.import_subgraph(graph, {});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      refuse(str("and the ", name, " branch cannot be: ", n.without_file(error.what())));
    }
    return Results();
  };
  const Results a = branch("then", yes), b = branch("else", no);
  if (a.size() != b.size()) refuse(str("but they have ", a.size(), " and ", b.size(), " results"));
  n.require(ir::product(condition->shape()).is(1), "the condition must be one bool");
  condition = n.b.reshape(condition, {});
  Results results;
  for (size_t k = 0; k < a.size(); ++k) {
    if (!a[k].value || !b[k].value) refuse("which cannot give sequences or nothing");
    if (!(a[k].value->type == b[k].value->type))
      refuse(str("but result ", k, " is ", ir::to_string(a[k].value->type), " in one and ",
                 ir::to_string(b[k].value->type), " in the other"));
    results.emplace_back(n.b.op("where", {condition, a[k].value, b[k].value}));
  }
  return results;
}

// A branch is chosen where the condition is known.
Results choose(OpNode& n) {
  const pb::GraphProto &yes = n.graph("then_branch"), &no = n.graph("else_branch");
  const auto condition = n.dims_if_known(0);
  if (condition && condition->size() == 1 && (*condition)[0].is_const())
    return n.import_subgraph((*condition)[0].is(0) ? no : yes, {});
  if (!n.depends_on_data(0)) n.fail("the condition is not known; " + n.need(0));
  return choose_by_data(n, yes, no);
}

// The slices of one result of a body, stacked. Without a single turn, the body's declaration says
// of which type nothing is.
Value* stacked(OpNode& n, const std::vector<Value*>& slices, int64_t axis,
               const pb::ValueInfoProto& declared) {
  if (!slices.empty())
    return n.b.op("stack", slices, {{"dim", n.axis(axis, slices[0]->rank() + 1)}});
  const auto& tensor = declared.type().tensor_type();
  const bool is_typed = tensor.has_shape() && tensor.shape().dim_size() <= kMaxTypedRank &&
                        std::ranges::all_of(tensor.shape().dim(), [](const auto& dim) {
                          return dim.has_dim_value() && dim.dim_value() >= 0;
                        });
  n.require(is_typed, str("no turn is taken, and what is stacked as ", quoted_name(declared.name()),
                          " has no declared shape"));
  std::vector<int64_t> shape;
  for (const auto& dim : tensor.shape().dim()) shape.push_back(dim.dim_value());
  shape.insert(shape.begin() + n.axis(axis, static_cast<int>(shape.size()) + 1), 0);
  const DType dtype = dtype_of(tensor.elem_type(), ir::to_string(n.b.location()));
  n.require(tensor_bytes(dtype, shape).has_value(), "its size is impossible");
  return n.constant(std::make_shared<const Tensor>(dtype, shape));
}

// (trip count, condition, carried...) -> (carried..., stacked...); the body takes (turn, condition,
// carried...) and gives (condition, carried..., one slice of each stacked).
Results loop(OpNode& n) {
  const pb::GraphProto& body = n.graph("body");
  const int64_t limit = n.has_input(0) ? n.int_of(0) : std::numeric_limits<int64_t>::max();
  bool goes_on = !n.has_input(1) || n.int_of(1) != 0;
  Results carried;
  for (size_t k = 2; k < n.num_inputs(); ++k) carried.push_back(n.operand(k));
  n.require(static_cast<size_t>(body.output_size()) > carried.size(),
            "the body has too few outputs");
  std::vector<std::vector<Value*>> slices(static_cast<size_t>(body.output_size()) - 1 -
                                          carried.size());
  for (int64_t turn = 0; goes_on && turn < limit; ++turn) {
    n.require(turn < kMaxTrips, str("more than ", kMaxTrips, " turns cannot be unrolled"));
    std::vector<Operand> arguments = {scalar(n, turn)};
    Tensor truth(DType::boolean, {});
    truth.set_int(0, 1);
    arguments.emplace_back(n.constant(std::make_shared<const Tensor>(std::move(truth))));
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    Results results = n.import_subgraph(body, arguments);
    n.require(results[0].value, "the body's condition must be a tensor");
    const std::vector<SymInt> condition = n.dims_of(results[0].value, "the loop's condition");
    n.require(condition.size() == 1 && condition[0].is_const(), "the condition must be one bool");
    goes_on = !condition[0].is(0);
    std::copy_n(results.begin() + 1, carried.size(), carried.begin());
    for (size_t k = 0; k < slices.size(); ++k) {
      Value* slice = results[1 + carried.size() + k].value;
      n.require(slice, "the body must give tensors to stack");
      slices[k].push_back(slice);
    }
  }
  Results results = carried;
  for (const auto& column : slices)
    if (n.wants(results.size()))
      results.emplace_back(
          stacked(n, column, 0, body.output(static_cast<int>(results.size()) + 1)));
    else
      results.emplace_back();
  return results;
}

// (states..., scanned...) -> (states..., stacked...), a turn for each slice. Opset 8 had a batch
// dim in front and the lengths as first operand.
Results scan(OpNode& n) {
  const pb::GraphProto& body = n.graph("body");
  const bool batched = n.opset < 9;
  n.require(n.num_inputs() >= (batched ? 2 : 1), "has too few inputs");
  const size_t first = batched ? 1 : 0;
  n.require(!batched || !n.has_input(0), "sequence_lens are not supported");
  const int64_t count = n.integer("num_scan_inputs");
  n.require(count >= 1 && count <= static_cast<int64_t>(n.num_inputs() - first),
            "num_scan_inputs is out of range");
  const auto scanned = static_cast<size_t>(count);
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
    n.require(length.is_const(),
              str("the scanned dim must be a number, not ", length, " (", n.dim_option(), ")"));
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
      for (size_t k = 0; k < slices.size(); ++k) {
        Value* slice = results[states + k].value;
        n.require(slice, "the body must give tensors to stack");
        slices[k].push_back(slice);
      }
    }
    Results results(carried.begin(), carried.end());
    for (size_t k = 0; k < slices.size(); ++k) {
      if (out_directions[k]) std::ranges::reverse(slices[k]);
      results.emplace_back(
          stacked(n, slices[k], out_axes[k], body.output(static_cast<int>(states + k))));
    }
    return results;
  };

  std::vector<Operand> carried;
  std::vector<Value*> xs;
  for (size_t k = 0; k < states; ++k) carried.push_back(n.operand(first + k));
  for (size_t k = 0; k < scanned; ++k) xs.push_back(n.in(first + states + k));
  if (!batched) return run(carried, xs);

  n.require(xs[0]->rank() > 0, "opset 8 needs a batch dim");
  const SymInt batch = xs[0]->shape()[0];
  n.require(batch.is_const() && batch.value() <= kMaxTrips,
            str("the batch must be a number (", n.dim_option(), ") of at most ", kMaxTrips));
  std::vector<std::vector<Value*>> columns(outputs);
  for (int64_t entry = 0; entry < batch.value(); ++entry) {
    const auto pick = [&](Value* x) {
      return n.b.op("select", {x}, {{"dim", 0}, {"index", entry}});
    };
    std::vector<Operand> own;
    for (const Operand& state : carried) {
      n.require(state.value, "the states must be tensors");
      own.emplace_back(pick(state.value));
    }
    std::vector<Value*> slices;
    for (Value* x : xs) slices.push_back(pick(x));
    const Results results = run(own, slices);
    for (size_t k = 0; k < outputs; ++k) {
      n.require(results[k].value, "the body must give tensors");
      columns[k].push_back(results[k].value);
    }
  }
  n.require(!columns.empty(), "the body has no outputs");
  Results results;
  for (size_t k = 0; k < outputs; ++k)
    results.emplace_back(stacked(n, columns[k], 0, body.output(static_cast<int>(k))));
  return results;
}

constexpr Rule kControlFlowRules[] = {{"If", choose}, {"Loop", loop}, {"Scan", scan}};

}  // namespace

std::span<const Rule> control_flow_rules() { return kControlFlowRules; }

}  // namespace tcc::onnx
