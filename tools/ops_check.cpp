#include "tools/ops_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "ir/counted_dims.h"
#include "ir/layers.h"
#include "ir/op.h"
#include "ir/reference/interpreter.h"
#include "ir/reference/noise.h"
#include "ir/sizes.h"
#include "support/error.h"

namespace tcc::tools {
namespace {

using ir::RefTensor;
using sched::Region;

// The values that kernels store, as one evaluation of the reference has them.
using Stored = std::unordered_map<const ir::Value*, RefTensor>;

CheckedValue describe(const ir::Value& value) {
  CheckedValue result;
  result.name = value.name;
  result.type = ir::to_string(value.type);
  if (const ir::Node* node = value.producer) {
    result.op = node->op_name();
    ir::add_layers(result.layers, node->location);
    result.location = ir::to_string(node->location);
  }
  return result;
}

// The elements of a buffer with these strides, in row-major order.
Tensor unpacked(const std::vector<std::byte>& bytes, DType dtype, const std::vector<int64_t>& shape,
                const std::vector<int64_t>& strides) {
  Tensor tensor(dtype, shape);
  const auto size = static_cast<size_t>(size_bytes(dtype));
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t n = 0; n < tensor.numel(); ++n) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
    std::memcpy(tensor.data() + static_cast<size_t>(n) * size,
                bytes.data() + static_cast<size_t>(offset) * size, size);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return tensor;
}

class OpsChecker {
 public:
  OpsChecker(const backends::Scheduled& scheduled, std::shared_ptr<const runtime::Program> program,
             std::span<const Tensor> inputs, bool tf32,
             const std::function<void(double share)>& progress)
      : graph_(*scheduled.graph),
        program_(std::move(program)),
        context_(program_),
        tf32_(tf32),
        progress_(progress) {
    for (const Tensor& tensor : inputs) given_.push_back(ir::to_ref(tensor));
    for (const Region& region : scheduled.regions)
      if (std::ranges::any_of(region.outputs,
                              [](const auto* v) { return !ir::elements_of(v).is(0); }))
        regions_.push_back(&region);  // as build_executable() does: the rest needs no kernel
    context_.set_inputs(inputs);
    if (context_.reads_sizes()) context_.replay();  // which reads them
    TCC_CHECK(&context_.program_at_hand() == program_.get(), "the schedule is of another program");
    bind_graph();
    find_steps();
    find_buffers();
    for (const Region* region : regions_)
      stored_.insert(region->outputs.begin(), region->outputs.end());
  }

  OpsCheck run() {
    ideal_ = evaluate(ir::RefMode::ideal, 0);
    stepwise_ = evaluate(ir::RefMode::stepwise, 0);
    size_t step = 0;
    for (size_t region = 0; region < regions_.size(); ++region) {
      for (; step <= last_steps_[region]; ++step) context_.run_step(step);
      for (size_t k = 0; k < regions_[region]->outputs.size(); ++k) check(region, k);
    }
    return std::move(result_);
  }

 private:
  const exec::Executable& executable() const { return program_->executable(); }
  const exec::Sizes& sizes() const { return context_.sizes(); }

  // The reference needs numbers for dims that are open in the graph of the kernels.
  void bind_graph() {
    ir::Numbers numbers(sizes().values.begin(), sizes().values.end());
    for (const ir::CountedDim& dim : ir::counted_dims(graph_)) numbers.erase(dim.name);
    bound_ = graph_.bind(numbers);
    for (size_t i = 0; i < graph_.values().size(); ++i)
      originals_[bound_.values()[i].get()] = graph_.values()[i].get();
  }

  // A region's steps end with the last launch of its kernels, or are a call of the host. Of several
  // kernels for parts of the sizes those count that run.
  void find_steps() {
    const auto& steps = executable().steps;
    const std::vector<int> choices = exec::choices(executable(), sizes());
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!exec::runs(steps[i], choices)) continue;
      if (std::holds_alternative<exec::HostCall>(steps[i]) ||
          std::holds_alternative<exec::ReadSize>(steps[i]))
        last_steps_.push_back(i);
      if (const auto* launch = std::get_if<exec::KernelLaunch>(&steps[i])) {
        const auto& kernel = executable().kernels[static_cast<size_t>(launch->kernel)];
        if (kernel.part == kernel.parts) last_steps_.push_back(i);
      }
    }
    TCC_CHECK(regions_.size() == last_steps_.size(), "other regions than launches");
  }

  // Outputs have the user's names, values of the arena their own.
  void find_buffers() {
    for (size_t i = 0; i < executable().buffers.size(); ++i)
      if (const exec::BufferInfo& buffer = executable().buffers[i];
          buffer.kind == exec::BufferInfo::Kind::arena)
        buffers_by_name_[buffer.name] = static_cast<int>(i);
  }

  int buffer_of(const ir::Value* value) const {
    const auto found = std::ranges::find(graph_.outputs, value);
    if (found == graph_.outputs.end()) return buffers_by_name_.at(value->name);
    return executable().outputs[static_cast<size_t>(found - graph_.outputs.begin())];
  }

  Stored evaluate(ir::RefMode mode, uint64_t seed) {
    Stored stored;
    size_t seen = 0;
    const ir::InterpretOptions options{
        .observe =
            [&](const ir::Node& node, std::span<RefTensor> outputs) {
              for (size_t k = 0; k < outputs.size(); ++k) {
                const ir::Value* bound = node.outputs[k];
                const auto value = originals_.find(bound);
                if (value != originals_.end() && stored_.contains(value->second))
                  stored[value->second] = outputs[k];
                if (mode == ir::RefMode::stepwise) find_origin(*bound, outputs[k]);
              }
              const double nodes = static_cast<double>(graph_.nodes().size());
              if (progress_ && seed == 0)
                progress_((static_cast<double>(mode == ir::RefMode::stepwise) +
                           static_cast<double>(++seen) / nodes) /
                          2);
            },
        .tf32 = tf32_,
        .seed = seed};
    ir::interpret(bound_, given_, mode, options);
    return stored;
  }

  // Finds the values in which the reference's first NaN and first infinity arise.
  void find_origin(const ir::Value& value, const RefTensor& tensor) {
    const auto note = [&](std::optional<CheckedValue>& origin, auto is) {
      if (!origin && std::ranges::any_of(tensor.f, is)) origin = describe(value);
    };
    note(result_.nan_origin, [](double x) { return std::isnan(x); });
    note(result_.infinity_origin, [](double x) { return std::isinf(x); });
  }

  void check(size_t number, size_t k) {
    const Region& region = *regions_[number];
    const ir::Value* value = region.outputs[k];
    if (value->producer->op->most_counted) return;  // a size, which the others have
    const std::vector<int64_t> shape = sizes().of(value->shape());
    if (std::ranges::find(shape, 0) != shape.end()) return;
    const size_t step = last_steps_[number];
    const auto* launched = std::get_if<exec::KernelLaunch>(&executable().steps[step]);
    const int place = buffer_of(value);
    const exec::BufferInfo& buffer = executable().buffers[static_cast<size_t>(place)];
    const RefTensor got =
        ir::to_ref(unpacked(context_.read(place), buffer.dtype, sizes().of(buffer.shape),
                            sizes().of(region.layout(value).strides)));
    ++result_.values;
    ir::Comparison comparison = ir::compare(got, ideal_.at(value), stepwise_.at(value));
    std::vector<RefTensor> noisy;
    for (uint64_t draw = 0; !comparison.pass && draw < ir::kNoiseDraws; ++draw) {
      if (draw == noisy_.size()) noisy_.push_back(evaluate(ir::RefMode::noisy, draw + 1));
      noisy.push_back(noisy_[draw].at(value));
      comparison = ir::compare(got, ideal_.at(value), stepwise_.at(value), noisy);
    }
    const bool wrong = !comparison.pass;
    result_.differ += wrong;
    const auto note = [&](std::optional<CheckedValue>& first) {
      if (first) return;
      first = describe(*value);
      first->type = type_text(value->dtype(), shape);
      first->launch = static_cast<int>(step);
      first->region = region.name();
      first->comparison = comparison;
      if (!launched) return;
      first->kernel = launched->kernel;
      first->kernel_template =
          executable().kernels[static_cast<size_t>(launched->kernel)].template_name;
    };
    if (wrong) note(result_.first);
    if (comparison.nans > 0) note(result_.first_nan);
  }

  const ir::Graph& graph_;
  ir::Graph bound_;                                                   // at the sizes of the run
  std::unordered_map<const ir::Value*, const ir::Value*> originals_;  // of bound_'s, in graph_
  std::shared_ptr<const runtime::Program> program_;
  runtime::Context context_;
  bool tf32_;
  const std::function<void(double)>& progress_;
  std::vector<RefTensor> given_;
  std::vector<const Region*> regions_;  // in the order of their steps
  std::vector<size_t> last_steps_;      // of these
  std::unordered_map<std::string, int> buffers_by_name_;
  std::unordered_set<const ir::Value*> stored_;
  Stored ideal_, stepwise_;
  std::vector<Stored> noisy_;  // by draw, at the first need
  OpsCheck result_;
};

std::string names_of_layers(const ir::Layers& layers) {
  std::string text;
  for (const std::string& layer : layers) text += (text.empty() ? "" : ", ") + layer;
  return text;
}

// "'h' f32[2, 4] of linear, layer dense (mlp.yaml:12)".
std::string checked_text(const CheckedValue& value) {
  std::string text = "'" + value.name + "' " + value.type;
  if (!value.op.empty()) text += " of " + value.op;
  if (!value.layers.empty()) text += ", layer " + names_of_layers(value.layers);
  if (!value.location.empty()) text += " (" + value.location + ")";
  return text;
}

void value_json(JsonWriter& json, std::string_view key, const std::optional<CheckedValue>& value) {
  json.key(key);
  if (!value) {
    json.null();
    return;
  }
  json.begin_object().member("name", value->name).member("type", value->type);
  json.member("op", value->op).key("layers").begin_array();
  for (const std::string& layer : value->layers) json.value(layer);
  json.end_array().member("location", value->location);
  if (value->launch >= 0) {
    json.member("launch", value->launch).member("kernel", value->kernel);
    json.member("region", value->region).member("template", value->kernel_template);
    json.member("nans", value->comparison.nans);
    json.member("reason", value->comparison.reason);
  }
  json.end_object();
}

}  // namespace

OpsCheck check_ops(const backends::Scheduled& scheduled,
                   std::shared_ptr<const runtime::Program> program, std::span<const Tensor> inputs,
                   bool tf32, const std::function<void(double share)>& progress) {
  return OpsChecker(scheduled, std::move(program), inputs, tf32, progress).run();
}

std::string ops_check_text(const OpsCheck& check) {
  const auto kernel_text = [](const CheckedValue& value) {
    return str("kernel ", value.kernel, " ", value.region, " [", value.kernel_template,
               "], launch ", value.launch);
  };
  std::string text = str(
      "ops: ", check.values, " values that kernels store, ",
      check.differ == 0 ? "all as in the reference" : str(check.differ, " not as in the reference"),
      "\n");
  if (check.first)
    text += "first that differs: " + checked_text(*check.first) + "\n  in " +
            kernel_text(*check.first) + "\n  " + check.first->comparison.reason + "\n";
  if (check.first_nan && !(check.first && check.first->launch == check.first_nan->launch))
    text += "first with NaN: " + checked_text(*check.first_nan) + "\n  in " +
            kernel_text(*check.first_nan) + "\n";
  if (check.infinity_origin)
    text += "the reference's first infinity: " + checked_text(*check.infinity_origin) + "\n";
  if (check.nan_origin)
    text += "the reference's first NaN: " + checked_text(*check.nan_origin) + "\n";
  return text;
}

void ops_check_json(JsonWriter& json, const OpsCheck& check) {
  json.key("ops").begin_object().member("values", check.values).member("differ", check.differ);
  value_json(json, "first", check.first);
  value_json(json, "first_nan", check.first_nan);
  value_json(json, "nan_origin", check.nan_origin);
  value_json(json, "infinity_origin", check.infinity_origin);
  json.end_object();
}

}  // namespace tcc::tools
