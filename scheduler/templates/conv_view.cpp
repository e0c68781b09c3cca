#include "scheduler/templates/conv_view.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/sizes.h"
#include "scheduler/strided_view.h"
#include "scheduler/templates/common.h"

namespace tcc::sched {
namespace {

using ir::Atom;

// An axis for each extent, outermost first.
std::vector<SymInt> axes_of(const FlatAxes& list) {
  std::vector<SymInt> axes;
  for (const SymInt& extent : list.extents) axes.push_back(SymInt::axis("i", extent));
  return axes;
}

SymInt flat(const std::vector<SymInt>& axes, const FlatAxes& list) {
  SymInt index = 0;
  for (size_t i = 0; i < axes.size(); ++i) index = index * list.extents[i] + axes[i];
  return index;
}

bool is_linear(const SymInt& index) {
  return std::ranges::all_of(index.terms(), [](const auto& term) {
    return term.atoms.size() == 1 && term.atoms[0]->kind == Atom::Kind::axis;
  });
}

// Under which axes an index moves: at most one of each list.
struct Moves {
  int by = -1;  // the axis's number in its list; -1: none
  int64_t step = 0;
};
std::optional<Moves> moves(const SymInt& index, const std::vector<SymInt>& axes) {
  Moves found;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t step = coefficient(index, axes[i]);
    if (step == 0) continue;
    if (found.by >= 0 || step < 0) return std::nullopt;
    found = {static_cast<int>(i), step};
  }
  return found;
}

// The position that is clamped into [0, extent), or the index itself.
SymInt without_clamps(SymInt index, const SymInt& extent) {
  const auto strip = [&](Atom::Kind kind, const SymInt& limit) {
    const ir::AtomPtr atom = index.as_atom();
    if (!atom || atom->kind != kind) return;
    for (size_t i = 0; i < 2; ++i)
      if (atom->args[i] == limit) {
        index = atom->args[1 - i];
        return;
      }
  };
  strip(Atom::Kind::min, extent - 1);
  strip(Atom::Kind::max, 0);
  return index;
}

class Recogniser {
 public:
  Recogniser(const Region& region, const ContractionPlan& plan, bool of_a)
      : plan_(plan),
        free_list_(of_a ? plan.m : plan.n),
        batch_(axes_of(plan.batch)),
        free_(axes_of(free_list_)),
        k_(axes_of(plan.k)) {
    const SymInt batch = flat(batch_, plan.batch), own = flat(free_, free_list_),
                 k = flat(k_, plan.k);
    const ContractionPlan::Axes axes =
        of_a ? plan.axes(batch, own, 0, k) : plan.axes(batch, 0, own, k);
    const bool first = of_a != plan.swapped;  // the op's own A
    access_ = first ? plan.op.a(axes.batch, axes.m, axes.k) : plan.op.b(axes.batch, axes.k, axes.n);
    const int operand = first ? plan.op.a_operand : plan.op.b_operand;
    value_ = region.anchor->inputs[static_cast<size_t>(operand)];
    shape_ = value_->shape();
    OrRefusal<StridedView> memory = strided_view(region, value_);
    if (memory)
      memory_ = *std::move(memory);
    else
      refusal_ = memory.reason();
  }

  OrRefusal<ConvView> run() {
    if (refusal_.empty()) find_positions();
    if (refusal_.empty()) find_channels();
    if (refusal_.empty()) find_image();
    if (refusal_.empty()) check_order();
    if (!refusal_.empty()) return Refusal{refusal_};
    view_.buffer = memory_->buffer;
    view_.dtype = memory_->dtype;
    view_.offset = memory_->offset;
    return view_;
  }

 private:
  // Each dim's index is a position, clamped where the access is valid for some of them alone.
  void find_positions() {
    std::vector<Expr> valid;
    for (size_t d = 0; d < shape_.size(); ++d) {
      const SymInt& index = access_.index[d];
      const SymInt position = without_clamps(index, shape_[d]);
      if (!is_linear(position)) {
        refusal_ = str("dim ", d, " of ", value_->name, " is read at ", position.to_string());
        return;
      }
      if (!(position == index)) valid.push_back(ir::in_range(position, 0, shape_[d]));
      positions_.push_back(position);
    }
    const Expr expected = ir::all_of(valid);
    if (!expected != !access_.valid || (expected && ir::compare(expected, access_.valid) != 0))
      refusal_ = str(value_->name, " is not zero exactly outside of its dims");
  }

  // The dim along which k, or groups of one channel, move by neighbours in memory.
  void find_channels() {
    for (size_t d = 0; d < shape_.size() && channel_ < 0; ++d) {
      const auto k = moves(positions_[d], k_), own = moves(positions_[d], free_),
                 groups = moves(positions_[d], batch_);
      if (memory_->strides[d] != 1 || !k || !own || own->by >= 0 || !groups) continue;
      if (k->by >= 0 ? k->step != 1 : groups->by < 0) continue;
      channel_ = static_cast<int>(d);
      channel_axis_ = k->by;
      view_.channels = extent_of(plan_.k, *k);
      view_.all_channels = number(shape_[d]);
    }
    if (channel_ < 0) {
      refusal_ = str("channels of ", value_->name, " are no neighbours in memory");
      return;
    }
    int64_t inside = number(plan_.batch.size());
    if (!refusal_.empty()) return;
    for (size_t i = 0; i < batch_.size(); ++i) {
      const int64_t extent = plan_.batch.extents[i].value();
      inside /= extent;
      const int64_t step = coefficient(positions_[static_cast<size_t>(channel_)], batch_[i]);
      if (step < 0) refusal_ = str("batches of ", value_->name, " have no stride");
      if (step > 0) view_.batch.push_back({extent, step, inside});
    }
  }

  // The first of the other dims counts images, the rest are spatial.
  void find_image() {
    bool has_images = false;
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (static_cast<int>(d) == channel_) continue;
      const SymInt& position = positions_[d];
      const auto own = moves(position, free_), k = moves(position, k_);
      const auto batch = moves(position, batch_);
      if (!own || !k || !batch || batch->by >= 0) {
        refusal_ = str("dim ", d, " of ", value_->name, " is read at ", position.to_string());
        return;
      }
      if (!has_images) {
        has_images = true;
        if (k->by >= 0 || own->step > 1 || position.constant() != 0) {
          refusal_ = str(value_->name, " has no dim of images");
          return;
        }
        view_.images = shape_[d];
        view_.image_pitch = memory_->strides[d];
      } else {
        view_.spatial.push_back({number(shape_[d]), memory_->strides[d], extent_of(free_list_, *own),
                                 std::max<int64_t>(own->step, 1), extent_of(plan_.k, *k),
                                 std::max<int64_t>(k->step, 1), -position.constant(), along_k(*k)});
        if (k->by >= 0) taps_.insert(k->by);
      }
      if (own->by >= 0) own_order_.push_back(own->by);
    }
    if (view_.spatial.empty()) refusal_ = str(value_->name, " is read without windows");
    if (view_.spatial.size() > 3)
      refusal_ = str(value_->name, " has ", view_.spatial.size(), " spatial dims");
  }

  // Flat indices count pixels as loads bring them, and channels innermost.
  void check_order() {
    const auto moving = [](const FlatAxes& list) {
      return std::ranges::count_if(list.extents, [](const SymInt& extent) {
        return !extent.is(0) && !extent.is(1);
      });
    };
    if (!std::ranges::is_sorted(own_order_) || std::ssize(own_order_) != moving(free_list_))
      refusal_ = str("pixels of ", value_->name, " are not numbered by image and place");
    const int64_t found = std::ssize(taps_) + (channel_axis_ >= 0);
    const bool is_last = channel_axis_ < 0 || taps_.empty() || channel_axis_ > *taps_.rbegin();
    if (found != moving(plan_.k) || !is_last)
      refusal_ = str("k of ", value_->name, " does not end with channels");
  }

  // Places in k from one tap to the next.
  int64_t along_k(const Moves& moves) {
    int64_t places = moves.by < 0 ? 0 : 1;
    for (size_t i = plan_.k.extents.size(); i-- > static_cast<size_t>(moves.by + 1);)
      places *= number(plan_.k.extents[i]);
    return places;
  }

  int64_t extent_of(const FlatAxes& list, const Moves& moves) {
    return moves.by < 0 ? 1 : number(list.extents[static_cast<size_t>(moves.by)]);
  }

  // Only the number of images may be open.
  int64_t number(const SymInt& size) {
    if (!size.is_const()) refusal_ = str(value_->name, " has a dim of ", size, " beside images");
    return size.usual();
  }

  const ContractionPlan& plan_;
  const FlatAxes& free_list_;
  std::vector<SymInt> batch_, free_, k_;
  ir::Access access_;
  const ir::Value* value_ = nullptr;
  ir::Shape shape_;
  std::optional<StridedView> memory_;
  std::vector<SymInt> positions_;  // by dim
  int channel_ = -1, channel_axis_ = -1;
  std::vector<int> own_order_;
  std::set<int> taps_;  // axes of k
  ConvView view_;
  std::string refusal_;  // not empty: why there is no view
};

}  // namespace

SymInt ConvView::pixels() const {
  SymInt count = images;
  for (const Spatial& dim : spatial) count = count * dim.outputs;
  return count;
}

int64_t ConvView::taps() const {
  int64_t count = 1;
  for (const Spatial& dim : spatial) count *= dim.taps;
  return count;
}

OrRefusal<ConvView> conv_view(const Region& region, const ContractionPlan& plan, bool of_a) {
  return Recogniser(region, plan, of_a).run();
}

OrRefusal<exec::TensorMap> im2col_map(const ConvView& view, std::string name, int channels,
                                      int pixels, int swizzle) {
  constexpr int64_t kAlignment = 16, kMostStep = 8;
  const int64_t size = size_bytes(view.dtype);
  const auto is_aligned = [&](int64_t elements) { return elements * size % kAlignment == 0; };
  exec::TensorMap map;
  map.name = std::move(name);
  map.argument = view.buffer;
  map.dtype = view.dtype;
  map.kind = exec::TensorMap::Kind::im2col;
  map.swizzle = swizzle;
  map.offset = view.offset;
  map.im2col.channels = channels;
  map.im2col.pixels = pixels;
  map.dims = {view.all_channels};
  map.steps = {1};
  if (!is_aligned(view.offset)) return Refusal{str("it begins at element ", view.offset)};
  if (!is_aligned(channels)) return Refusal{str("loads of ", channels, " channels")};
  for (const OperandView::BatchAxis& axis : view.batch)
    if (!is_aligned(axis.stride.value())) return Refusal{str("groups of ", axis.stride, " channels")};
  const int64_t reach = int64_t{1} << (16 / static_cast<int64_t>(view.spatial.size()) - 1);
  for (size_t i = view.spatial.size(); i-- > 0;) {
    const ConvView::Spatial& dim = view.spatial[i];
    const int64_t lower = -dim.padding,
                  upper = (dim.outputs - 1) * dim.step + lower - (dim.extent - 1);
    if (std::min(lower, upper) < -reach || std::max(lower, upper) >= reach)
      return Refusal{str("windows that reach from ", lower, " to ", upper)};
    if (dim.step > kMostStep) return Refusal{str("steps of ", dim.step, " pixels")};
    if (!is_aligned(dim.pitch))
      return Refusal{str("pixels that lie ", dim.pitch, " elements apart")};
    map.im2col.lower.push_back(static_cast<int>(lower));
    map.im2col.upper.push_back(static_cast<int>(upper));
    map.dims.emplace_back(dim.extent);
    map.strides.emplace_back(dim.pitch * size);
    map.steps.push_back(static_cast<int>(dim.step));
  }
  // One image has no pitch.
  const int64_t image_pitch =
      view.images.is(0) || view.images.is(1) ? view.spatial[0].extent * view.spatial[0].pitch
                                             : view.image_pitch;
  if (!is_aligned(image_pitch))
    return Refusal{str("images that lie ", image_pitch, " elements apart")};
  map.dims.emplace_back(view.images);
  map.strides.emplace_back(image_pitch * size);
  map.steps.push_back(1);
  return map;
}

}  // namespace tcc::sched
