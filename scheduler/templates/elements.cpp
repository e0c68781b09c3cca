#include "scheduler/templates/elements.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ir/append.h"
#include "scheduler/aligned_clamps.h"
#include "scheduler/templates/common.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

// How the first output lies in memory: lines of neighbouring elements. One line where it is dense.
struct Lines {
  SymInt count = 1, length = 1;
  Lines(const Region& region, const ir::Value* output) {
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
  Neighbours(const Region& region, const ir::Value* output, int64_t vector, int64_t count) {
    const ir::Shape& shape = ir::stored_part(*output).shape();
    const std::vector<int> order = region.layout(output).order();
    const bool is_dense = Lines(region, output).count.is(1);
    if (!is_dense || order.size() < 2 || !open_dims(region).empty()) return;
    const int64_t innermost = shape[static_cast<size_t>(order.back())].value(),
                  outside = shape[static_cast<size_t>(order[order.size() - 2])].value();
    if (innermost % vector == 0 && outside % count == 0) inner = innermost;
  }
  explicit operator bool() const { return inner > 0; }
};

}  // namespace

SymInt ElementsPart::elements() const { return ir::product(ir::stored_part(*outputs_[0]).shape()); }

std::vector<Parameter> ElementsPart::parameters() {
  return {
      {"threads", {}, "threads of a workgroup"},
      {"vector", {1, 2, 4, 8, 16}, "neighbouring elements of one vector access"},
      {"vectors", {1, 2, 4, 8}, "vectors of one thread; neighbours where they share loads"},
  };
}

ConfigSpace ElementsPart::space(const Target& target) {
  ConfigSpace space;
  space.parameters = parameters();
  values_of(space.parameters, "threads") = workgroup_sizes(target);
  space.constraints = {
      {"a workgroup of this device has fewer threads",
       [max = target.max_workgroup_size](const Config& c) { return c["threads"] <= max; }},
      {"at most 32 elements in one thread",
       [](const Config& c) { return c["vector"] * c["vectors"] <= 32; }},
  };
  return space;
}

Config ElementsPart::default_config(const Target& target) const {
  // 16 bytes of the widest buffer that is read or written whole; fewer where that would leave the
  // device idle.
  const SymInt elements = this->elements();
  const int64_t n = elements.usual();
  int64_t widest = 1;
  for (const ir::Value* value : outputs_)
    widest = std::max<int64_t>(widest, size_bytes(value->dtype()));
  int64_t vector = 16 / widest;
  const ElementWork work = this->work();
  if (work.is_long() && !reduces_vectors(vector)) vector = 1;
  int64_t wanted = int64_t{target.compute_units} * target.busy_threads;
  // The end of a line is done element by element: a small part of a long one.
  const Lines lines(region_, outputs_[0]);
  const auto fits = [&] {
    return (lines.count.is(1) && elements.divisible_by(vector)) ||
           lines.length.usual() >= 16 * vector;
  };
  while (vector > 1 && (n / vector < wanted || !fits())) vector /= 2;
  int64_t threads = std::min(target.full_workgroup, target.max_workgroup_size);
  // Arithmetic between the loads and the stores: one vector's runs while another's loads wait.
  constexpr double kMuchArithmetic = 16;
  const bool overlap = !target.indexed_registers && vector == 16 / widest &&
                       n / (2 * vector) >= wanted && work.slots >= kMuchArithmetic;
  if (overlap) threads = std::min(threads, int64_t{128});
  int64_t vectors = overlap ? 2 : 1;
  if (work.is_long() && vector > 1)
    for (const int64_t count : {2, 4})
      if (n / (vector * count) >= wanted && Neighbours(region_, outputs_[0], vector, count))
        vectors = count;
  return {{"threads", threads}, {"vector", vector}, {"vectors", vectors}};
}

std::function<LaunchCost(const Config&)> ElementsPart::cost(double bytes) const {
  const int64_t n = elements().usual();
  double stored_bytes = 0;  // of one element of each output
  for (const ir::Value* output : outputs_) stored_bytes += size_bytes(output->dtype());
  const ElementWork work = this->work();
  const double outputs = static_cast<double>(outputs_.size());
  std::map<int64_t, double> along_vectors;
  for (int64_t width = 2; width <= 16; width *= 2)
    along_vectors[width] = std::min(work.scattered, this->along_vectors(width));
  return [=](const Config& c) {
    const auto count = static_cast<double>(n);
    const auto width = static_cast<double>(c["vector"]),
               vectors = static_cast<double>(c["vectors"]);
    LaunchCost cost;
    cost.threads = static_cast<double>(c["threads"]);
    cost.workgroups = std::max(1.0, std::ceil(count / (width * vectors * cost.threads)));
    const auto in_vectors = along_vectors.find(c["vector"]);
    const double vectors_more = in_vectors == along_vectors.end() ? 0 : in_vectors->second;
    const double scattered = work.scattered - vectors_more;
    const double streams = work.contiguous + vectors_more + outputs;
    const double stream_bytes = (work.bytes + stored_bytes) / std::max(1.0, streams);
    // An access moves at most 16 bytes of a thread.
    const double per_stream = std::ceil(width * stream_bytes / 16);
    const double groups = std::ceil(count / width);
    cost.accesses = groups * (streams * per_stream + work.shared + scattered * width);
    // Pieces of one thread that are further apart than 16 bytes touch more lines at a time.
    const double lines = std::max(1.0, width * stream_bytes / 16);
    cost.bank_cycles = groups / 32 * (streams * per_stream * (lines - 1) + 16 * scattered * width);
    cost.elements = count * (streams + scattered) + groups * work.shared;
    // Addresses and bounds of every vector.
    cost.arithmetic = work.slots * count + 10 * groups;
    cost.memory_bytes = bytes;
    cost.cache_bytes = std::max(bytes, count * (work.bytes + stored_bytes));
    cost.registers = 20 + width * vectors * (work.held + outputs);
    // Threads do not wait for their stores; bounds checks keep the vectors of a thread apart.
    cost.bytes_in_flight = width * std::max(4.0, work.held_bytes) * std::min(vectors, 4.0);
    cost.round_trips = std::max(1.0, vectors / 4);
    return cost;
  };
}

Block ElementsPart::body(const Config& config,
                         const std::function<SymInt(const SymInt& grid)>& block_of) const {
  Inliner inliner(region_);
  const Lines lines(region_, outputs_[0]);
  int64_t width = config["vector"], per_thread = config["vectors"], threads = config["threads"];
  const SymInt whole = floordiv(lines.length, width), tail = mod(lines.length, width);  // of a line
  const SymInt line_groups = ceildiv(lines.length, width), groups = lines.count * line_groups;
  const SymInt grid = blocks_of(groups, threads * per_thread);
  const SymInt block = block_of(grid), thread = thread_axis(threads);
  Block all;
  SymInt lane = SymInt::axis("v", width);
  if (per_thread > 1 && reduces_vectors(width))
    if (const Neighbours neighbours(region_, outputs_[0], width, per_thread); neighbours) {
      const SymInt number = block * threads + thread;
      const int64_t of_line = neighbours.inner / width;
      const SymInt count = floordiv(elements(), width * per_thread),
                   group = SymInt::axis("g", count),
                   line = SymInt::axis("line", floordiv(count, of_line)),
                   in_line = SymInt::axis("i", of_line);
      Block body;
      auto let = [&](const SymInt& axis, const SymInt& value) {
        if (!axis.is_const()) body.push_back(let_index(axis, value));
      };
      let(group, number);
      let(line, floordiv(group, of_line));
      let(in_line, mod(group, of_line));
      std::vector<Sink> stored;
      for (int64_t u = 0; u < per_thread; ++u) {
        const SymInt first = (line * per_thread + u) * neighbours.inner + in_line * width;
        const std::vector<Sink> own = sinks(inliner, first + lane);
        stored.insert(stored.end(), own.begin(), own.end());
      }
      append(body, vectorize(stored, lane));
      if (grid * threads == count) return body;
      return {branch(ir::index_less(number, count), std::move(body))};
    }

  for (int64_t u = 0; u < per_thread; ++u) {
    // Neighbouring threads take neighbouring vectors.
    SymInt number = (block * per_thread + u) * threads + thread;
    bool exact = grid * threads * per_thread == groups;
    SymInt line = SymInt::axis("line", lines.count);
    SymInt at = SymInt::axis("i", ir::max(whole, 1));
    Block* into = &all;
    SymInt in_line = number;
    if (!lines.count.is(1)) {
      SymInt group = SymInt::axis("g", groups);
      in_line = mod(group, line_groups);
      Block body = {let_index(group, number), let_index(line, floordiv(group, line_groups))};
      if (!exact) {
        all.push_back(branch(ir::index_less(number, groups), std::move(body)));
        into = &all.back().body;
      } else {
        append(all, std::move(body));
      }
      exact = true;
    }
    const SymInt first = line * lines.length;
    Block body = {let_index(at, in_line)};
    append(body, vectorize(sinks(inliner, first + at * width + lane), lane));
    if (!whole.is(0)) {
      if (exact && tail.is(0))
        append(*into, body);
      else
        into->push_back(branch(ir::index_less(in_line, whole), body));
    }
    if (!tail.is(0)) {
      SymInt rest = SymInt::axis("t", tail);
      Block scalar = {loop(rest, vectorize(sinks(inliner, first + whole * width + rest), 0))};
      into->push_back(
          branch(ir::call(ir::Fn::eq, {ir::index_value(in_line), ir::index_value(whole)}), scalar));
    }
  }
  return all;
}

ElementWork ElementsPart::work() const {
  Inliner inliner(region_);
  const SymInt at = SymInt::axis("at", ir::max(elements(), 1));
  std::vector<Expr> values;
  for (const Sink& sink : sinks(inliner, at)) values.push_back(sink.value);
  return element_work(values, at);
}

// Vectors of elements tell what single ones do not: that neighbours stay in one row of a load, or
// in one operand of a cat.
double ElementsPart::along_vectors(int64_t vector) const {
  Inliner inliner(region_);
  const SymInt lane = SymInt::axis("v", vector);
  const SymInt at = SymInt::axis("at", ir::max(floordiv(elements(), vector), 1));
  const SymInt element = SymInt::axis("at", ir::max(elements(), 1));
  const auto values_at = [&](const SymInt& linear) {
    std::vector<Expr> values;
    for (const Sink& sink : sinks(inliner, linear)) values.push_back(sink.value);
    return values;
  };
  std::vector<Expr> in_vectors = values_at(at * vector + lane);
  align_clamps(in_vectors, lane);
  return std::max(0.0, element_work(in_vectors, lane).contiguous -
                           element_work(values_at(element), element).contiguous);
}

bool ElementsPart::reduces_vectors(int64_t vector) const {
  if (vector < 2) return false;
  Inliner inliner(region_);
  const SymInt lane = SymInt::axis("v", vector);
  const SymInt at = SymInt::axis("at", ir::max(floordiv(elements(), vector), 1));
  std::vector<Expr> values;
  for (const Sink& sink : sinks(inliner, at * vector + lane)) values.push_back(sink.value);
  return has_vector_reductions(values, lane);
}

std::vector<Sink> ElementsPart::sinks(Inliner& inliner, const SymInt& linear) const {
  std::vector<Sink> sinks;
  const ir::Shape& order_of = ir::stored_part(*outputs_[0]).shape();
  const Layout& first = region_.layout(outputs_[0]);
  for (const ir::Value* output : outputs_) {
    const ir::Shape& shape = ir::stored_part(*output).shape();
    std::vector<SymInt> index = shape == order_of ? memory_order_index(linear, shape, first)
                                                  : ir::delinearize(linear, shape);
    index = ir::stored_index(*output, std::move(index));
    Sink sink;
    sink.buffer = region_.slot_of_output(output);
    sink.offset = region_.layout(output).offset(index);
    sink.value = inliner.value_at(output, index);
    sinks.push_back(sink);
  }
  return sinks;
}

}  // namespace tcc::sched
