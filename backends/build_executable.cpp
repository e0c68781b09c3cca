#include "backends/build_executable.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>

#include "backends/backend.h"
#include "backends/compile/code.h"
#include "backends/constants.h"
#include "backends/emit/emit.h"
#include "ir/append.h"
#include "ir/counted_dims.h"
#include "ir/sizes.h"
#include "scheduler/legalize.h"
#include "scheduler/memory_plan.h"
#include "scheduler/sized_choices.h"
#include "scheduler/state_plan.h"
#include "scheduler/template.h"
#include "scheduler/workspace_slots.h"
#include "support/bytes_text.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/log.h"
#include "support/parallel.h"

namespace tcc::backends {
namespace {

using exec::BufferInfo;
using ir::SymInt;
using sched::Region;

// A region and its config as kernel IR, as its template makes it.
struct Lowered {
  sched::SizedChoice choice;
  sched::KernelSequence sequence;
  int first_kernel = 0;
  std::vector<size_t> workspaces = {};  // their slots among those of the region
};

struct Compiled {
  exec::StandaloneKernel kernel;
  exec::Amount flops, bytes;
  TextOrigin origin = TextOrigin::generated;
  std::map<std::string_view, std::string> kernel_texts;  // by stage of legalize, for dumps
};

// All but the binary. `name` is what messages call it.
Compiled emit_legal(const sched::Kernel& kernel, const std::string& name,
                    const sched::Target& target) {
  Compiled compiled;
  compiled.origin = kernel.is_generated() ? TextOrigin::generated : TextOrigin::device_source;
  exec::StandaloneKernel& result = compiled.kernel;
  static_cast<exec::KernelTraits&>(result) = kernel;
  compiled.flops = kernel.flops;
  compiled.bytes = kernel.bytes;
  result.flops = kernel.flops.usual();
  result.bytes = kernel.bytes.usual();
  static_cast<exec::KernelText&>(result) = emit(kernel, target);
  result.region = name;
  result.grid = {kernel.launch[0], kernel.launch[1], 1};
  for (const std::string& size : kernel.sizes)
    result.scalars.push_back({DType::i64, ir::SymInt::symbol(size)});
  for (const sched::Count& count : kernel.counts)
    result.scalars.push_back({DType::i32, count.value});
  if (kernel.numbered) result.scalars.push_back({DType::i32, 0});
  result.maps = kernel.maps;
  result.loop_iterations = kernel.loop_iterations;
  return compiled;
}

// The binary.
void compile_text(Compiled& compiled, const sched::Target& target, const CompileOptions& options) {
  // A kernel without a binary is not checked; it does not run either.
  if (!options.binaries) return;
  exec::StandaloneKernel& kernel = compiled.kernel;
  kernel.code = compile_source(kernel.source, kernel.region, target, options.cache,
                               options.validate || asked_for_log("validate"),
                               {compiled.origin, kernel.environment});
  if (kernel.waits) kernel.waits = backend_for(target.api).waits_first(kernel.code);
}

sched::KernelSequence lower_region(const sched::Candidate& candidate, const sched::Config& config) {
  sched::KernelSequence sequence = candidate.lower(config);
  verify(sequence, candidate.region());
  return sequence;
}

// Returns what `make` makes. Its errors begin with the place in the graph's file where the region's main
// node, or its last one, is written.
sched::Kernel at_node(const sched::Region& region, const std::function<sched::Kernel()>& make) {
  try {
    return make();
  } catch (const Error& error) {
    const ir::Node* node = region.anchor ? region.anchor : region.nodes.back();
    const std::string place = ir::to_string(node->location);
    if (error.kind() != ErrorKind::device || place.empty()) throw;
    fail_device(place, ": ", error.what());
  }
}

// The text of the launch of that number.
Compiled emit_launch(const Lowered& lowered, size_t number, const CompileOptions& options) {
  const sched::Candidate& candidate = *lowered.choice.candidate;
  const sched::Target& target = candidate.target();
  std::map<std::string_view, std::string> texts;
  const auto keep_text = [&](std::string_view stage, const sched::Kernel& after) {
    if (is_shown(stage, options)) texts[stage] = sched::to_string(after);
  };
  const sched::Kernel kernel = at_node(candidate.region(), [&] {
    return sched::legalize(lowered.sequence.launches[number].kernel, target, keep_text);
  });
  Compiled compiled = emit_legal(kernel, candidate.region().name(), target);
  compiled.kernel_texts = std::move(texts);
  static_cast<exec::KernelLabel&>(compiled.kernel) = {
      .template_name = std::string(candidate.kernel_template().name()),
      .region = candidate.region().name(),
      .config = lowered.choice.config.config.to_string(),
      .template_version = candidate.kernel_template().version(),
      .region_key = {},
      .tier = std::string(sched::name(lowered.choice.config.tier)),
      .part = static_cast<int>(number) + 1,
      .parts = static_cast<int>(lowered.sequence.launches.size())};
  return compiled;
}

// Work whose errors must reach the caller: the first one wins.
void parallel_each(size_t count, const std::function<void(size_t)>& work) {
  std::mutex mutex;
  std::exception_ptr error;
  parallel_for(0, static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      try {
        work(static_cast<size_t>(i));
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  });
  if (error) std::rethrow_exception(error);
}

bool is_zero(const ir::ConstantData& data) {
  const auto splat = data.splat();
  return splat && *splat == 0 && !std::signbit(*splat);
}

// Returns the channel of the log that shows the stage.
std::optional<LogChannel> channel_of(std::string_view stage) {
  if (stage == "partition") return LogChannel::partition;
  if (stage == "emit") return LogChannel::output_code;
  if (stage == "plan") return LogChannel::memory;
  return std::nullopt;
}

class Builder {
 public:
  Builder(const Scheduled& scheduled, const sched::Target& target, const CompileOptions& options)
      : graph_(*scheduled.graph),
        target_(target),
        options_(options),
        scheduled_(scheduled.regions),
        updates_(sched::plan_states(graph_, scheduled_)) {
    for (const sched::ScheduledRegion& scheduled_region : scheduled_) {
      regions_.push_back(&scheduled_region.region());
      candidates_.push_back(&scheduled_region.candidate());
    }
  }

  exec::Executable run() {
    executable_.name = graph_.name;
    executable_.target = target_;
    for (const auto& [name, range] : options_.open_dims) executable_.dims.push_back({name, range});
    for (const auto& [name, value] : options_.settled_dims)
      executable_.equal_dims.push_back({name, value});
    place_outside_buffers();
    place_states();
    lower_regions();
    // Before the kernels are compiled, which takes long: what does not fit the device ends here.
    place_arena();
    for (size_t i = 0; i < regions_.size(); ++i) add_steps(i);
    copy_states();
    compile_kernels();
    executable_.store = std::move(constants_);
    if (is_shown("plan", options_)) show("plan", plan_text(), options_);
    return std::move(executable_);
  }

 private:
  // The kernels of a region: those of one choice for each set of sizes.
  const std::vector<Lowered>& lowered(size_t region) const { return lowered_[distinct_[region]]; }

  // Regions of one signature have the same kernels.
  void lower_regions() {
    std::map<std::string, size_t> known;
    std::vector<size_t> first;  // region of each distinct one
    for (size_t i = 0; i < regions_.size(); ++i) {
      auto [entry, inserted] = known.try_emplace(kernel_key(*regions_[i]), first.size());
      if (inserted) {
        first.push_back(i);
        keys_.push_back(signature(*regions_[i]));
      }
      distinct_.push_back(entry->second);
    }
    std::vector<const Region*> distinct;
    for (const size_t i : first) distinct.push_back(regions_[i]);
    const sched::SizedChoices choices(
        graph_, distinct, target_,
        options_.configs ? *options_.configs : sched::analytic_configs());
    std::vector<int> times(first.size());
    for (const size_t number : distinct_) ++times[number];
    std::vector<sched::SizedRegion> regions(first.size());
    parallel_each(first.size(), [&](size_t i) {
      const sched::CandidatePtr& candidate = scheduled_[first[i]].shared();
      if (!candidate->host_call()) regions[i] = choices.look_at(candidate, times[i]);
    });
    sched::divide_sizes(regions);
    lowered_.resize(first.size());
    parallel_each(first.size(), [&](size_t i) {
      if (options_.watch) options_.watch->check();
      if (!regions[i].candidate) return;
      for (sched::SizedChoice& choice : choices.choices(regions[i])) {
        sched::KernelSequence sequence = lower_region(*choice.candidate, choice.config.config);
        // The arena has the workspaces of all choices, at all sizes.
        for (sched::Workspace& workspace : sequence.workspaces)
          workspace.elements = choices.for_all_sizes(workspace.elements);
        lowered_[i].push_back({std::move(choice), std::move(sequence)});
      }
    });
    int kernels = 0;
    for (std::vector<Lowered>& of_region : lowered_) {
      tables_.push_back(of_region.size() > 1 ? static_cast<int>(executable_.tables.size()) : -1);
      if (of_region.size() > 1) executable_.tables.push_back(table_of(of_region));
      for (Lowered& one : of_region) {
        one.first_kernel = kernels;
        kernels += static_cast<int>(one.sequence.launches.size());
      }
    }
    for (size_t i = 0; i < regions_.size(); ++i) {
      std::vector<sched::Workspace>& all = workspaces_.emplace_back();
      for (Lowered& one : lowered_[distinct_[i]])
        one.workspaces = sched::share_slots(one.sequence.workspaces, all);
    }
  }

  static exec::SizeTable table_of(const std::vector<Lowered>& choices) {
    exec::SizeTable table;
    for (size_t i = 0; i + 1 < choices.size(); ++i)
      table.conditions.push_back(choices[i].choice.conditions);
    return table;
  }

  // Operands are in the call's order, some perhaps more than once.
  void add_call(const ir::Node& node, const Region& region) {
    exec::HostCall call{node.attr<std::string>("function"), {}, {}};
    for (const ir::Value* value : node.inputs)
      call.reads.push_back(buffer_of(value, region.layout(value)));
    for (const ir::Value* value : node.outputs)
      call.writes.push_back(buffer_of(value, region.layout(value)));
    executable_.steps.emplace_back(std::move(call));
  }

  // A size is read from where it is counted; its value is copied where the graph uses it.
  void add_read(const ir::Node& node, const Region& region) {
    const ir::CountedDim counted = *ir::counted_dim(node);
    const auto dim = std::ranges::find(executable_.dims, counted.name, &exec::OpenDim::name);
    TCC_CHECK(dim != executable_.dims.end(), "no dim '", counted.name, "'");
    const auto place = [&](const ir::Value* value) {
      return exec::Address{buffer_of(value, region.layout(value))};
    };
    const exec::Address from = place(node.inputs[0]);
    const ir::Value* result = node.outputs[0];
    const bool is_used = std::ranges::count(graph_.outputs, result) > 0 ||
                         std::ranges::any_of(regions_, [&](const Region* r) {
                           return r->slot_of_input(result) >= 0;
                         });
    if (is_used)
      executable_.steps.emplace_back(exec::Copy{place(result), from, size_bytes(DType::i64)});
    executable_.steps.emplace_back(
        exec::ReadSize{static_cast<int>(dim - executable_.dims.begin()), from, counted.most});
  }

  // A call of the host, or the fills of the region's workspaces and its launches, by choice; what
  // compiling decides comes later.
  void add_steps(size_t region) {
    if (const ir::Node* call = candidates_[region]->host_call())
      return call->op->most_counted ? add_read(*call, *regions_[region])
                                    : add_call(*call, *regions_[region]);
    std::vector<int> buffers;
    for (const auto* values : {&regions_[region]->inputs, &regions_[region]->outputs})
      for (const ir::Value* value : *values)
        if (!regions_[region]->in_place.contains(value))
          buffers.push_back(buffer_of(value, regions_[region]->layout(value)));
    const ir::Layers layers = regions_[region]->layers();
    exec::Chosen chosen{tables_[distinct_[region]], 0};
    for (const Lowered& one : lowered(region)) {
      add_steps(one, region, buffers, layers, chosen);
      ++chosen.choice;
    }
  }

  // `buffers` are the region's; the workspaces come behind them.
  void add_steps(const Lowered& lowered, size_t region, std::vector<int> buffers,
                 const ir::Layers& layers, const exec::Chosen& chosen) {
    for (size_t i = 0; i < lowered.sequence.workspaces.size(); ++i) {
      const sched::Workspace& workspace = lowered.sequence.workspaces[i];
      const size_t slot = lowered.workspaces[i];
      buffers.push_back(add_workspace(workspace, workspace_offsets_.at({region, slot})));
      if (workspace.zeroed && !workspace.elements.is(0) && !workspaces_[region][slot].zeroed)
        executable_.steps.emplace_back(exec::Fill{{buffers.back()}, workspace.bytes(), 0, chosen});
    }
    int kernel = lowered.first_kernel;
    for (const sched::KernelSequence::Launch& one : lowered.sequence.launches) {
      exec::KernelLaunch launch;
      launch.kernel = kernel++;
      launch.layers = layers;
      launch.chosen = chosen;
      for (const int number : one.buffers)
        launch.arguments.emplace_back(exec::Address{buffers[static_cast<size_t>(number)]});
      launch.times = one.times;
      executable_.steps.emplace_back(std::move(launch));
    }
  }

  void compile_kernels() {
    struct Launch {
      const Lowered* lowered;
      size_t number, region;
    };
    std::vector<Launch> all;  // every launch of every choice of every distinct region
    for (size_t region = 0; region < lowered_.size(); ++region)
      for (const Lowered& one : lowered_[region])
        for (size_t i = 0; i < one.sequence.launches.size(); ++i) all.push_back({&one, i, region});
    std::vector<Compiled> compiled(all.size());
    parallel_each(all.size(), [&](size_t i) {
      if (options_.watch) options_.watch->check();
      compiled[i] = emit_launch(*all[i].lowered, all[i].number, options_);
    });
    compile_texts(compiled);
    for (exec::Step& step : executable_.steps)
      if (auto* launch = std::get_if<exec::KernelLaunch>(&step)) {
        const Compiled& own = compiled[static_cast<size_t>(launch->kernel)];
        const exec::StandaloneKernel& kernel = own.kernel;
        launch->flops = own.flops;
        launch->bytes = own.bytes;
        launch->grid = kernel.grid;
        launch->arguments.insert(launch->arguments.end(), kernel.scalars.begin(),
                                 kernel.scalars.end());
        launch->maps = kernel.maps;
        launch->loop_iterations = kernel.loop_iterations;
      }
    show_kernels(compiled);
    for (size_t i = 0; i < compiled.size(); ++i) {
      exec::KernelBinary& kernel = compiled[i].kernel;
      kernel.region_key = keys_[all[i].region];
      if (kernel.part == 1)
        log_parts(LogLevel::info, LogChannel::tuning, kernel.region, " [", kernel.template_name,
                  "] ", kernel.tier, " ", kernel.config,
                  lowered_[all[i].region].size() == 1
                      ? ""
                      : " for " + to_string(all[i].lowered->choice.conditions));
      executable_.kernels.push_back(std::move(kernel));
    }
  }

  // Equal texts are compiled once.
  void compile_texts(std::vector<Compiled>& compiled) const {
    std::map<std::pair<std::string_view, std::string_view>, size_t> known;
    std::vector<size_t> first, distinct;
    for (const Compiled& one : compiled) {
      const auto [entry, is_new] =
          known.try_emplace({one.kernel.source, one.kernel.environment}, first.size());
      if (is_new) first.push_back(distinct.size());
      distinct.push_back(entry->second);
    }
    std::atomic<size_t> done = 0;
    if (options_.watch) options_.watch->at("kernels", 0, first.size());
    parallel_each(first.size(), [&](size_t i) {
      if (options_.watch) options_.watch->check();
      compile_text(compiled[first[i]], target_, options_);
      if (options_.watch) options_.watch->at("kernels", ++done, first.size());
    });
    for (size_t i = 0; i < compiled.size(); ++i) {
      const exec::StandaloneKernel& same = compiled[first[distinct[i]]].kernel;
      if (&same == &compiled[i].kernel) continue;
      compiled[i].kernel.code = same.code;
      compiled[i].kernel.waits = same.waits;
    }
  }

  void show_kernels(const std::vector<Compiled>& compiled) const {
    std::map<std::string_view, std::string> texts;
    if (is_shown("lower", options_))
      for (const std::vector<Lowered>& of_region : lowered_)
        for (const Lowered& one : of_region) texts["lower"] += to_string(one.sequence) + "\n";
    for (const Compiled& one : compiled) {
      for (const auto& [stage, text] : one.kernel_texts) texts[stage] += text + "\n";
      texts["emit"] += one.kernel.comment + one.kernel.source + "\n";
    }
    for (const std::string_view stage : kernel_stages())
      if (is_shown(stage, options_)) show(stage, texts[stage], options_);
    if (is_shown("emit", options_)) show("emit", texts["emit"], options_);
  }

  int add_workspace(const sched::Workspace& workspace, const SymInt& offset) {
    BufferInfo info;
    info.kind = BufferInfo::Kind::workspace;
    info.name = workspace.name;
    info.dtype = workspace.dtype;
    info.shape = {workspace.elements};
    info.strides = {1};
    info.bytes = workspace.bytes();
    info.offset = offset;
    executable_.buffers.push_back(info);
    return static_cast<int>(executable_.buffers.size()) - 1;
  }

  // `name` is the user's, for an output, else the value's.
  int add_buffer(BufferInfo::Kind kind, const ir::Value* value, const sched::Layout& layout,
                 const SymInt& offset, const std::string& name) {
    BufferInfo info;
    info.kind = kind;
    info.name = name;
    info.dtype = value->dtype();
    info.shape = value->type.shape;
    info.strides = layout.strides;
    info.bytes = layout.elements * size_bytes(value->dtype());
    info.offset = offset;
    check_fits(named(name, value), info.bytes);
    executable_.buffers.push_back(info);
    return static_cast<int>(executable_.buffers.size()) - 1;
  }

  static std::string named(const std::string& name, const ir::Value* value) {
    return str("'", name, "' (", ir::to_string(value->type), ")");
  }

  // Throws Error(device) where `what` is more than the device has in one piece.
  // Sizes that depend on open dims are checked when those are known.
  void check_fits(const std::string& what, const SymInt& size) const {
    if (!size.is_const() || size.value() <= target_.max_buffer_bytes) return;
    const int64_t bytes = size.value();
    fail_device(target_.device.empty() ? target_.id() : target_.device, ": ", what, " needs ",
                bytes_text(bytes), " in one buffer; the largest that the device has is of ",
                bytes_text(target_.max_buffer_bytes));
  }

  void place_outside_buffers() {
    auto row_major = [](const ir::Value* value) {
      return sched::Layout::row_major(value->shape());
    };
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      int buffer =
          add_buffer(BufferInfo::Kind::input, graph_.inputs[i], row_major(graph_.inputs[i]),
                     static_cast<int64_t>(i), graph_.inputs[i]->name);
      executable_.inputs.push_back(buffer);
      buffers_[graph_.inputs[i]] = buffer;
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      int buffer = add_buffer(
          BufferInfo::Kind::output, graph_.outputs[i], row_major(graph_.outputs[i]),
          static_cast<int64_t>(i),
          i < graph_.output_names.size() ? graph_.output_names[i] : graph_.outputs[i]->name);
      executable_.outputs.push_back(buffer);
      buffers_[graph_.outputs[i]] = buffer;
    }
  }

  void place_states() {
    for (const ir::Value* state : graph_.states) {
      const auto layout = sched::Layout::row_major(state->shape());
      exec::StateInfo info;
      info.buffer = buffers_[state] =
          add_buffer(BufferInfo::Kind::state, state, layout, 0, state->name);
      if (state->data && !is_zero(*state->data)) info.initial = add_constant(state, layout);
      executable_.states.push_back(info);
    }
    for (const auto& node : graph_.nodes())
      if (ir::appends(*node)) set_growth(ir::append_of(*node), ir::to_string(node->location));
    for (const sched::StateUpdate& update : updates_)
      if (update.is_direct) buffers_[update.next] = buffers_.at(update.state);
  }

  // Rows that are appended where an open dim says make that dim the state's length.
  void set_growth(const ir::Append& append, const std::string& where) {
    const std::string what =
        str(where, where.empty() ? "" : ": ", "state '", append.state->name, "'");
    const SymInt& room = append.state->shape()[static_cast<size_t>(append.dim)];
    if ((room - append.needed()).range().lo < 0)
      fail_input(what, " has room for ", room, " along dim ", append.dim, ", and ", append.length,
                 " + ", append.added(), " may be ", append.needed().range().hi);
    if (append.length.is_const()) return;
    const auto dim = std::ranges::find_if(executable_.dims, [&](const exec::OpenDim& one) {
      return append.length == SymInt::symbol(one.symbol()) * one.range.multiple;
    });
    if (dim == executable_.dims.end())
      fail_input(what, " grows behind ", append.length, ", which must be an open dim");
    const int number = static_cast<int>(dim - executable_.dims.begin());
    const auto index = std::ranges::find(graph_.states, append.state) - graph_.states.begin();
    for (const exec::StateInfo& other : executable_.states)
      if (other.dim == number && !(other.added == append.added()))
        fail_input(what, " grows by ", append.added(), " and '",
                   executable_.buffers[static_cast<size_t>(other.buffer)].name, "' by ",
                   other.added, ", and both are as long as ", dim->name);
    exec::StateInfo& info = executable_.states[static_cast<size_t>(index)];
    info.axis = append.dim;
    info.dim = number;
    info.added = append.added();
  }

  // Values that lie elsewhere are copied to their states when everything is computed.
  void copy_states() {
    for (const sched::StateUpdate& update : updates_) {
      if (update.is_direct || ir::elements_of(update.next).is(0)) continue;
      const int to = buffers_.at(update.state);
      executable_.steps.emplace_back(exec::Copy{
          {to}, {buffers_.at(update.next)}, executable_.buffers[static_cast<size_t>(to)].bytes});
    }
  }

  // Returns the constant's number.
  int add_constant(const ir::Value* value, const sched::Layout& layout) {
    executable_.constants.push_back(
        {value->name, layout.elements.value() * size_bytes(value->dtype()), value->is_mutable});
    constants_->add(value->data, layout);
    return static_cast<int>(executable_.constants.size()) - 1;
  }

  // Takes the workspaces of few zeros out of the lifetimes. They lie one behind another in one that
  // begins with the run, so that one fill serves all of them. Returns it; it has no bytes where
  // there are none.
  sched::Lifetime take_few_zeros(std::vector<sched::Lifetime>& lifetimes) {
    sched::Lifetime zeros;
    std::erase_if(lifetimes, [&](const sched::Lifetime& one) {
      const auto region = static_cast<size_t>(one.first);
      if (one.value || !workspaces_[region][static_cast<size_t>(one.workspace)].zeroed)
        return false;
      workspace_offsets_[{region, static_cast<size_t>(one.workspace)}] = zeros.bytes;
      few_zeros_.emplace_back(region, static_cast<size_t>(one.workspace));
      zeros.bytes += one.bytes;
      zeros.last = std::max(zeros.last, one.last);
      return true;
    });
    zeros.size = zeros.bytes;
    return zeros;
  }
  void fill_few_zeros(const SymInt& offset, int64_t bytes) {
    for (const auto& one : few_zeros_) {
      SymInt& place = workspace_offsets_.at(one);
      place = place + offset;
    }
    const int buffer = add_workspace({"zeros", DType::i32, bytes / 4, true}, offset);
    executable_.steps.emplace_back(exec::Fill{{buffer}, bytes, 0, {}});
  }

  void place_arena() {
    std::vector<const std::vector<sched::Workspace>*> workspaces;
    for (const std::vector<sched::Workspace>& of_region : workspaces_)
      workspaces.push_back(&of_region);
    std::vector<sched::Lifetime> lifetimes =
        sched::lifetimes(graph_, regions_, workspaces, updates_);
    const sched::Lifetime zeros = take_few_zeros(lifetimes);
    if (zeros.bytes > 0) lifetimes.push_back(zeros);
    const sched::ArenaPlan plan =
        sched::plan_memory(std::move(lifetimes), sched::CountedStages(graph_));
    executable_.arena_bytes = plan.bytes;
    executable_.live_bytes_peak = plan.live_peak;
    const sched::Lifetime* largest = nullptr;
    for (size_t i = 0; i < plan.lifetimes.size(); ++i) {
      const sched::Lifetime& lifetime = plan.lifetimes[i];
      const auto region = static_cast<size_t>(lifetime.first);
      if (lifetime.value)
        offsets_[lifetime.value] = plan.offsets[i];
      else if (lifetime.workspace < 0)
        fill_few_zeros(plan.offsets[i], zeros.bytes);
      else
        workspace_offsets_[{region, static_cast<size_t>(lifetime.workspace)}] = plan.offsets[i];
      check_fits(named(lifetime), lifetime.size);
      if (!largest || lifetime.bytes > largest->bytes) largest = &lifetime;
    }
    if (largest)
      check_fits(
          str("the arena of intermediate values, of which ", named(*largest), " is the largest,"),
          executable_.arena_bytes);
  }

  std::string named(const sched::Lifetime& lifetime) const {
    if (lifetime.value) return named(lifetime.value->name, lifetime.value);
    if (lifetime.workspace < 0) return "the zeros of workspaces";
    const auto region = static_cast<size_t>(lifetime.first);
    return str("the workspace '", workspaces_[region][static_cast<size_t>(lifetime.workspace)].name,
               "' of ", regions_[region]->name());
  }

  int buffer_of(const ir::Value* value, const sched::Layout& layout) {
    if (auto found = buffers_.find(value); found != buffers_.end()) return found->second;
    if (!value->is_constant()) {
      // A value without elements has no producer either, and is nowhere.
      const bool empty = ir::elements_of(value).is(0);
      TCC_CHECK(empty || offsets_.count(value), value->name, " has no place in the arena");
      return buffers_[value] = add_buffer(BufferInfo::Kind::arena, value, layout,
                                          empty ? SymInt(0) : offsets_.at(value), value->name);
    }
    return buffers_[value] = add_buffer(BufferInfo::Kind::constant, value, layout,
                                        add_constant(value, layout), value->name);
  }

  std::string plan_text() const {
    std::string text =
        str("arena ", executable_.arena_bytes, " bytes, at most ", executable_.live_bytes_peak,
            " live", executable_.arena_bytes.is_const() ? "" : " at usual sizes", "\n");
    for (const BufferInfo& buffer : executable_.buffers)
      if (buffer.is_in_arena())
        text += str("  ", buffer.offset, "..", buffer.offset + buffer.bytes, " ", buffer.name,
                    buffer.kind == BufferInfo::Kind::workspace ? ", a workspace" : "", "\n");
    return text;
  }

  const ir::Graph& graph_;
  const sched::Target& target_;
  const CompileOptions& options_;
  std::vector<sched::ScheduledRegion> scheduled_;
  const std::vector<sched::StateUpdate> updates_;
  std::vector<const Region*> regions_;
  std::vector<const sched::Candidate*> candidates_;  // of these
  std::vector<size_t> distinct_;                     // of these: index into what follows
  std::vector<std::vector<Lowered>> lowered_;        // by choice of the sizes
  std::vector<std::string> keys_;
  std::vector<int> tables_;                                // -1: there is one choice
  std::vector<std::vector<sched::Workspace>> workspaces_;  // by region, the slots of all choices
  std::map<const ir::Value*, int> buffers_;
  std::map<const ir::Value*, SymInt> offsets_;
  std::map<std::pair<size_t, size_t>, SymInt> workspace_offsets_;  // of (region, number)
  std::vector<std::pair<size_t, size_t>> few_zeros_;               // those of few zeros
  std::shared_ptr<GraphConstants> constants_ = std::make_shared<GraphConstants>();
  exec::Executable executable_;
};

}  // namespace

std::vector<std::string_view> kernel_stages() {
  std::vector<std::string_view> names = {"lower"};
  for (const sched::KernelPass& pass : sched::legalize_passes()) names.push_back(pass.name);
  return names;
}

bool is_shown(std::string_view stage, const CompileOptions& options) {
  const auto channel = channel_of(stage);
  return options.dump || (channel && log_wanted(LogLevel::debug, *channel));
}

void show(std::string_view stage, const std::string& text, const CompileOptions& options) {
  if (options.dump) options.dump(stage, text);
  if (const auto channel = channel_of(stage)) log_text(LogLevel::debug, *channel, text);
}

std::string regions_text(const std::vector<sched::ScheduledRegion>& regions) {
  std::string text;
  for (const Region& region : regions) {
    text += region.name() + "\n";
    auto list = [&](std::string_view what, const std::vector<const ir::Value*>& values) {
      text += "  " + std::string(what);
      for (const ir::Value* value : values)
        text += " " + value->name + ":" + ir::to_string(value->type);
      text += "\n";
    };
    list("in ", region.inputs);
    list("out", region.outputs);
  }
  return text;
}

exec::Executable build_executable(const Scheduled& scheduled, const sched::Target& target,
                                  const CompileOptions& options) {
  return Builder(scheduled, target, options).run();
}

exec::StandaloneSequence compile_region(const sched::Candidate& candidate,
                                        const sched::Config& config,
                                        const CompileOptions& options) {
  Lowered lowered;
  lowered.choice.config = {config, sched::Tier::exact};
  // The caller's, which outlives this.
  lowered.choice.candidate = sched::CandidatePtr(sched::CandidatePtr(), &candidate);
  lowered.sequence = lower_region(candidate, config);
  exec::StandaloneSequence result;
  const sched::Region& region = candidate.region();
  result.arguments = static_cast<int>(region.inputs.size() + region.outputs.size());
  for (size_t i = 0; i < lowered.sequence.launches.size(); ++i) {
    Compiled compiled = emit_launch(lowered, i, options);
    compile_text(compiled, candidate.target(), options);
    result.launches.push_back({std::move(compiled.kernel),
                               std::move(lowered.sequence.launches[i].buffers),
                               lowered.sequence.launches[i].times});
  }
  result.workspaces = std::move(lowered.sequence.workspaces);
  return result;
}

exec::StandaloneKernel compile_kernel(const sched::Kernel& kernel, const sched::Target& target,
                                      const CompileOptions& options) {
  Compiled compiled = emit_legal(sched::legalize(kernel, target), kernel.name, target);
  compile_text(compiled, target, options);
  return std::move(compiled.kernel);
}

}  // namespace tcc::backends
