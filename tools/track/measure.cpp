#include "tools/track/measure.h"
#include "tools/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "api/options.h"
#include "autotune/clocks.h"
#include "autotune/statistics.h"
#include "autotune/tuning_files.h"
#include "autotune/user_kernel/user_tunable.h"
#include "backends/backend.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/passes/convert_precision.h"
#include "ir/reference/check.h"
#include "ir/reference/interpreter.h"
#include "runtime/program.h"
#include "support/error.h"
#include "support/log.h"
#include "tools/bench_report.h"
#include "tools/program.h"
#include "tools/tensors.h"
#include "tools/track/work.h"

namespace tcc::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBlockSeconds = 30e-3;  // of all samples, where a run is short
constexpr int kLeastSamples = 3, kMostSamples = 24;
constexpr int kLaunchRepetitions = 3;  // of a block
constexpr size_t kLeastBlocks = 3;
// Constants up to this are uploaded anew for each block, to another place.
constexpr int64_t kReloadedBytes = 64 << 20;

autotune::TuningFiles tuning_of(const MeasureOptions& options) {
  return autotune::open_tuning_files(
      {options.tuning.begin(), options.tuning.end()}, options.target.api, default_cache_folder(),
      [](const std::string& warning) { log_warning(LogChannel::tuning, warning); });
}

// A graph or a kernel: how it is compiled, what it runs on, and whether its results are right.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string work() const = 0;
  virtual exec::Executable compile(const backends::CompileOptions& options) = 0;
  virtual std::vector<Tensor> inputs() = 0;
  // Sets the quantity "error", and the status where the result is wrong.
  virtual void check(const exec::Executable& executable, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& outputs, TrackedCase& record) = 0;
};

class GraphSubject final : public Subject {
 public:
  GraphSubject(const TrackCase& one, const MeasureOptions& options)
      : case_(one), options_(options), tuning_(tuning_of(options)) {
    CompileOptions options_of_case;
    options_of_case.dims.insert(one.dims.begin(), one.dims.end());
    options_of_case.dtype = one.dtype;
    options_of_case.matmul_precision = one.matmul_precision;
    set_kernel_options(options_of_case, compile_);
    GraphFileOptions file;
    file.dims = compile_.dims;
    graph_ = load_graph(one.graph, file);
    check_dims(compile_, graph_);
    compile_.configs = &tuning_;
    compile_.plan = &tuning_;
    bound_ = graph_.bind(compile_.dims);
    if (compile_.dtype) bound_ = ir::convert_precision(bound_, *compile_.dtype);
  }

  exec::Executable compile(const backends::CompileOptions& options) override {
    compile_.cache = options.cache;
    compile_.binaries = options.binaries;
    return backends::compile(graph_, options_.target, compile_);
  }

  std::string work() const override { return work_of(bound_, case_.matmul_precision); }

  std::vector<Tensor> inputs() override {
    return load_inputs("tcc-track", bound_, InputFiles(InputOptions()));
  }

  void check(const exec::Executable&, const std::vector<Tensor>& inputs,
             const std::vector<Tensor>& outputs, TrackedCase& record) override {
    std::vector<ir::RefTensor> given;
    given.reserve(inputs.size());
    for (const Tensor& input : inputs) given.push_back(ir::to_ref(input));
    const auto ideal = ir::interpret(bound_, given, ir::RefMode::ideal);
    const auto stepwise = ir::interpret(bound_, given, ir::RefMode::stepwise);
    double error = 0;
    bool pass = true;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ir::Comparison one = ir::compare(ir::to_ref(outputs[i]), ideal[i], stepwise[i]);
      pass &= one.pass;
      double squares = 0, count = 0;
      for (const double value : ideal[i].f)
        if (std::isfinite(value)) squares += value * value, ++count;
      if (squares > 0) error = std::max(error, one.rmse_out / std::sqrt(squares / count));
    }
    record.quantities["error"] = {error, error, error};
    if (pass) return;
    // Sums that cancel widen the tolerance: with noise, as `tcc-run --check` does it.
    const bool tf32 = compile_.matmul_precision != backends::MatmulPrecision::highest;
    for (const ir::Comparison& one : ir::check_outputs(bound_, inputs, outputs, {.tf32 = tf32}))
      if (!one.pass && record.status == TrackedCase::Status::ok) {
        record.status = TrackedCase::Status::wrong;
        record.reason = one.reason;
      }
  }

 private:
  const TrackCase& case_;
  const MeasureOptions& options_;
  autotune::TuningFiles tuning_;
  ir::Graph graph_, bound_;
  backends::CompileOptions compile_;
};

class KernelSubject final : public Subject {
 public:
  KernelSubject(const TrackCase& one, const MeasureOptions& options)
      : options_(options),
        tuning_(tuning_of(options)),
        kernel_(autotune::load_user_kernel(one.graph)),
        dims_(one.dims.begin(), one.dims.end()),
        bound_(kernel_, dims_, options.target) {}

  std::string work() const override { return work_of(bound_); }

  exec::Executable compile(const backends::CompileOptions& options) override {
    const autotune::RecordStore records =
        tuning_.records(autotune::key_of(bound_), bound_.family());
    exec::Executable executable =
        autotune::executable_of(bound_, autotune::choose(records, bound_), options);
    executable.kernels.front().region_key = bound_.region();
    return executable;
  }

  std::vector<Tensor> inputs() override {
    const bool checked = options_.check && bound_.flops() <= options_.check_limit &&
                         bound_.bytes() <= options_.check_limit;
    if (checked) {
      backends::CompileOptions compile;
      compile.dims.insert(dims_.begin(), dims_.end());
      tunable_ = autotune::tunable_of(kernel_, options_.target, compile);
      job_ = tunable_.job(1);
    } else {
      for (const autotune::BoundArgument& input : bound_.inputs()) {
        const autotune::KernelArgument& declared = *input.declared;
        job_.inputs.push_back({declared.dtype, input.elements, declared.low, declared.high,
                               declared.int_low, declared.int_high});
      }
      job_.seed = 1;
    }
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < bound_.inputs().size(); ++i) {
      const std::vector<std::byte> data = autotune::input_data(job_, i);
      Tensor& tensor =
          tensors.emplace_back(bound_.inputs()[i].declared->dtype, bound_.inputs()[i].shape);
      std::memcpy(tensor.data(), data.data(), data.size());
    }
    return tensors;
  }

  void check(const exec::Executable& executable, const std::vector<Tensor>&,
             const std::vector<Tensor>& outputs, TrackedCase& record) override {
    double squares = 0, differences = 0;
    for (const autotune::ReferenceSample& sample : job_.reference) {
      const double got = outputs[static_cast<size_t>(sample.output)].get(sample.element);
      squares += sample.value * sample.value;
      differences += (got - sample.value) * (got - sample.value);
    }
    if (squares > 0 && std::isfinite(differences)) {
      const double error = std::sqrt(differences / squares);
      record.quantities["error"] = {error, error, error};
    }
    const auto bench = autotune::local_bench(options_.device, job_);
    if (tunable_.expected) bench->baseline(tunable_.expected());
    const exec::StandaloneKernel kernel = exec::standalone(executable, 0);
    const autotune::Measurement result =
        tunable_.expected ? bench->measure(kernel, autotune::Effort::quick,
                                           std::numeric_limits<double>::infinity())
                          : bench->baseline(kernel);
    if (result.status == autotune::Measurement::Status::measured) return;
    record.status = TrackedCase::Status::wrong;
    record.reason = result.reason;
  }

 private:
  const MeasureOptions& options_;
  autotune::TuningFiles tuning_;
  autotune::UserKernel kernel_;
  autotune::Dims dims_;
  autotune::BoundKernel bound_;
  autotune::Tunable tunable_;
  autotune::BenchJob job_;
};

std::optional<autotune::Clocks> clocks_of(const runtime::Device& device) {
  const autotune::Clocks clocks = autotune::read_clocks(device.pci_address());
  if (clocks.sm_mhz == 0 && clocks.memory_mhz == 0) return std::nullopt;
  return clocks;
}

void add_count(TrackedCase& record, const char* quantity, double value) {
  record.quantities[quantity] = {value, value, value};
}

// The facts of a program, whatever runs it. Instructions are known where kernels were compiled by a
// back end that counts them.
void add_counts(TrackedCase& record, const exec::Executable& executable) {
  int64_t source = 0, constants = 0, instructions = 0;
  for (const exec::KernelBinary& kernel : executable.kernels) {
    source += static_cast<int64_t>(kernel.source.size());
    if (!kernel.code.empty())
      instructions +=
          backends::backend_for(executable.target.api).instructions(kernel.code).value_or(0);
  }
  for (const exec::ConstantInfo& constant : executable.constants) constants += constant.bytes;
  add_count(record, "launches", static_cast<double>(exec::count_usual_launches(executable)));
  add_count(record, "kernels", static_cast<double>(executable.kernels.size()));
  add_count(record, "arena bytes", static_cast<double>(executable.arena_bytes.value()));
  add_count(record, "constant bytes", static_cast<double>(constants));
  add_count(record, "source bytes", static_cast<double>(source));
  if (instructions > 0) add_count(record, "instructions", static_cast<double>(instructions));
}

void add_kernels(TrackedCase& record, const BenchResult& bench,
                 const exec::Executable& executable) {
  for (const KernelRow& row : kernel_rows(bench, executable)) {
    TrackedKernel& kernel = record.kernels.emplace_back();
    kernel.region = row.kernel->region;
    kernel.layers = row.layers;
    kernel.kernel_template = row.kernel->template_name;
    kernel.config = row.kernel->config;
    kernel.tier = row.kernel->tier;
    kernel.key = row.kernel->region_key;
    kernel.source = hash_of(row.kernel->source).hex();
    kernel.launches = row.launches;
    kernel.bytes = row.bytes;
    kernel.flops = row.flops;
    if (row.each() <= 0) continue;
    const autotune::Interval interval = autotune::median_interval(row.samples);
    kernel.seconds = row.each();
    kernel.low = interval.low;
    kernel.high = interval.high;
    kernel.roofline = roofline_share(row, executable.target);
  }
}

// The samples of one fresh context.
std::vector<double> measure_block(runtime::Context& context, BenchResult& bench) {
  context.time_replay(1);
  const double once = std::max(context.time_replay(1), 1e-7);
  const int replays =
      std::clamp(static_cast<int>(std::ceil(kSampleSeconds / once)), 1, kMostReplays);
  const int count =
      std::clamp(static_cast<int>(kBlockSeconds / (once * replays)), kLeastSamples, kMostSamples);
  std::vector<double> samples;
  samples.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) samples.push_back(context.time_replay(replays));
  for (int i = 0; i < kLaunchRepetitions; ++i) bench.steps.push_back(context.time_steps());
  bench.counts = context.step_counts();
  return samples;
}

class Measurer {
 public:
  Measurer(const TrackCase& one, const MeasureOptions& options)
      : options_(options), record_(record_of(one)) {
    if (one.kind == TrackCase::Kind::graph)
      subject_ = std::make_unique<GraphSubject>(one, options);
    else
      subject_ = std::make_unique<KernelSubject>(one, options);
    record_.work = subject_->work();
  }

  TrackedCase measure() {
    backends::KernelCache cache(options_.warm ? default_cache_folder() : "");
    backends::CompileOptions compile;
    compile.cache = &cache;
    compile.binaries = options_.device || options_.instructions;
    const auto start = Clock::now();
    const exec::Executable executable = subject_->compile(compile);
    const double seconds = seconds_since(start);
    record_.from_cache = options_.warm;
    record_.quantities["compile time"] = {seconds, seconds, seconds};
    add_counts(record_, executable);
    if (options_.device)
      run(executable);
    else
      add_kernels(record_, {}, executable);
    return std::move(record_);
  }

 private:
  void run(const exec::Executable& executable) {
    record_.before = clocks_of(*options_.device);
    const std::vector<Tensor> inputs = subject_->inputs();
    BenchResult bench;
    auto program = std::make_shared<const runtime::Program>(options_.device, executable);
    const bool reload = program->constant_bytes() <= kReloadedBytes;
    const auto start = Clock::now();
    for (size_t i = 0; i < options_.blocks; ++i) {
      if (i >= kLeastBlocks && seconds_since(start) > options_.seconds) break;
      if (i > 0 && reload) {
        // The code lies elsewhere than that of the program before, which is still loaded then. The
        // constants stay where they are: programs share them.
        auto next = std::make_shared<const runtime::Program>(options_.device, executable);
        program = std::move(next);
      }
      runtime::Context context(program);
      const std::vector<Tensor> outputs = context.run(inputs);
      if (i == 0 && is_checked(executable))
        subject_->check(program->executable(), inputs, outputs, record_);
      record_.samples.push_back(measure_block(context, bench));
    }
    record_.after = clocks_of(*options_.device);
    const Measured time = summary_of(record_.samples);
    if (time.value > 0)
      record_.quantities["time"] = time;
    else
      record_.samples.clear();  // the null device takes no time
    add_kernels(record_, bench, executable);
  }

  bool is_checked(const exec::Executable& executable) const {
    double flops = 0, bytes = 0;
    for (const exec::KernelLaunch* launch : exec::launches(executable)) {
      const auto times = static_cast<double>(launch->times.usual());
      flops += times * launch->flops.usual();
      bytes += times * launch->bytes.usual();
    }
    return options_.check && options_.target.api != sched::Api::null &&
           std::max(flops, bytes) <= options_.check_limit;
  }

  const MeasureOptions& options_;
  TrackedCase record_;
  std::unique_ptr<Subject> subject_;
};

}  // namespace

TrackedCase record_of(const TrackCase& one) {
  TrackedCase record;
  record.name = one.name;
  record.kind = name(one.kind);
  record.file = one.file;
  record.line = one.line;
  record.budget = one.budget;
  return record;
}

Measured summary_of(const std::vector<std::vector<double>>& blocks) {
  std::vector<double> medians;
  medians.reserve(blocks.size());
  for (const std::vector<double>& block : blocks) medians.push_back(autotune::median(block));
  const autotune::Interval interval = autotune::order_interval(medians);
  return {autotune::median(medians), interval.low, interval.high};
}

void warm_up_compiler(const sched::Target& target) {
  const backends::Backend& backend = backends::backend_for(target.api);
  backend.compile(backend.smallest_source(), "warm", target, backends::TextOrigin::user);
}

TrackedCase measure_case(const TrackCase& one, const MeasureOptions& options) {
  TCC_CHECK(one.kind != TrackCase::Kind::command, "measure_command measures commands");
  return Measurer(one, options).measure();
}

}  // namespace tcc::tools
