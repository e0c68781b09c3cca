// Pointwise regions: every output element is an expression of its own; all outputs have as many
// elements. Any op that is not anchored elsewhere runs here: serial reductions (pooling windows,
// scatter) are loops inside one thread.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/append.h"
#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/product_candidate.h"
#include "scheduler/vectorize.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_pointwise {
namespace {

SymInt output_elements(const Region& region) {
  return ir::product(ir::stored_part(*region.outputs[0]).shape());
}

// How the first output lies in memory: lines of neighbouring elements. One line where it is dense.
struct Lines {
  SymInt count = 1, length = 1;
  explicit Lines(const Region& region) {
    const ir::Value* output = region.outputs[0];
    const ir::Shape& shape = ir::stored_part(*output).shape();
    const Layout& layout = region.layout(output);
    const std::vector<int> order = layout.order();
    for (size_t i = order.size(); i-- > 0;) {
      const auto dim = static_cast<size_t>(order[i]);
      const bool joins = count.is(1) && (shape[dim].is(1) || layout.strides[dim] == length);
      SymInt& of = joins ? length : count;
      of = of * shape[dim];
    }
  }
};

// Vectors of a thread that are neighbours along the dim outside of the innermost one in memory, as
// pixels are whose channels are vectors. Windows on neighbours share elements.
struct Neighbours {
  int64_t inner = 0;  // elements of the innermost dim; 0: the vectors are no neighbours
  Neighbours(const Region& region, int64_t vector, int64_t count) {
    const ir::Value* output = region.outputs[0];
    const ir::Shape& shape = ir::stored_part(*output).shape();
    const std::vector<int> order = region.layout(output).order();
    const bool is_dense = Lines(region).count.is(1);
    if (!is_dense || order.size() < 2 || !open_dims(region).empty()) return;
    const int64_t innermost = shape[static_cast<size_t>(order.back())].value(),
                  outside = shape[static_cast<size_t>(order[order.size() - 2])].value();
    if (innermost % vector == 0 && outside % count == 0) inner = innermost;
  }
  explicit operator bool() const { return inner > 0; }
};

class Elements : public Candidate {
 public:
  Elements(const Template& by, const Region& region, const Target& target)
      : Candidate(by, region, target) {}

 private:
  ConfigSpace make_space() const override {
    const Target& target = this->target();
    ConfigSpace space;
    space.parameters = {
        {"threads", workgroup_sizes(target), "threads of a workgroup"},
        {"vector", {1, 2, 4, 8, 16}, "neighbouring elements of one vector access"},
        {"vectors", {1, 2, 4, 8}, "vectors of one thread; neighbours where they share loads"},
    };
    space.constraints = {
        {"a workgroup of this device has fewer threads",
         [max = target.max_workgroup_size](const Config& c) { return c["threads"] <= max; }},
        {"at most 32 elements in one thread",
         [](const Config& c) { return c["vector"] * c["vectors"] <= 32; }},
    };
    return space;
  }

  Config make_default_config() const override {
    const Region& region = this->region();
    const Target& target = this->target();
    // 16 bytes of the widest buffer that is read or written whole; fewer where that would leave the
    // device idle.
    const SymInt elements = output_elements(region);
    const int64_t n = elements.usual();
    int64_t widest = 1;
    for (const ir::Value* value : region.outputs)
      widest = std::max<int64_t>(widest, size_bytes(value->dtype()));
    int64_t vector = 16 / widest;
    const ElementWork work = work_of(region);
    if (work.is_long() && !reduces_vectors(region, vector)) vector = 1;
    int64_t wanted = int64_t{target.compute_units} * target.busy_threads;
    // The end of each padded line is done element by element: a small part of a long one.
    const Lines lines(region);
    auto divides = [&] {
      return lines.count.is(1) ? elements.divisible_by(vector)
                               : lines.length.usual() >= 16 * vector;
    };
    while (vector > 1 && (n / vector < wanted || !divides())) vector /= 2;
    int64_t threads = std::min(target.full_workgroup, target.max_workgroup_size);
    // Arithmetic between the loads and the stores: one vector's runs while another's loads wait.
    constexpr double kMuchArithmetic = 16;
    const bool overlap = !target.indexed_registers && vector == 16 / widest &&
                         n / (2 * vector) >= wanted && work.slots >= kMuchArithmetic;
    if (overlap) threads = std::min(threads, int64_t{128});
    int64_t vectors = overlap ? 2 : 1;
    if (work.is_long() && vector > 1)
      for (const int64_t count : {2, 4})
        if (n / (vector * count) >= wanted && Neighbours(region, vector, count)) vectors = count;
    return {{"threads", threads}, {"vector", vector}, {"vectors", vectors}};
  }

  CostModel make_cost_model() const override {
    const Region& region = this->region();
    const int64_t n = output_elements(region).usual();
    double stored_bytes = 0;  // of one element of each output
    for (const ir::Value* output : region.outputs) stored_bytes += size_bytes(output->dtype());
    const ElementWork work = work_of(region);
    const double outputs = static_cast<double>(region.outputs.size());
    const double bytes = region_bytes(region);
    return [=, target = target()](const Config& c) {
      const auto count = static_cast<double>(n);
      const auto width = static_cast<double>(c["vector"]),
                 vectors = static_cast<double>(c["vectors"]);
      LaunchCost cost;
      cost.threads = static_cast<double>(c["threads"]);
      cost.workgroups = std::max(1.0, std::ceil(count / (width * vectors * cost.threads)));
      const double streams = work.contiguous + outputs;
      const double stream_bytes = (work.bytes + stored_bytes) / std::max(1.0, streams);
      // An access moves at most 16 bytes of a thread.
      const double per_stream = std::ceil(width * stream_bytes / 16);
      const double groups = std::ceil(count / width);
      cost.accesses = groups * (streams * per_stream + work.shared + work.scattered * width);
      // Pieces of one thread that are further apart than 16 bytes touch more lines at a time.
      const double lines = std::max(1.0, width * stream_bytes / 16);
      cost.bank_cycles =
          groups / 32 * (streams * per_stream * (lines - 1) + 16 * work.scattered * width);
      cost.elements = count * (streams + work.scattered) + groups * work.shared;
      // Addresses and bounds of every vector.
      cost.arithmetic = work.slots * count + 10 * groups;
      cost.memory_bytes = bytes;
      cost.cache_bytes = std::max(bytes, count * (work.bytes + stored_bytes));
      cost.registers = 20 + width * vectors * (work.held + outputs);
      // Threads do not wait for their stores; bounds checks keep the vectors of a thread apart.
      cost.bytes_in_flight = width * std::max(4.0, work.held_bytes) * std::min(vectors, 4.0);
      cost.round_trips = std::max(1.0, vectors / 4);
      return predicted_seconds(cost, target);
    };
  }

 public:
  // Those of depthwise convolutions, whose channels are vectors then.
  std::vector<LayoutWish> order_wishes() const override {
    std::vector<LayoutWish> wishes;
    for (const ir::Node* node : region().nodes)
      if (node->op_name() == "convolution") {
        const auto own = convolution_wishes(region(), *node, false);
        wishes.insert(wishes.end(), own.begin(), own.end());
      }
    return wishes;
  }

  bool updates_in_place(const ir::Value* input, const ir::Value* output) const override {
    const Region& region = this->region();
    if (region.layout(input) != region.layout(output)) return false;
    Inliner inliner(region);
    const SymInt at = SymInt::axis("at", ir::max(output_elements(region), 1));
    const std::vector<Sink> stored = sinks(region, inliner, at);
    const auto own = std::ranges::find(stored, region.slot_of_output(output), &Sink::buffer);
    bool is_own = own != stored.end();
    for (const Sink& sink : stored)
      ir::visit(sink.value, [&](const Expr& e) {
        if (e->kind == ir::ExprNode::Kind::load && e->buffer == region.slot_of_input(input))
          is_own &= e->index == own->offset;
      });
    return is_own;
  }

  KernelSequence lower(const Config& config) const override {
    const Region& region = this->region();
    Kernel kernel = start_kernel(region);
    Inliner inliner(region);
    const Lines lines(region);
    int64_t width = config["vector"], per_thread = config["vectors"], threads = config["threads"];
    const SymInt whole = floordiv(lines.length, width),
                 tail = mod(lines.length, width);  // of a line
    const SymInt line_groups = ceildiv(lines.length, width), groups = lines.count * line_groups;
    kernel.workgroup = static_cast<int>(threads);
    kernel.grid = blocks_of(groups, threads * per_thread);
    SymInt block = block_axis(kernel.grid), thread = thread_axis(threads);
    SymInt lane = SymInt::axis("v", width);
    if (per_thread > 1 && reduces_vectors(region, width))
      if (const Neighbours neighbours(region, width, per_thread); neighbours) {
        const SymInt number = block * threads + thread;
        const int64_t of_line = neighbours.inner / width;
        const SymInt count = floordiv(output_elements(region), width * per_thread),
                     group = SymInt::axis("g", count),
                     line = SymInt::axis("line", floordiv(count, of_line)),
                     in_line = SymInt::axis("i", of_line);
        kernel.grid = blocks_of(count, threads);
        Block body;
        auto let = [&](const SymInt& axis, const SymInt& value) {
          if (!axis.is_const()) body.push_back(let_index(axis, value));
        };
        let(group, number);
        let(line, floordiv(group, of_line));
        let(in_line, mod(group, of_line));
        std::vector<Sink> all;
        for (int64_t u = 0; u < per_thread; ++u) {
          const SymInt first = (line * per_thread + u) * neighbours.inner + in_line * width;
          const std::vector<Sink> own = sinks(region, inliner, first + lane);
          all.insert(all.end(), own.begin(), own.end());
        }
        append(body, vectorize(all, lane));
        if (kernel.grid * threads == count)
          append(kernel.body, std::move(body));
        else
          kernel.body.push_back(branch(ir::index_less(number, count), std::move(body)));
        return kernel;
      }

    for (int64_t u = 0; u < per_thread; ++u) {
      // Neighbouring threads take neighbouring vectors.
      SymInt number = (block * per_thread + u) * threads + thread;
      bool exact = kernel.grid * threads * per_thread == groups;
      SymInt line = SymInt::axis("line", lines.count);
      SymInt at = SymInt::axis("i", ir::max(whole, 1));
      Block* into = &kernel.body;
      SymInt in_line = number;
      if (!lines.count.is(1)) {
        SymInt group = SymInt::axis("g", groups);
        in_line = mod(group, line_groups);
        Block body = {let_index(group, number), let_index(line, floordiv(group, line_groups))};
        if (!exact) {
          kernel.body.push_back(branch(ir::index_less(number, groups), std::move(body)));
          into = &kernel.body.back().body;
        } else {
          append(kernel.body, std::move(body));
        }
        exact = true;
      }
      const SymInt first = line * lines.length;
      Block body = {let_index(at, in_line)};
      append(body, vectorize(sinks(region, inliner, first + at * width + lane), lane));
      if (!whole.is(0)) {
        if (exact && tail.is(0))
          append(*into, body);
        else
          into->push_back(branch(ir::index_less(in_line, whole), body));
      }
      if (!tail.is(0)) {
        SymInt rest = SymInt::axis("t", tail);
        Block scalar = {
            loop(rest, vectorize(sinks(region, inliner, first + whole * width + rest), 0))};
        into->push_back(branch(
            ir::call(ir::Fn::eq, {ir::index_value(in_line), ir::index_value(whole)}), scalar));
      }
    }
    return kernel;
  }

 private:
  static ElementWork work_of(const Region& region) {
    Inliner inliner(region);
    const SymInt at = SymInt::axis("at", ir::max(output_elements(region), 1));
    std::vector<Expr> values;
    for (const Sink& sink : sinks(region, inliner, at)) values.push_back(sink.value);
    return element_work(values, at);
  }

  // Vectors of elements share the loads of a serial reduction, as of a window over channels that
  // are neighbours.
  static bool reduces_vectors(const Region& region, int64_t vector) {
    if (vector < 2) return false;
    Inliner inliner(region);
    const SymInt lane = SymInt::axis("v", vector);
    const SymInt at = SymInt::axis("at", ir::max(floordiv(output_elements(region), vector), 1));
    std::vector<Expr> values;
    for (const Sink& sink : sinks(region, inliner, at * vector + lane))
      values.push_back(sink.value);
    return has_vector_reductions(values, lane);
  }

  // Element `linear` in the memory order of the first output.
  static std::vector<Sink> sinks(const Region& region, Inliner& inliner, const SymInt& linear) {
    std::vector<Sink> sinks;
    const ir::Shape& order_of = ir::stored_part(*region.outputs[0]).shape();
    const Layout& first = region.layout(region.outputs[0]);
    for (const ir::Value* output : region.outputs) {
      const ir::Shape& shape = ir::stored_part(*output).shape();
      std::vector<SymInt> index = shape == order_of ? memory_order_index(linear, shape, first)
                                                    : ir::delinearize(linear, shape);
      index = ir::stored_index(*output, std::move(index));
      Sink sink;
      sink.buffer = region.slot_of_output(output);
      sink.offset = region.layout(output).offset(index);
      sink.value = inliner.value_at(output, index);
      sinks.push_back(sink);
    }
    return sinks;
  }
};

class Pointwise : public Template {
 public:
  std::string_view name() const override { return "pointwise"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  int least_workgroup() const override { return 1; }
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    if (region.anchor) return Refusal{"it is anchored by more than elements", true};
    if (region.outputs.empty()) return Refusal{"it stores nothing"};
    for (const ir::Node* node : region.nodes) {
      if (node->op->kind == ir::OpKind::scan || node->op->kind == ir::OpKind::sort)
        return Refusal{str("one thread would do all of ", node->op_name())};
      if (node->op->kind == ir::OpKind::external)
        return Refusal{"a function of the host's computes it", true};
    }
    for (const ir::Value* output : region.outputs)
      if (const SymInt elements = ir::product(ir::stored_part(*output).shape());
          !(elements == output_elements(region)))
        return Refusal{
            str("outputs of ", output_elements(region), " and of ", elements, " elements")};
    return std::make_shared<const Elements>(*this, region, target);
  }
};

const RegisterTemplate<Pointwise> registered;

}  // namespace

}  // namespace tcc::sched::template_pointwise
