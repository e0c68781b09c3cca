#include "scheduler/templates/held_loads.h"

#include <algorithm>

#include "ir/bit_cast.h"
#include "scheduler/templates/common.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Fn;

bool is_half(DType stored) {
  return stored == DType::bf16 || stored == DType::f16 || stored == DType::boolean ||
         stored == DType::u8;
}

bool fits_a_word(DType stored) {
  return is_half(stored) || stored == DType::f32 || stored == DType::i32 || stored == DType::u32;
}

Expr number(int64_t value) { return ir::constant_int(DType::u32, value); }

// The bits of a loaded element in the low end of a word.
Expr bits_of(const Expr& loaded, DType stored) {
  if (stored == DType::f32) return ir::bit_cast(loaded, DType::f32, DType::u32);
  if (is_low_precision(stored))
    return ir::cast(ir::bit_cast(loaded, stored, DType::u16), DType::u32);
  return ir::cast(loaded, DType::u32);
}

// The element again, as kernels compute with it.
Expr element_of(const Expr& bits, const ExprNode& load) {
  switch (load.stored) {
    case DType::f32: return ir::bit_cast(bits, DType::u32, DType::f32);
    case DType::bf16:
      return ir::bit_cast(ir::call(Fn::shift_left, {bits, number(16)}), DType::u32, DType::f32);
    case DType::f16:
      return ir::cast(ir::bit_cast(ir::cast(bits, DType::u16), DType::u16, DType::f16), DType::f32);
    case DType::boolean: return ir::call(Fn::ne, {bits, number(0)});
    default: return ir::cast(bits, load.dtype);
  }
}

}  // namespace

HeldLoads::HeldLoads(std::span<const Expr> values, const Axes& axes, Which which)
    : lane_(axes.lane), is_by_lane_(axes.is_by_lane) {
  const int64_t lanes = this->lanes();
  AxisUse use;
  const auto depends = [&](const Expr& e, const SymInt& axis) {
    return !axis.is_const() && use.of(e).free.contains(axis.as_atom());
  };
  const auto of = [&](const Expr& e) {
    if (!depends(e, axes.query)) return Of::key;
    SymInt moved = e->index.substitute(axes.query, axes.query + kShared);
    // Two keys are one pair, whose number is no axis.
    if (!axes.keys.is_const())
      moved = moved.substitute(axes.keys, axes.keys + kShared / (is_by_lane_ ? 1 : lanes));
    return moved == e->index ? Of::distance : Of::pair;
  };
  // The outermost loads, which others may be indices of.
  const auto hold = [&](const Expr& e) -> Expr {
    if (e->kind != ExprNode::Kind::load) return nullptr;
    if (!fits_a_word(e->stored)) return e;
    if (which == Which::by_keys && !depends(e, lane_) && !depends(e, axes.keys)) return e;
    if (which == Which::of_all_queries && depends(e, axes.query)) return e;
    const auto is_same = [&](const Held& held) { return ir::compare(held.load, e) == 0; };
    if (std::ranges::any_of(loads_, is_same)) return e;
    Held held = {e, Form::each, of(e)};
    if (!is_by_lane_ && !depends(e, lane_))
      held.form = Form::shared;
    else if (is_half(e->stored) && lanes % 2 == 0 && (held.of == Of::pair || is_vector(*e))) {
      held.form = Form::halves;
      held.words = lanes / 2;
    } else {
      held.words = lanes;
    }
    loads_.push_back(std::move(held));
    return e;
  };
  for (const Expr& value : values) ir::rewrite(value, hold);
  std::ranges::stable_partition(loads_, [](const Held& held) { return held.of == Of::distance; });
  for (Held& held : loads_) {
    held.first = words_;
    words_ += held.words;
  }
}

// Neighbours in memory are one vector.
bool HeldLoads::is_vector(const ExprNode& load) const {
  return !is_by_lane_ && at_lane(load.index, 0) + lane_ == load.index;
}

int64_t HeldLoads::words_of(Of of) const {
  int64_t words = 0;
  for (const Held& held : loads_) words += held.of == of ? held.words : 0;
  return words;
}

int64_t HeldLoads::words_of_distances() const { return words_of(Of::distance); }

int64_t HeldLoads::words_apart() const { return words_of(Of::pair); }

// Where a lane's half of a word begins.
Expr HeldLoads::half_of_lane() const {
  return ir::cast(ir::index_value(mod(lane_, 2) * 16), DType::u32);
}

Block HeldLoads::load_lane(const Variable& held) const {
  Block block;
  for (const Held& of : loads_) {
    const Expr bits = bits_of(of.load, of.load->stored);
    if (of.form == Form::halves) {
      const Expr half = ir::call(Fn::shift_left, {bits, half_of_lane()});
      const SymInt word = of.first + word_of_lane();
      block.push_back(
          set_element(held, word, ir::call(Fn::bitwise_or, {ir::element(held, word), half})));
    } else {
      block.push_back(set_element(held, of.first + lane_, bits));
    }
  }
  return block;
}

Block HeldLoads::load(const Variable& held) const {
  if (is_by_lane_) return load_lane(held);
  const int64_t lanes = this->lanes();
  Block block;
  for (const Held& of : loads_) {
    const ExprNode& load = *of.load;
    const auto bits_at = [&](int64_t lane) {
      return bits_of(ir::load(load.buffer, load.stored, at_lane(load.index, lane)), load.stored);
    };
    if (of.form == Form::shared) {
      block.push_back(set_element(held, of.first, bits_at(0)));
      continue;
    }
    std::vector<Expr> bits;
    if (is_vector(load)) {
      const bool narrow = is_low_precision(load.stored);
      const Variable x = ir::new_variable("x", narrow ? DType::u16 : load.dtype);
      block.push_back(array(x, lanes));
      block.push_back(load_vector(x, load.buffer, at_lane(load.index, 0), lanes));
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const Expr element = ir::element(x, lane);
        bits.push_back(narrow ? ir::cast(element, DType::u32) : bits_of(element, load.stored));
      }
    } else {
      for (int64_t lane = 0; lane < lanes; ++lane) bits.push_back(bits_at(lane));
    }
    if (of.form == Form::halves) {
      for (size_t lane = 0; lane < bits.size(); lane += 2) {
        const Expr high = ir::call(Fn::shift_left, {bits[lane + 1], number(16)});
        block.push_back(set_element(held, of.first + static_cast<int64_t>(lane / 2),
                                    ir::call(Fn::bitwise_or, {bits[lane], high})));
      }
      continue;
    }
    for (int64_t lane = 0; lane < lanes; ++lane)
      block.push_back(set_element(held, of.first + lane, bits[static_cast<size_t>(lane)]));
  }
  return block;
}

Expr HeldLoads::read(const Expr& value, const Variable& held) const {
  return ir::rewrite(value, [&](const Expr& e) -> Expr {
    if (e->kind != ExprNode::Kind::load) return nullptr;
    for (const Held& of : loads_) {
      if (ir::compare(of.load, e) != 0) continue;
      if (of.form == Form::shared) return element_of(ir::element(held, of.first), *e);
      if (of.form == Form::each) return element_of(ir::element(held, of.first + lane_), *e);
      const Expr word = ir::element(held, of.first + word_of_lane());
      const Expr half = ir::call(Fn::shift_right, {word, half_of_lane()});
      // A shift to the left drops the other half: no mask is needed.
      return element_of(
          e->stored == DType::bf16 ? half : ir::call(Fn::bitwise_and, {half, number(0xffff)}), *e);
    }
    return e;
  });
}

}  // namespace tcc::sched
