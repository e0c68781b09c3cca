#include "scheduler/conv_phases.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ir/sizes.h"
#include "scheduler/conv_dims.h"
#include "scheduler/made_of_weight.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Builder;
using ir::Node;
using ir::Shape;
using ir::Value;

// The phases of all dims together: each is a launch, or channels of one.
constexpr int64_t kMostPhases = 16;

// Output q of a phase is the sum over j of tap `first + j * spread` and element `q + offset + j`.
struct Phase {
  int64_t first, taps, offset;
};

int64_t outputs_of_phase(const ConvDim& dim) { return ceil_div(dim.places(), dim.spread); }

std::vector<Phase> phases_of(const ConvDim& dim) {
  const int64_t step = dim.spread;
  std::vector<Phase> all;
  for (int64_t r = 0; r < step; ++r) {
    const int64_t first = ((dim.before - r) % step + step) % step;
    const int64_t taps = first < dim.kernel ? ceil_div(dim.kernel - first, step) : 0;
    all.push_back({first, taps, (r + first - dim.before) / step});
  }
  return all;
}

// A phase of each dim.
using Phases = std::vector<Phase>;

// All of them; those of the last dim change first.
std::vector<Phases> combined(const std::vector<ConvDim>& dims) {
  std::vector<Phases> all = {{}};
  for (const ConvDim& dim : dims) {
    std::vector<Phases> longer;
    for (const Phases& before : all)
      for (const Phase& phase : phases_of(dim)) {
        longer.push_back(before);
        longer.back().push_back(phase);
      }
    all = std::move(longer);
  }
  return all;
}

// Whether each phase sees the same elements of the image, by as many taps.
bool see_the_same(const std::vector<ConvDim>& dims) {
  return std::ranges::all_of(dims, [](const ConvDim& dim) {
    const std::vector<Phase> phases = phases_of(dim);
    return phases[0].taps > 0 && std::ranges::all_of(phases, [&](const Phase& phase) {
             return phase.taps == phases[0].taps && phase.offset == phases[0].offset;
           });
  });
}

// The taps of the phases, of a weight whose last dims are spatial.
Value* taps_of(Builder& b, Value* w, const std::vector<ConvDim>& dims, const Phases& phases) {
  const auto first = w->rank() - std::ssize(dims);
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d].spread > 1)
      w = b.slice(w, first + static_cast<int64_t>(d), phases[d].first, dims[d].kernel,
                  dims[d].spread);
  return w;
}

// The convolution of the image itself with taps of these phases.
Value* convolved(Builder& b, const Node& conv, Value* w, const std::vector<ConvDim>& dims,
                 const Phases& phases) {
  std::vector<int64_t> padding;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t before = -phases[d].offset;
    padding.push_back(before);
    padding.push_back(outputs_of_phase(dims[d]) - dims[d].image + phases[d].taps - 1 - before);
  }
  ir::Attrs attrs = conv.attrs;
  attrs["padding"] = ir::ints(padding);
  attrs["input_dilation"] = ir::ints(std::vector<int64_t>(dims.size(), 1));
  return b.op("convolution", {conv.inputs[0], w}, attrs);
}

// `x` [N, channels before, steps..., channels behind, outputs of a phase...] as the convolution's
// result.
Value* alternating(Builder& b, Value* x, const std::vector<ConvDim>& dims, const Shape& result) {
  const auto spatial = std::ssize(dims);
  std::vector<int64_t> order = {0, 1, spatial + 2};
  Shape shape = {result[0], result[1]};
  for (int64_t d = 0; d < spatial; ++d) {
    order.push_back(spatial + 3 + d);
    order.push_back(2 + d);
    const ConvDim& dim = dims[static_cast<size_t>(d)];
    shape.emplace_back(outputs_of_phase(dim) * dim.spread);
  }
  x = b.reshape(b.permute(x, order), shape);
  for (size_t d = 2; d < result.size(); ++d)
    if (result[d] != shape[d]) x = b.slice(x, static_cast<int64_t>(d), 0, result[d]);
  return x;
}

// The shape that alternating() takes.
Shape phased_shape(const Shape& result, const std::vector<ConvDim>& dims, int64_t groups) {
  Shape shape = {result[0], groups};
  for (const ConvDim& dim : dims) shape.emplace_back(dim.spread);
  shape.push_back(floordiv(result[1], groups));
  for (const ConvDim& dim : dims) shape.emplace_back(outputs_of_phase(dim));
  return shape;
}

// One convolution, whose channels are those of all phases, the phases of a group one after the
// other.
Value* as_channels(Builder& b, const Node& conv, const std::vector<ConvDim>& dims,
                   const std::vector<Phases>& all) {
  const Shape& result = conv.outputs[0]->shape();
  const auto groups = conv.attr<int64_t>("groups");
  Value* w = made_of_weight(b, conv.inputs[1], "phases", [&](Builder& builder, Value* whole) {
    Shape split = {groups, floordiv(whole->shape()[0], groups)};
    split.insert(split.end(), whole->shape().begin() + 1, whole->shape().end());
    whole = builder.reshape(whole, split);
    std::vector<Value*> parts;
    for (const Phases& phases : all)
      parts.push_back(builder.unsqueeze(taps_of(builder, whole, dims, phases), 1));
    Value* joined = builder.op("cat", parts, {{"dim", int64_t{1}}});
    Shape shape = {result[1] * std::ssize(all)};
    shape.insert(shape.end(), joined->shape().begin() + 3, joined->shape().end());
    return builder.reshape(joined, shape);
  });
  Value* x = convolved(b, conv, w, dims, all[0]);
  return alternating(b, b.reshape(x, phased_shape(result, dims, groups)), dims, result);
}

// A convolution of each phase; one without taps is zero.
Value* one_by_one(Builder& b, const Node& conv, const std::vector<ConvDim>& dims,
                  const std::vector<Phases>& all) {
  const Value* y = conv.outputs[0];
  Shape shape = {y->shape()[0], y->shape()[1]};
  for (const ConvDim& dim : dims) shape.emplace_back(outputs_of_phase(dim));
  std::vector<Value*> parts;
  for (const Phases& phases : all) {
    const bool sums = std::ranges::all_of(phases, [](const Phase& p) { return p.taps > 0; });
    Value* part = sums ? convolved(b, conv,
                                   made_of_weight(b, conv.inputs[1], str("phase", parts.size()),
                                                  [&](Builder& builder, Value* w) {
                                                    return taps_of(builder, w, dims, phases);
                                                  }),
                                   dims, phases)
                       : b.splat(y->dtype(), shape, 0);
    parts.push_back(b.unsqueeze(part, 1));
  }
  Value* x = b.op("cat", parts, {{"dim", int64_t{1}}});
  return alternating(b, b.reshape(x, phased_shape(y->shape(), dims, 1)), dims, y->shape());
}

}  // namespace

bool has_phases(const Node& conv) {
  if (!has_conv_dims(conv)) return false;
  int64_t phases = 1;
  for (const ConvDim& dim : conv_dims(conv)) {
    if (dim.stride != 1 || dim.dilation != 1 || dim.places() < 1 || dim.spread > kMostPhases)
      return false;
    phases *= dim.spread;
  }
  return phases > 1 && phases <= kMostPhases;
}

Value* in_phases(Builder& builder, const Node& conv) {
  const std::vector<ConvDim> dims = conv_dims(conv);
  const std::vector<Phases> all = combined(dims);
  return see_the_same(dims) ? as_channels(builder, conv, dims, all)
                            : one_by_one(builder, conv, dims, all);
}

}  // namespace tcc::sched
