#include "runtime/program.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "ir/size_range.h"
#include "runtime/binding.h"
#include "support/bytes_text.h"
#include "support/error.h"
#include "support/log.h"
#include "support/parallel.h"
#include "support/plural.h"

namespace tcc::runtime {

using exec::BufferInfo;

namespace {

// This checks the device's whole memory: a program that cannot fit should not begin to load.
void check_memory(Device& device, const exec::Executable& executable) {
  const int64_t constants = device.constants().missing_bytes(executable);
  const int64_t arena = executable.arena_bytes.is_const() ? executable.arena_bytes.value() : 0;
  const int64_t memory = device.memory_bytes();
  if (device.compiles_alone())
    fail_device(device.name(), ": its driver compiles for ", device.target().device,
                ", which is not there: it has no memory, and nothing runs on it");
  if (constants <= memory && arena <= memory - constants) return;
  fail_device(device.name(), ": out of memory: ", executable.name, " needs ", bytes_text(constants),
              " for weights and ", bytes_text(arena), " for intermediate values; the device has ",
              bytes_text(memory));
}

double host_seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check_kind(const Device& device, const exec::Executable& executable) {
  if (executable.target.api != device.target().api)
    fail_device(device.name(), ": ", executable.name, " was compiled for ", executable.target.id());
  if (executable.dims.empty()) exec::check_loops(executable, {}, device.target());
}

// An executable may be older than a quirk of the device.
void tell_switched_off(const exec::Target& target, const exec::Executable& executable) {
  for (const exec::KernelBinary& kernel : executable.kernels)
    if (const std::string reason = target.why_off(kernel.template_name); !reason.empty())
      log_warning(LogChannel::device, executable.name, ": kernel ", kernel.template_name, " is ",
                  reason, ": compile the graph again");
}

void check_functions(const HostFunctions& functions, const exec::Executable& executable,
                     const Device& device) {
  for (const exec::Step& step : executable.steps)
    if (const auto* call = std::get_if<exec::HostCall>(&step)) {
      const auto found = functions.find(call->function);
      if (found == functions.end() || (!found->second.run && !found->second.run_on_device))
        fail_input(executable.name, " calls the host's function '", call->function,
                   "', which is not registered: Program takes functions by name");
      if (!found->second.run && !device.gives_streams())
        fail_input(executable.name, " calls '", call->function,
                   "', which runs on device memory and on a stream alone; ", device.name(),
                   " has no stream for it: give the function a form for host memory (`run`), too");
    }
}

}  // namespace

Program::Program(std::shared_ptr<Device> device, exec::Executable executable, const Watch* watch,
                 HostFunctions functions)
    : device_(std::move(device)),
      executable_(std::move(executable)),
      functions_(std::move(functions)) {
  check_kind(*device_, executable_);
  check_functions(functions_, executable_, *device_);
  check_memory(*device_, executable_);
  exec::share_expressions(executable_);
  const size_t total = executable_.kernels.size() + executable_.constants.size();
  size_t done = 0;
  const auto tell = [&] {
    if (watch) watch->at("load", done++, total);
  };
  tell_switched_off(device_->target(), executable_);
  for (const exec::KernelBinary& binary : executable_.kernels) {
    tell();
    kernels_.push_back(device_->load(binary));
  }
  std::unique_ptr<Stream> stream = device_->create_stream();
  for (size_t i = 0; i < executable_.constants.size(); ++i) {
    tell();
    constants_.push_back(device_->constants().get(*device_, *stream, executable_, i));
    constant_bytes_ += executable_.constants[i].bytes;
  }
  tell();
  own_alignments_ = alignments_ = exec::assumed_alignments(executable_);
  for (exec::Variant& variant : std::exchange(executable_.variants, {}))
    add_variant(std::move(variant), watch);
}

void Program::add_variant(exec::Variant variant, const Watch* watch) {
  const auto program =
      std::make_shared<const Program>(device_, std::move(variant.executable), watch, functions_);
  for (size_t i = 0; i < program->constants_.size(); ++i)
    if (std::ranges::find(constants_, program->constants_[i]) == constants_.end())
      constant_bytes_ += program->executable_.constants[i].bytes;
  const auto join = [&](int ours, int theirs) {
    int& most = alignments_[static_cast<size_t>(ours)];
    most = std::max(most, program->alignments_[static_cast<size_t>(theirs)]);
  };
  const exec::Executable& other = program->executable_;
  for (size_t i = 0; i < other.inputs.size(); ++i) join(executable_.inputs[i], other.inputs[i]);
  for (size_t i = 0; i < other.outputs.size(); ++i) join(executable_.outputs[i], other.outputs[i]);
  for (size_t i = 0; i < other.states.size(); ++i)
    join(executable_.states[i].buffer, other.states[i].buffer);
  variants_.push_back({std::move(variant.sizes), program});
}

const Program& Program::at(std::span<const int64_t> sizes) const {
  const auto fits = [&](const Variant& variant) {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (const auto fixed = variant.sizes.find(executable_.dims[i].name);
          fixed != variant.sizes.end() && fixed->second != sizes[i])
        return false;
    return true;
  };
  const auto found = std::ranges::find_if(variants_, fits);
  return found == variants_.end() ? *this : *found->program;
}

namespace {

// A run is going on, which an exception ends, too.
class InRun {
 public:
  explicit InRun(bool& flag) : flag_(flag) { flag_ = true; }
  ~InRun() { flag_ = false; }
  InRun(const InRun&) = delete;
  InRun& operator=(const InRun&) = delete;

 private:
  bool& flag_;
};

}  // namespace

Context::Context(std::shared_ptr<const Program> program, std::shared_ptr<Stream> stream,
                 const exec::Dims& dims, Allocate allocate)
    : program_(std::move(program)),
      stream_(std::move(stream)),
      reader_(program_->executable()),
      size_reads_(exec::size_reads(program_->executable())),
      dims_(program_->executable().dims.size(), -1),
      allocate_(std::move(allocate)),
      states_(program_->executable().states.size()) {
  if (!stream_) stream_ = program_->device().create_stream();
  for (size_t i = 0; i < states_.size(); ++i)
    if (std::ranges::all_of(state_buffer(i).shape, &exec::SymInt::is_const)) make_state(i, {});
  grows_ = std::ranges::any_of(program_->executable().states, &exec::StateInfo::grows);
  for (const exec::ReadSize* read : size_reads_) dims_[static_cast<size_t>(read->dim)] = 1;
  if (dims_.size() == size_reads_.size() || !dims.empty()) set_dims(dims);
}

Context::~Context() = default;

// A plan is made of dims_, at the latest when it is asked for.
Context::Plan& Context::plan() const {
  if (plan_) return *plan_;
  const exec::Executable& executable = program_->executable();
  if (const auto open = std::ranges::find(dims_, -1); open != dims_.end())
    fail_input(executable.name, ": the size of '",
               executable.dims[static_cast<size_t>(open - dims_.begin())].name,
               "' is open: set the shapes of the inputs before a run that does not have them");
  auto& self = const_cast<Context&>(*this);
  self.take_lengths();
  self.use_next_dims();
  return *plan_;
}

void Context::set_dims(const exec::Dims& dims) {
  check_not_lengths(dims);
  for (const exec::ReadSize* read : size_reads_)
    if (const std::string& name = program_->executable().dims[static_cast<size_t>(read->dim)].name;
        dims.contains(name))
      fail_input("'", name, "' is counted by each run: it takes no size before");
  take_lengths();
  exec::read_dims(program_->executable(), dims, next_dims_);
  use_next_dims();
}

void Context::check_not_lengths(const exec::Dims& dims) const {
  if (!grows_) return;
  const exec::Executable& executable = program_->executable();
  const exec::Dims open = exec::sizes_of_open(executable, dims);
  for (const exec::StateInfo& info : executable.states)
    if (info.grows() && open.contains(executable.dims[static_cast<size_t>(info.dim)].name))
      fail_input(
          "'", executable.dims[static_cast<size_t>(info.dim)].name, "' is the length of state '",
          executable.buffers[static_cast<size_t>(info.buffer)].name, "', which comes with it");
}

void Context::set_shapes(std::span<const exec::ShapeView> inputs) {
  take_lengths();
  reader_.read(inputs, next_dims_);
  use_next_dims();
}

// Sizes that are not read yet are none that cannot be.
void Context::fit_counts(std::vector<int64_t>& dims) const {
  for (const exec::ReadSize* read : size_reads_) {
    int64_t& size = dims[static_cast<size_t>(read->dim)];
    const int64_t most = exec::sizes_of(program_->executable(), dims).of(read->most);
    size = std::clamp<int64_t>(size, 0, std::max<int64_t>(most, 0));
  }
}

const std::vector<int64_t>& Context::largest_shape(size_t output) const {
  Plan& plan = this->plan();
  const exec::Executable& executable = program_->executable();
  if (!plan.largest.empty()) return plan.largest[output];
  // A shape may be largest where a count is small: bounds of expressions hold for all counts.
  std::map<std::string, exec::SymInt, std::less<>> sizes;
  for (size_t i = 0; i < dims_.size(); ++i)
    sizes[executable.dims[i].symbol()] = plan.dims[i] / executable.dims[i].range.multiple;
  const auto most = [&](const exec::SymInt& expression) {
    const exec::SymInt known = expression.substitute([&](const ir::AtomPtr& atom) {
      const auto size = sizes.find(atom->name);
      const bool is_known = atom->kind == ir::Atom::Kind::symbol && size != sizes.end();
      return is_known ? std::optional(size->second) : std::nullopt;
    });
    return std::max<int64_t>(known.range().hi, 0);
  };
  const auto open = [&](const exec::ReadSize& read, int64_t largest) {
    const std::string name = executable.dims[static_cast<size_t>(read.dim)].symbol();
    sizes[name] = ir::bounded_symbol(name, {0, std::min(largest, ir::kMostSize)}, 0);
  };
  for (const exec::ReadSize* read : size_reads_) open(*read, ir::kMostSize);
  for (const exec::ReadSize* read : size_reads_) open(*read, most(read->most));
  for (const int number : executable.outputs) {
    std::vector<int64_t>& shape = plan.largest.emplace_back();
    for (const exec::SymInt& dim : executable.buffers[static_cast<size_t>(number)].shape)
      shape.push_back(most(dim));
  }
  return plan.largest[output];
}

void Context::use_next_dims() {
  fit_counts(next_dims_);
  const std::vector<int64_t>& dims = next_dims_;
  if (!plan_ || !std::ranges::equal(plan_->dims, dims)) {
    const auto kept = std::ranges::find_if(
        plans_, [&](const auto& plan) { return std::ranges::equal(plan->dims, dims); });
    if (kept != plans_.end()) {
      plan_ = kept->get();
    } else {
      std::unique_ptr<Plan> made = make_plan(dims);
      if (plans_.size() == kKeptSizes) {
        refuse_while_captured("steps");
        const auto oldest = std::ranges::min_element(plans_, {}, &Plan::last_used);
        // It may replay what goes, or use its memory.
        if (!(*oldest)->recorded.empty() || (*oldest)->callers->has_memory() ||
            ((*oldest)->own && (*oldest)->own->has_memory()))
          stream_->synchronize();
        made->callers->reuse(*(*oldest)->callers);
        plans_.erase(oldest);
      }
      plan_ = plans_.emplace_back(std::move(made)).get();
    }
    std::ranges::copy(dims, dims_.begin());
  }
  plan_->last_used = ++uses_;
}

namespace {

// Those of the dims that are open in `of`: all of `whole`, or of a variant fewer.
std::vector<int64_t> open_in(const exec::Executable& of, const exec::Executable& whole,
                             std::span<const int64_t> dims) {
  std::vector<int64_t> open;
  for (size_t i = 0; i < dims.size(); ++i)
    if (std::ranges::find(of.dims, whole.dims[i].name, &exec::OpenDim::name) != of.dims.end())
      open.push_back(dims[i]);
  return open;
}

}  // namespace

std::unique_ptr<Context::Plan> Context::make_plan(std::span<const int64_t> dims) {
  auto plan = std::make_unique<Plan>();
  plan->dims.assign(dims.begin(), dims.end());
  plan->sizes = exec::sizes_of(program_->executable(), dims);
  plan->sizes.known = std::make_shared<exec::ExpressionValues>();
  plan->program = &program_->at(dims);
  const exec::Executable& executable = plan->program->executable();
  plan->memory.sizes =
      exec::sizes_of(executable, open_in(executable, program_->executable(), dims));
  plan->memory.sizes.known = plan->program == program_.get()
                                 ? plan->sizes.known
                                 : std::make_shared<exec::ExpressionValues>();
  const exec::Sizes& sizes = plan->memory.sizes;
  if (!executable.dims.empty()) {
    exec::check(executable, sizes);
    exec::check_loops(executable, sizes, program_->device().target());
  }
  if (plan->program != program_.get())
    exec::check_same(program_->executable(), plan->sizes, executable, sizes);
  make_states(plan->sizes);
  make_arena(sizes.of(executable.arena_bytes));
  if (grows_) make_arena(largest(sizes).of(executable.arena_bytes));
  plan->memory.arena = arena_;
  for (size_t i = 0; i < states_.size(); ++i)
    plan->memory.states[static_cast<size_t>(executable.states[i].buffer)] = states_[i].memory;
  plan->callers = std::make_unique<Binding>(*plan->program, plan->memory);
  return plan;
}

void Context::reserve_dims(const exec::Dims& dims) {
  check_not_lengths(dims);
  take_lengths();
  const exec::Executable& whole = program_->executable();
  for (const exec::ReadSize* read : size_reads_)
    next_dims_[static_cast<size_t>(read->dim)] = ir::kMostSize;
  exec::read_dims(whole, dims, next_dims_);
  fit_counts(next_dims_);
  const exec::Executable& executable = program_->at(next_dims_).executable();
  const exec::Sizes sizes = exec::sizes_of(executable, open_in(executable, whole, next_dims_));
  if (!executable.dims.empty()) exec::check(executable, sizes);
  make_arena(sizes.of(executable.arena_bytes));
  make_own_buffers(exec::sizes_of(whole, next_dims_));
}

void Context::refuse_while_captured(std::string_view what) const {
  if (!dims_.empty() && stream_->is_capturing())
    fail_input(program_->executable().name, ": memory for the ", what,
               " at these sizes cannot be made while the stream is captured");
}

StateMemory Context::take(int64_t bytes) {
  if (allocate_ && bytes > 0) return allocate_(bytes);
  return {program_->device().allocate(std::max<int64_t>(bytes, 1))};
}

void Context::make_arena(int64_t bytes) {
  if (bytes <= arena_bytes_) return;
  refuse_while_captured("intermediate values");
  StateMemory larger = take(bytes);
  if (arena_bytes_ > 0) {
    if (in_run_) {  // the values so far stay where they are in the arena
      const BoundStep copy = BoundCopy{larger.address(), arena_.address(), arena_bytes_};
      stream_->run({&copy, 1});
    }
    stream_->synchronize();
    drop_recordings();
  }
  arena_ = std::move(larger);
  arena_bytes_ = bytes;
  for (const auto& plan : plans_) plan->memory.arena = arena_;
}

// They have addresses that are gone, or are about to be.
void Context::drop_recordings() {
  for (const auto& plan : plans_) {
    plan->recorded.clear();
    plan->steps = {};
    plan->own.reset();
  }
}

void Context::check_counts(std::span<const DeviceAddress> inputs,
                           std::span<const DeviceAddress> outputs) const {
  const exec::Executable& executable = program_->executable();
  if (inputs.size() != executable.inputs.size() || outputs.size() != executable.outputs.size())
    fail_input("the graph has ", counted(executable.inputs.size(), "input"), " and ",
               counted(executable.outputs.size(), "output"), ", not ", inputs.size(), " and ",
               outputs.size());
}

void Context::reserve(std::span<const DeviceAddress> inputs,
                      std::span<const DeviceAddress> outputs) {
  check_counts(inputs, outputs);
  Binding& callers = *plan().callers;
  if (const BufferInfo* value = callers.lacking(inputs, outputs)) {
    if (stream_->is_capturing())
      fail_input("'", value->name,
                 "': the pointer is not aligned as kernels assume, and memory for an aligned copy "
                 "cannot be reserved while the stream is captured");
    callers.reserve(inputs, outputs);
  }
}

std::span<const BoundStep> Context::steps_on(std::span<const DeviceAddress> inputs,
                                             std::span<const DeviceAddress> outputs) {
  if (grows_)
    fail_input(program_->executable().name,
               ": a state grows with each run, and recorded steps are those of one length");
  if (!size_reads_.empty())
    fail_input(program_->executable().name,
               " reads a size back while it runs, which no command buffer can");
  reserve(inputs, outputs);
  Binding& callers = *plan().callers;
  if (!callers.calls().empty())
    fail_input(program_->executable().name, " calls the host's function '",
               callers.calls().front().name(), "', which no command buffer can");
  return callers.bind(inputs, outputs);
}

void Context::run(std::span<const DeviceAddress> inputs, std::span<const DeviceAddress> outputs) {
  if (grows_ && stream_->is_capturing())
    fail_input(program_->executable().name,
               ": a state grows with each run, and a captured run is that of one length");
  if (!size_reads_.empty() && stream_->is_capturing())
    fail_input(program_->executable().name,
               " reads a size back while it runs, which a captured stream cannot");
  reserve(inputs, outputs);
  std::span<const BoundStep> steps = plan().callers->bind(inputs, outputs);
  if (!plan().callers->calls().empty() && stream_->is_capturing())
    for (const HostCallSite& call : plan().callers->calls())
      if (!call.may_be_captured())
        fail_input(program_->executable().name, " calls the host's function '", call.name(),
                   "', which a captured stream cannot: it does not say that it may be captured");
  const InRun running(in_run_);
  for (size_t i = 0, count = plan().callers->parts().size(); i < count; ++i) {
    Binding& callers = *plan().callers;
    const Binding::Part part = callers.parts()[i];
    if (part.begin < part.end) stream_->run(steps.subspan(part.begin, part.end - part.begin));
    if (part.call) part.call->run(*stream_, through_);
    if (!part.size || !take_size(*part.size)) continue;
    plan().callers->take_staging(callers);
    reserve(inputs, outputs);
    steps = plan().callers->bind(inputs, outputs);
  }
  grow();
}

// Whether the size is another one than that of the plan at hand, which is the size's from now on.
bool Context::take_size(const SizeSite& site) {
  int64_t size = 0;
  stream_->copy_to_host(std::as_writable_bytes(std::span(&size, 1)), *site.memory, 0);
  stream_->synchronize();
  const exec::Executable& executable = plan().program->executable();
  const exec::OpenDim& dim = executable.dims[static_cast<size_t>(site.read->dim)];
  const int64_t most = plan().memory.sizes.of(site.read->most);
  if (!program_->device().computes()) size = most;  // nobody has counted
  if (size < 0 || size > most)
    fail_input(executable.name, ": the run counted ", size, " for '", dim.name,
               "', which is not from 0 to ", most);
  exec::check_size(dim, size);
  const std::vector<exec::OpenDim>& dims = program_->executable().dims;
  const auto place = std::ranges::find(dims, dim.name, &exec::OpenDim::name) - dims.begin();
  next_dims_ = dims_;
  if (std::exchange(next_dims_[static_cast<size_t>(place)], size) == size) return false;
  use_next_dims();
  return true;
}

void Context::make_own_buffers(const exec::Sizes& sizes) {
  const exec::Executable& executable = program_->executable();
  own_.resize(executable.inputs.size() + executable.outputs.size());
  for (size_t i = 0; i < own_.size(); ++i) {
    const size_t inputs = executable.inputs.size();
    const int number = i < inputs ? executable.inputs[i] : executable.outputs[i - inputs];
    const int64_t bytes =
        std::max<int64_t>(sizes.of(executable.buffers[static_cast<size_t>(number)].bytes), 1);
    if (own_[i] && own_[i]->bytes() >= bytes) continue;
    std::unique_ptr<Buffer> larger = program_->device().allocate(bytes);
    if (own_[i]) {
      stream_->synchronize();
      drop_recordings();
    }
    own_[i] = std::move(larger);
  }
}

// The steps on own buffers.
Context::Plan& Context::bound_plan() {
  Plan& plan = this->plan();
  if (plan.own) return plan;
  // A value that shrinks as a state grows needs most room now, every other value at last.
  if (grows_) make_own_buffers(largest(plan.sizes));
  make_own_buffers(plan.sizes);
  const size_t count = program_->executable().inputs.size();
  std::vector<DeviceAddress> inputs, outputs;
  for (const auto& buffer : own_)
    (inputs.size() < count ? inputs : outputs).push_back(buffer->address());
  plan.own = std::make_unique<Binding>(*plan.program, plan.memory);
  plan.steps = plan.own->bind(inputs, outputs);
  return plan;
}

// The recording of a part of the steps on own buffers, which has some.
const Recording& Context::recording(Plan& plan, size_t part) {
  plan.recorded.resize(plan.own->parts().size());
  std::unique_ptr<Recording>& recorded = plan.recorded[part];
  const auto& [begin, end, call, size] = plan.own->parts()[part];
  if (!recorded) recorded = program_->device().record(plan.steps.subspan(begin, end - begin));
  return *recorded;
}

void Context::set_inputs(std::span<const Tensor> inputs) {
  const exec::Executable& executable = program_->executable();
  if (inputs.size() != executable.inputs.size())
    fail_input("the graph has ", counted(executable.inputs.size(), "input"), ", not ",
               inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const BufferInfo& buffer = executable.buffers[static_cast<size_t>(executable.inputs[i])];
    const Tensor& tensor = inputs[i];
    if (tensor.dtype() != buffer.dtype)
      fail_input("input '", buffer.name, "' is ", name(buffer.dtype), ", not ",
                 name(tensor.dtype()));
    if (executable.dims.empty() && tensor.shape() != sizes().of(buffer.shape))
      fail_input("input '", buffer.name, "' has another shape than the graph was compiled for");
  }
  if (!executable.dims.empty()) {
    shapes_.clear();
    for (const Tensor& tensor : inputs) shapes_.emplace_back(tensor.shape());
    set_shapes(shapes_);
  }
  bound_plan();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const Tensor& tensor = inputs[i]; tensor.bytes() > 0)
      stream_->copy_to_device(*own_[i], 0, {tensor.data(), tensor.bytes()});
}

// A size that comes at run time may come once: it is recorded when it comes again.
void Context::replay() {
  const InRun running(in_run_);
  for (size_t i = 0, count = bound_plan().own->parts().size(); i < count; ++i) {
    Plan& plan = bound_plan();
    const Binding::Part part = plan.own->parts()[i];
    if (part.begin == part.end)
      ;  // there is nothing between two calls
    else if (dims_.empty() || plan.has_run)
      stream_->run(recording(plan, i));
    else
      stream_->run(plan.steps.subspan(part.begin, part.end - part.begin));
    if (part.call) part.call->run(*stream_, through_);
    if (i + 1 == count || (part.size && take_size(*part.size))) plan.has_run = true;
  }
}

std::vector<Tensor> Context::outputs() {
  stream_->synchronize();
  const exec::Executable& executable = program_->executable();
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < executable.outputs.size(); ++i) {
    const BufferInfo& buffer = executable.buffers[static_cast<size_t>(executable.outputs[i])];
    Tensor tensor(buffer.dtype, sizes().of(buffer.shape));
    if (tensor.bytes() > 0)
      stream_->copy_to_host({tensor.data(), tensor.bytes()}, *own_[executable.inputs.size() + i],
                            0);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<Tensor> Context::run(std::span<const Tensor> inputs) {
  set_inputs(inputs);
  replay();
  std::vector<Tensor> results = outputs();
  grow();
  return results;
}

void Context::run_step(size_t i) {
  Plan& plan = bound_plan();
  const Binding::StepRange& step = plan.own->range(i);
  stream_->run(plan.own->fills_for(i));
  stream_->run(plan.steps.subspan(step.begin, step.middle - step.begin));
  if (step.call) {
    step.call->run(*stream_, through_);
    stream_->run(plan.steps.subspan(step.middle, step.end - step.middle));
  }
  stream_->synchronize();
  if (step.size) take_size(*step.size);
}

std::vector<std::byte> Context::read(int buffer) {
  const Plan& plan = bound_plan();
  const OwnMemory& memory = plan.memory;
  const exec::Executable& executable = plan.program->executable();
  const BufferInfo& info = executable.buffers[static_cast<size_t>(buffer)];
  TCC_CHECK(info.kind != BufferInfo::Kind::constant, info.name, " is a constant");
  std::vector<std::byte> bytes(static_cast<size_t>(memory.sizes.of(info.bytes)));
  if (bytes.empty()) return bytes;
  TCC_CHECK(info.alias < 0, info.name, " lies in another buffer");
  if (info.is_in_arena()) {
    stream_->copy_to_host(bytes, *memory.arena.buffer,
                          memory.arena.offset + memory.sizes.of(info.offset));
  } else if (const auto state = memory.states.find(static_cast<size_t>(buffer));
             state != memory.states.end()) {
    stream_->copy_to_host(bytes, *state->second.buffer, state->second.offset);
  } else {
    const size_t first = info.kind == BufferInfo::Kind::input ? 0 : executable.inputs.size();
    stream_->copy_to_host(bytes, *own_[first + static_cast<size_t>(info.offset.value())], 0);
  }
  return bytes;
}

std::vector<int> Context::step_counts() {
  const Plan& plan = bound_plan();
  std::vector<int> counts;
  for (size_t i = 0; i < plan.program->executable().steps.size(); ++i) {
    const Binding::StepRange& range = plan.own->range(i);
    counts.push_back(range.call ? 1 : static_cast<int>(range.end - range.begin));
  }
  return counts;
}

std::vector<Context::Work> Context::step_work() {
  const std::vector<int> counts = step_counts();
  const exec::Sizes& sizes = plan().memory.sizes;
  const std::vector<exec::Step>& steps = plan().program->executable().steps;
  std::vector<Work> work(steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    if (const auto* launch = std::get_if<exec::KernelLaunch>(&steps[i]); launch && counts[i] > 0)
      work[i] = {sizes.of(launch->flops), sizes.of(launch->bytes)};
  return work;
}

std::vector<double> Context::time_steps() {
  Plan& plan = bound_plan();
  std::vector<double> seconds;
  for (size_t i = 0, count = plan.program->executable().steps.size(); i < count;) {
    const Binding::StepRange& first = plan.own->range(i);
    if (first.call) {
      seconds.push_back(host_seconds([&] { run_step(i); }));
      ++i;
      continue;
    }
    const size_t begin = first.begin;
    const size_t from = i;
    size_t end = begin;
    for (; i < count && !plan.own->range(i).call; ++i) end = plan.own->range(i).end;
    const std::vector<double> some = stream_->time_each(plan.steps.subspan(begin, end - begin));
    for (size_t step = from; step < i; ++step) {
      const Binding::StepRange& range = plan.own->range(step);
      double sum = 0;
      for (size_t n = range.begin; n < range.end; ++n) sum += some[n - begin];
      seconds.push_back(sum);
    }
  }
  return seconds;
}

double Context::time_replay(int repeat) {
  if (reads_sizes()) replay();  // the plan at hand is that of the sizes then
  Plan& plan = bound_plan();
  const std::vector<Binding::Part>& parts = plan.own->parts();
  if (parts.size() == 1) return stream_->time(recording(plan, 0), repeat);
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].begin < parts[i].end) recording(plan, i);
  plan.has_run = true;
  stream_->synchronize();
  return host_seconds([&] {
           for (int i = 0; i < repeat; ++i) replay();
           stream_->synchronize();
         }) /
         repeat;
}

}  // namespace tcc::runtime
