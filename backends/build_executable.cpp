#include "backends/build_executable.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "backends/compile/code.h"
#include "backends/compile/cubin.h"
#include "backends/emit/emit.h"
#include "ir/layers.h"
#include "scheduler/memory_plan.h"
#include "scheduler/template.h"
#include "scheduler/templates/common.h"
#include "support/bytes_text.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/log.h"
#include "support/parallel.h"

namespace tcc::backends {
namespace {

using sched::BufferInfo;
using sched::Region;

struct Lowered {
  const Region* region = nullptr;
  sched::KernelBinary binary;
  std::string kernel_text;  // for dumps
};

std::array<uint32_t, 3> split_grid(int64_t grid, const sched::Target& target) {
  if (grid <= target.max_grid[0]) return {static_cast<uint32_t>(grid), 1, 1};
  // Near-square, so that few workgroups are beyond the end.
  int64_t rows = (grid + target.max_grid[0] - 1) / target.max_grid[0];
  int64_t columns = (grid + rows - 1) / rows;
  return {static_cast<uint32_t>(columns), static_cast<uint32_t>(rows), 1};
}

Lowered lower_region(const Region& region, const sched::Template& kernel_template,
                     const sched::ConfigChoice& choice, const sched::Target& target,
                     const CompileOptions& options) {
  sched::Kernel kernel =
      sched::legalize(kernel_template.lower(region, choice.config, target), target);
  EmittedKernel emitted = emit(kernel, target);
  Lowered lowered;
  lowered.region = &region;
  sched::KernelBinary& binary = lowered.binary;
  binary.entry = target.api == sched::Api::vulkan ? "main" : kernel.name;
  binary.comment = emitted.comment;
  binary.source = emitted.source;
  binary.workgroup = kernel.workgroup;
  binary.grid = split_grid(kernel.grid, target);
  binary.shared_bytes = kernel.shared_bytes;
  binary.num_arguments = static_cast<int>(kernel.arguments.size());
  binary.maps = kernel.maps;
  binary.subgroup_size = kernel.uses_lanes ? target.subgroup_size : 0;
  binary.argument_table = emitted.argument_table;
  binary.alignments = emitted.alignments;
  binary.waits = emitted.waits;
  binary.template_name = kernel_template.name();
  binary.template_version = kernel_template.version();
  binary.region = region.name();
  binary.config = choice.config.to_string();
  binary.tier = sched::name(choice.tier);
  binary.flops = kernel.flops;
  binary.bytes = kernel.bytes;
  binary.flop_rate = kernel.flop_rate;
  if (is_shown("lower", options)) lowered.kernel_text = sched::to_string(kernel);
  const TextOrigin origin =
      kernel.is_generated() ? TextOrigin::generated : TextOrigin::device_source;
  if (options.binaries)
    binary.code = compile_source(binary.source, binary.region, target, options.cache,
                                 options.validate || asked_for_log("validate"), origin);
  // A kernel without a binary is not checked; it does not run either.
  if (binary.waits && options.binaries) binary.waits = waits_first(binary.code);
  return lowered;
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

// A constant's bytes with its dims in the layout's order.
std::vector<std::byte> pack(const Tensor& tensor, const sched::Layout& layout) {
  auto element = static_cast<size_t>(size_bytes(tensor.dtype()));
  if (layout == sched::Layout::row_major(tensor.shape()))
    return {tensor.data(), tensor.data() + tensor.bytes()};
  std::vector<std::byte> bytes(static_cast<size_t>(layout.elements) * element);
  const auto& shape = tensor.shape();
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < shape.size(); ++d) offset += index[d] * layout.strides[d];
    std::copy_n(tensor.data() + static_cast<size_t>(i) * element, element,
                bytes.data() + static_cast<size_t>(offset) * element);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return bytes;
}

// Names the layers that a region computes. Views and constants stand in every region that
// uses them and tell something only where there is nothing else.
ir::Layers layers_of(const Region& region) {
  ir::Layers layers, others;
  for (const ir::Node* node : region.nodes) {
    const bool is_work = node->op->kind != ir::OpKind::view && !node->inputs.empty();
    ir::add_layers(is_work ? layers : others, node->location);
  }
  return layers.empty() ? others : layers;
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
      : graph_(*scheduled.graph), target_(target), options_(options) {
    for (const Region& region : scheduled.regions)
      // A value without elements needs no kernel.
      if (std::any_of(region.outputs.begin(), region.outputs.end(),
                      [](const ir::Value* v) { return sched::numel(v) > 0; }))
        regions_.push_back(&region);
  }

  sched::Executable run() {
    executable_.name = graph_.name;
    executable_.target = target_;
    // Before the kernels, which take long: what does not fit the device ends here.
    place_outside_buffers();
    place_arena();
    for (const Region* region : regions_) {
      sched::Launch& launch = executable_.launches.emplace_back();
      launch.layers = layers_of(*region);
      for (const ir::Value* value : region->inputs)
        launch.buffers.push_back(buffer_of(value, region->layout(value)));
      for (const ir::Value* value : region->outputs)
        launch.buffers.push_back(buffer_of(value, region->layout(value)));
    }
    compile_kernels();
    if (is_shown("plan", options_)) show("plan", plan_text(), options_);
    return std::move(executable_);
  }

 private:
  void compile_kernels() {
    std::map<std::string, size_t> distinct;
    std::vector<size_t> first;      // region index of each distinct kernel
    std::vector<std::string> keys;  // of those
    for (size_t i = 0; i < regions_.size(); ++i) {
      auto [entry, inserted] = distinct.try_emplace(signature(*regions_[i]), first.size());
      if (inserted) {
        first.push_back(i);
        keys.push_back(entry->first);
      }
      executable_.launches[i].kernel = static_cast<int>(entry->second);
    }
    const sched::ConfigSource& configs =
        options_.configs ? *options_.configs : sched::analytic_configs();
    std::vector<Lowered> lowered(first.size());
    std::atomic<size_t> done = 0;
    if (options_.watch) options_.watch->at("kernels", 0, first.size());
    parallel_each(first.size(), [&](size_t i) {
      if (options_.watch) options_.watch->check();
      const Region& region = *regions_[first[i]];
      const sched::Template& kernel_template = sched::template_for(region, target_);
      lowered[i] =
          lower_region(region, kernel_template, configs.choose(kernel_template, region, target_),
                       target_, options_);
      if (options_.watch) options_.watch->at("kernels", ++done, first.size());
    });
    std::string kernels, sources;
    for (size_t i = 0; i < lowered.size(); ++i) {
      Lowered& kernel = lowered[i];
      kernel.binary.region_key = keys[i];
      log_parts(LogLevel::info, LogChannel::tuning, kernel.binary.region, " [",
                kernel.binary.template_name, "] ", kernel.binary.tier, " ", kernel.binary.config);
      kernels += kernel.kernel_text + "\n";
      sources += kernel.binary.comment + kernel.binary.source + "\n";
      executable_.kernels.push_back(std::move(kernel.binary));
    }
    if (is_shown("lower", options_)) show("lower", kernels, options_);
    if (is_shown("emit", options_)) show("emit", sources, options_);
  }

  // `name` is the user's, for an output, else the value's.
  int add_buffer(BufferInfo::Kind kind, const ir::Value* value, const sched::Layout& layout,
                 int64_t offset, const std::string& name) {
    BufferInfo info;
    info.kind = kind;
    info.name = name;
    info.dtype = value->dtype();
    info.shape = ir::const_shape(*value);
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
  void check_fits(const std::string& what, int64_t bytes) const {
    if (bytes <= target_.max_buffer_bytes) return;
    fail_device(target_.device.empty() ? target_.id() : target_.device, ": ", what, " needs ",
                bytes_text(bytes), " in one buffer; the largest that the device has is of ",
                bytes_text(target_.max_buffer_bytes));
  }

  void place_outside_buffers() {
    auto row_major = [](const ir::Value* value) {
      return sched::Layout::row_major(ir::const_shape(*value));
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

  void place_arena() {
    std::vector<sched::Lifetime> lifetimes = sched::lifetimes(graph_, regions_);
    executable_.arena_bytes = sched::plan_arena(lifetimes);
    executable_.live_bytes_peak = sched::live_peak(lifetimes);
    const sched::Lifetime* largest = nullptr;
    for (const sched::Lifetime& lifetime : lifetimes) {
      offsets_[lifetime.value] = lifetime.offset;
      check_fits(named(lifetime.value->name, lifetime.value), lifetime.bytes);
      if (!largest || lifetime.bytes > largest->bytes) largest = &lifetime;
    }
    if (largest)
      check_fits(str("the arena of intermediate values, of which ",
                     named(largest->value->name, largest->value), " is the largest,"),
                 executable_.arena_bytes);
  }

  int buffer_of(const ir::Value* value, const sched::Layout& layout) {
    if (auto found = buffers_.find(value); found != buffers_.end()) return found->second;
    if (!value->is_constant()) {
      // A value without elements has no producer either, and is nowhere.
      const bool empty = sched::numel(value) == 0;
      TCC_CHECK(empty || offsets_.count(value), value->name, " has no place in the arena");
      return buffers_[value] = add_buffer(BufferInfo::Kind::arena, value, layout,
                                          empty ? 0 : offsets_.at(value), value->name);
    }
    ir::ConstantPtr data = value->data;
    auto make = [data, layout] { return pack(*data->load(), layout); };
    executable_.constants.push_back(
        {value->name, layout.elements * size_bytes(value->dtype()),
         std::make_shared<const std::function<std::vector<std::byte>()>>(make)});
    auto number = static_cast<int64_t>(executable_.constants.size()) - 1;
    return buffers_[value] =
               add_buffer(BufferInfo::Kind::constant, value, layout, number, value->name);
  }

  std::string plan_text() const {
    std::string text = str("arena ", executable_.arena_bytes, " bytes, at most ",
                           executable_.live_bytes_peak, " live\n");
    for (const BufferInfo& buffer : executable_.buffers)
      if (buffer.kind == BufferInfo::Kind::arena)
        text +=
            str("  ", buffer.offset, "..", buffer.offset + buffer.bytes, " ", buffer.name, "\n");
    return text;
  }

  const ir::Graph& graph_;
  const sched::Target& target_;
  const CompileOptions& options_;
  std::vector<const Region*> regions_;
  std::map<const ir::Value*, int> buffers_;
  std::map<const ir::Value*, int64_t> offsets_;
  sched::Executable executable_;
};

}  // namespace

bool is_shown(std::string_view stage, const CompileOptions& options) {
  const auto channel = channel_of(stage);
  return options.dump || (channel && log_wanted(LogLevel::debug, *channel));
}

void show(std::string_view stage, const std::string& text, const CompileOptions& options) {
  if (options.dump) options.dump(stage, text);
  if (const auto channel = channel_of(stage)) log_text(LogLevel::debug, *channel, text);
}

std::string regions_text(const std::vector<Region>& regions) {
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

sched::Executable build_executable(const Scheduled& scheduled, const sched::Target& target,
                                   const CompileOptions& options) {
  return Builder(scheduled, target, options).run();
}

sched::KernelBinary compile_region(const Region& region, const sched::Template& kernel_template,
                                   const sched::Config& config, const sched::Target& target,
                                   const CompileOptions& options) {
  return lower_region(region, kernel_template, {config, sched::Tier::exact}, target, options)
      .binary;
}

}  // namespace tcc::backends
