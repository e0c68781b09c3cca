#include "runtime/binding.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/device_checks.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::runtime {

using exec::BufferInfo;

Binding::Binding(const Program& program, const OwnMemory& memory)
    : program_(program),
      memory_(memory),
      inputs_(values_of(program.executable().inputs)),
      outputs_(values_of(program.executable().outputs)),
      choices_(exec::choices(program.executable(), memory.sizes)) {
  for (const BufferInfo& buffer : program.executable().buffers) {
    if (buffer.alias >= 0)
      places_.push_back(place_of({buffer.alias, buffer.offset}));
    else
      places_.push_back(
          {places_.size(), buffer.is_in_arena() ? memory_.sizes.of(buffer.offset) : int64_t{0}});
  }
  const exec::Executable& executable = program.executable();
  for (const exec::Step& step : executable.steps)
    if (const auto* call = std::get_if<exec::HostCall>(&step))
      calls_.emplace_back(program.device(), executable, *call, program.function(call->function),
                          memory.sizes);
    else if (const auto* read = std::get_if<exec::ReadSize>(&step))
      sizes_.push_back({read, program.device().allocate(size_bytes(DType::i64))});
}

std::vector<Binding::Value> Binding::values_of(const std::vector<int>& buffers) const {
  const exec::Executable& executable = program_.executable();
  const std::vector<int>& alignments = program_.own_alignments();
  std::vector<Value> values;
  for (const int number : buffers) {
    Value& value = values.emplace_back();
    value.buffer = &executable.buffers[static_cast<size_t>(number)];
    value.bytes = memory_.sizes.of(value.buffer->bytes);
    value.alignment = static_cast<uint64_t>(alignments[static_cast<size_t>(number)]);
  }
  return values;
}

bool Binding::is_aligned(const Value& value, DeviceAddress address) {
  return value.bytes == 0 || address % value.alignment == 0;
}

const BufferInfo* Binding::lacking(std::span<const DeviceAddress> inputs,
                                   std::span<const DeviceAddress> outputs) const {
  const BufferInfo* first = nullptr;
  auto look = [&](const std::vector<Value>& values, std::span<const DeviceAddress> addresses) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (is_aligned(values[i], addresses[i])) continue;
      const BufferInfo& buffer = *values[i].buffer;
      const int element = size_bytes(buffer.dtype);
      if (addresses[i] % static_cast<uint64_t>(element) != 0)
        fail_input("'", buffer.name, "': the pointer is not aligned to its elements of ", element,
                   " bytes");
      if (!values[i].staging && !first) first = &buffer;
    }
  };
  look(inputs_, inputs);
  look(outputs_, outputs);
  return first;
}

void Binding::reserve(std::span<const DeviceAddress> inputs,
                      std::span<const DeviceAddress> outputs) {
  auto make = [&](std::vector<Value>& values, std::span<const DeviceAddress> addresses) {
    for (size_t i = 0; i < values.size(); ++i)
      if (!values[i].staging && !is_aligned(values[i], addresses[i]))
        values[i].staging = program_.device().allocate(values[i].bytes);
  };
  make(inputs_, inputs);
  make(outputs_, outputs);
}

bool Binding::has_memory() const {
  const auto is_staged = [](const Value& value) { return value.staging != nullptr; };
  return !calls_.empty() || !sizes_.empty() || std::ranges::any_of(inputs_, is_staged) ||
         std::ranges::any_of(outputs_, is_staged);
}

void Binding::take_staging(Binding& before) {
  const auto take = [](std::vector<Value>& values, std::vector<Value>& theirs) {
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].bytes == theirs[i].bytes) std::swap(values[i].staging, theirs[i].staging);
  };
  take(inputs_, before.inputs_);
  take(outputs_, before.outputs_);
}

bool Binding::place(std::vector<Value>& values, std::span<const DeviceAddress> addresses) {
  bool changed = false;
  for (size_t i = 0; i < values.size(); ++i) {
    Value& value = values[i];
    const bool staged = !is_aligned(value, addresses[i]);
    TCC_CHECK(!staged || value.staging, value.buffer->name, " lacks a staging buffer");
    changed |= staged != value.staged;
    value.staged = staged;
    value.address = staged ? value.staging->address() : addresses[i];
  }
  return changed;
}

Binding::Place Binding::place_of(const exec::Address& at) const {
  const Place& place = places_[static_cast<size_t>(at.buffer)];
  return {place.owner, place.offset + memory_.sizes.of(at.offset)};
}

DeviceAddress Binding::address_of(const Place& place) const {
  const BufferInfo& buffer = program_.executable().buffers[place.owner];
  const auto begin = [&]() -> DeviceAddress {
    const auto number = [&] { return static_cast<size_t>(buffer.offset.value()); };
    switch (buffer.kind) {
      case BufferInfo::Kind::input: return inputs_[number()].address;
      case BufferInfo::Kind::output: return outputs_[number()].address;
      case BufferInfo::Kind::constant: return program_.constant(number());
      case BufferInfo::Kind::arena:
      case BufferInfo::Kind::workspace: return memory_.arena.buffer ? memory_.arena.address() : 0;
      case BufferInfo::Kind::state: return memory_.states.at(place.owner).address();
    }
    return 0;
  }();
  return begin == 0 ? 0 : begin + static_cast<uint64_t>(place.offset);
}

void Binding::add_slot(uint64_t& address, const exec::Address& at) {
  slots_.push_back({&address, place_of(at)});
}

template <class Step>
Step& Binding::next() {
  if (used_ == steps_.size()) steps_.emplace_back();
  BoundStep& step = steps_[used_++];
  if (auto* same = std::get_if<Step>(&step)) return *same;
  return step.emplace<Step>();
}

void Binding::reuse(Binding& gone) {
  steps_ = std::exchange(gone.steps_, {});
  slots_ = std::exchange(gone.slots_, {});
  made_ = gone.made_ = false;
}

// All but the addresses, which get slots. `steps_` has the room. A launch without workgroups is no
// step.
void Binding::add_launches(const exec::KernelLaunch& launch) {
  exec::LaunchNumbers own;
  const exec::LaunchNumbers& numbers = memory_.sizes.of(launch, own);
  if (is_empty(numbers.grid) || numbers.times < 1) return;
  auto& bound = next<BoundLaunch>();
  bound.grid = numbers.grid;
  bound.kernel = &program_.kernel(launch.kernel);
  bound.maps = numbers.maps;
  bound.arguments = numbers.arguments;
  for (int64_t n = 0; n < numbers.times; ++n) {
    auto& to = n == 0 ? bound : next<BoundLaunch>();
    if (n > 0) to = bound;
    if (!launch.times.is(1)) to.arguments.back() = static_cast<uint64_t>(n);
    for (size_t i = 0; i < to.arguments.size(); ++i)
      if (const auto* address = std::get_if<exec::Address>(&launch.arguments[i]))
        add_slot(to.arguments[i], *address);
  }
}

void Binding::add(const exec::Step& step) {
  const exec::Sizes& sizes = memory_.sizes;
  if (const auto* launch = std::get_if<exec::KernelLaunch>(&step)) return add_launches(*launch);
  if (const auto* copy = std::get_if<exec::Copy>(&step)) {
    auto& to = next<BoundCopy>();
    to.bytes = sizes.of(copy->bytes);
    add_slot(to.to, copy->to);
    add_slot(to.from, copy->from);
  } else if (const auto* fill = std::get_if<exec::Fill>(&step)) {
    auto& to = next<BoundFill>();
    to.bytes = sizes.of(fill->bytes);
    to.value = fill->value;
    add_slot(to.to, fill->to);
  }
}

void Binding::add_call(HostCallSite& site, StepRange& range) {
  range.call = &site;
  if (site.is_on_device()) {
    for (auto* values : {&site.reads(), &site.writes()})
      for (HostCallSite::Value& value : *values) add_slot(value.address, {value.buffer});
    range.middle = used_;
    return;
  }
  for (const HostCallSite::Value& value : site.reads()) {
    auto& copy = next<BoundCopy>();
    copy = {value.memory->address(), 0, value.bytes};
    add_slot(copy.from, {value.buffer});
  }
  range.middle = used_;
  for (const HostCallSite::Value& value : site.writes()) {
    auto& copy = next<BoundCopy>();
    copy = {0, value.memory->address(), value.bytes};
    add_slot(copy.to, {value.buffer});
  }
}

void Binding::add_read(const exec::ReadSize& read, SizeSite& site, StepRange& range) {
  range.size = &site;
  auto& copy = next<BoundCopy>();
  copy = {site.memory->address(), 0, size_bytes(DType::i64)};
  add_slot(copy.from, read.from);
}

void Binding::make_parts() {
  parts_.clear();
  size_t begin = 0;
  for (const StepRange& range : ranges_) {
    if (!range.call && !range.size) continue;
    const size_t end = range.call ? range.middle : range.end;
    parts_.push_back({begin, end, range.call, range.size});
    begin = end;
  }
  parts_.push_back({begin, steps_.size()});
}

void Binding::make_steps() {
  const std::vector<exec::Step>& steps = program_.executable().steps;
  used_ = 0;
  slots_.clear();
  ranges_.clear();
  // Slots point into the bound steps, which must not move.
  size_t most = inputs_.size() + outputs_.size();
  for (const exec::Step& step : steps) {
    if (!exec::runs(step, choices_)) continue;
    const auto* launch = std::get_if<exec::KernelLaunch>(&step);
    most += launch ? static_cast<size_t>(memory_.sizes.of(launch->times)) : 1;
  }
  for (const HostCallSite& call : calls_) most += call.reads().size() + call.writes().size();
  steps_.reserve(most);
  const auto add_copies = [&](const std::vector<Value>& values) {
    for (const Value& value : values)
      if (value.staged) next<BoundCopy>() = {0, 0, value.bytes};
  };
  add_copies(inputs_);
  auto call = calls_.begin();
  auto size = sizes_.begin();
  for (const exec::Step& step : steps) {
    StepRange& range = ranges_.emplace_back();
    range.begin = used_;
    if (std::holds_alternative<exec::HostCall>(step))
      add_call(*call++, range);
    else if (const auto* read = std::get_if<exec::ReadSize>(&step))
      add_read(*read, *size++, range);
    else if (exec::runs(step, choices_))
      add(step);
    range.end = used_;
    if (!range.call) range.middle = range.end;
  }
  add_copies(outputs_);
  steps_.resize(used_);
  make_parts();
  made_ = true;
}

std::span<const BoundStep> Binding::bind(std::span<const DeviceAddress> inputs,
                                         std::span<const DeviceAddress> outputs) {
  const bool changed_inputs = place(inputs_, inputs), changed_outputs = place(outputs_, outputs);
  if (!made_ || changed_inputs || changed_outputs) make_steps();
  for (const Slot& slot : slots_) *slot.address = address_of(slot.place);
  auto first = steps_.begin();
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].staged) *first++ = BoundCopy{inputs_[i].address, inputs[i], inputs_[i].bytes};
  auto last = steps_.end();
  for (size_t i = outputs_.size(); i-- > 0;)
    if (outputs_[i].staged) *--last = BoundCopy{outputs[i], outputs_[i].address, outputs_[i].bytes};
  return steps_;
}

// Workspaces lie in the arena, and a fill may be of several of them.
std::vector<BoundStep> Binding::fills_for(size_t step) const {
  const exec::Executable& executable = program_.executable();
  const auto launch_at = [&](size_t i) {
    const bool runs = exec::runs(executable.steps[i], choices_);
    return runs ? std::get_if<exec::KernelLaunch>(&executable.steps[i]) : nullptr;
  };
  const auto workspaces_at = [&](size_t i) {
    std::set<size_t> owners;
    if (const exec::KernelLaunch* launch = launch_at(i))
      for (const exec::Argument& argument : launch->arguments)
        if (const auto* address = std::get_if<exec::Address>(&argument)) {
          const size_t owner = place_of(*address).owner;
          if (executable.buffers[owner].kind == BufferInfo::Kind::workspace) owners.insert(owner);
        }
    return owners;
  };
  std::vector<BoundStep> fills;
  for (const size_t owner : workspaces_at(step)) {
    const Place place = places_[owner];
    const int64_t end = place.offset + memory_.sizes.of(executable.buffers[owner].bytes);
    std::vector<BoundStep> own;
    for (size_t i = 0; i < step; ++i) {
      if (workspaces_at(i).contains(owner)) own.clear();
      const auto* fill = std::get_if<exec::Fill>(&executable.steps[i]);
      if (!fill || !exec::runs(*fill, choices_)) continue;
      const Place filled = place_of(fill->to);
      if (!executable.buffers[filled.owner].is_in_arena()) continue;
      // Whole words of the fill.
      const int64_t skipped = std::max<int64_t>(place.offset - filled.offset, 0) / 4 * 4;
      const int64_t bytes =
          std::min(memory_.sizes.of(fill->bytes), round_up(end - filled.offset, 4)) - skipped;
      if (bytes > 0)
        own.emplace_back(
            BoundFill{memory_.arena.address() + static_cast<uint64_t>(filled.offset + skipped),
                      bytes, fill->value});
    }
    fills.insert(fills.end(), own.begin(), own.end());
  }
  return fills;
}

}  // namespace tcc::runtime
