#include "autotune/self_test.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <optional>
#include <set>

#include "autotune/random_words.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "ir/reference/check.h"
#include "runtime/program.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/log.h"
#include "support/parallel.h"

namespace tcc::autotune {
namespace {

using EventKind = SelfTestEvent::Kind;
using exec::Part;
using exec::Quirk;

constexpr int kMostFaultRounds = 6;           // of faults of one sample
constexpr size_t kMostFound = 100;            // of a device
constexpr const char* kOfTest = "self-test";  // the source of what it switches off for a while
constexpr double kCliff = 4;                  // times as slow as another kernel of the same sample
constexpr const char* kLate = "no time was left";
constexpr const char* kLeft = "what computes it is switched off: ";
constexpr double kFarBelow = 25;  // times as slow as the device's estimate

// A sample's graph, compiled for a target.
struct Built {
  enum class Status : uint8_t { fine, none, failed } status = Status::none;
  std::string reason;  // of the two others
  std::shared_ptr<const ir::Graph> graph;
  std::optional<exec::Executable> executable;
  std::string main;             // the template of the kernel that the sample is about
  sched::Config config;         // of that
  std::set<std::string> units;  // that its kernels use

  bool is_fine() const { return status == Status::fine; }
};

// The inputs of a sample's kernel beside its config.
struct MainRegion {
  backends::Scheduled scheduled;
  const sched::Candidate* candidate = nullptr;
};

class SelfTest {
 public:
  SelfTest(std::shared_ptr<runtime::Device> device, const SelfTestOptions& options)
      : device_(std::move(device)), options_(options), target_(device_->target()) {
    exec::apply_quirks(target_, options_.known);
  }

  void run() {
    samples_ = wanted(self_test_samples(device_->target()));
    first_pass();
    if (!is_lost_) tell(EventKind::tested, "", "");
    // Times of a software device matter least.
    if (options_.timing && !target_.is_cpu) timed_pass();
    test_variants("other templates", [this](const SelfTestSample& sample, exec::Target target) {
      return other_templates(sample, std::move(target));
    });
    test_variants("other configs",
                  [this](const SelfTestSample& sample, const exec::Target& target) {
                    return drawn_config(sample, target);
                  });
    if (options_.timing && target_.is_cpu) timed_pass();
    if (is_lost_) return;
    if (untested_ > 0)
      tell(EventKind::untested, str(untested_, " more"),
           "of other templates, other configs and rates");
    tell(EventKind::done, "", "");
  }

 private:
  void tell(EventKind kind, const std::string& sample, const std::string& text, Quirk quirk = {}) {
    log_parts(LogLevel::info, LogChannel::device, "self-test: ", name(kind), " ", sample,
              text.empty() ? "" : ": ", text);
    if (options_.tell) options_.tell({kind, sample, text, std::move(quirk)});
  }
  std::vector<SelfTestSample> wanted(std::vector<SelfTestSample> samples) const {
    std::erase_if(samples, [&](const SelfTestSample& sample) {
      return sample.name.find(options_.filter) == std::string::npos;
    });
    return samples;
  }
  bool is_past_deadline() const { return std::chrono::steady_clock::now() >= options_.deadline; }
  bool is_late() const { return is_lost_ || is_past_deadline(); }
  bool is_skipped(const std::string& label) const {
    return std::ranges::find(options_.skip, label) != options_.skip.end();
  }

  Quirk quirk(Part part, const std::string& what, const std::string& reason) const {
    Quirk result = quirk_of(target_);
    result.off = part;
    result.what = what;
    result.reason = reason;
    return result;
  }

  // The target as the sample wants it.
  exec::Target target_of(const SelfTestSample& sample) const {
    exec::Target target = target_;
    if (!sample.unit.empty())
      std::erase_if(target.matrix_units, [&](const exec::MatrixUnit& unit) {
        return exec::to_string(unit) != sample.unit;
      });
    return target;
  }

  backends::CompileOptions compile_options(const SelfTestSample& sample) const {
    backends::CompileOptions options;
    options.cache = options_.cache;
    if (sample.tf32) options.matmul_precision = backends::MatmulPrecision::high;
    return options;
  }

  // Thread-safe.
  Built build(const SelfTestSample& sample, const exec::Target& target,
              const std::optional<sched::Config>& config = std::nullopt) const {
    Built built;
    backends::CompileOptions options = compile_options(sample);
    const sched::FixedConfig fixed(config.value_or(sched::Config()));
    if (config) options.configs = &fixed;
    try {
      built.graph = std::make_shared<const ir::Graph>(
          parse_yaml_graph(sample.text, sample.name, ".").bind({}));
      backends::schedule(*built.graph, target, options);
    } catch (const std::exception& error) {
      built.reason = error.what();
      return built;
    }
    try {
      built.executable = backends::compile(*built.graph, target, options);
    } catch (const std::exception& error) {
      built.status = Built::Status::failed;
      built.reason = str("its kernel does not compile: ", error.what());
      return built;
    }
    built.status = Built::Status::fine;
    for (const exec::KernelBinary& kernel : built.executable->kernels) {
      if (built.main.empty() ||
          (built.main == "pointwise" && kernel.template_name != "pointwise")) {
        built.main = kernel.template_name;
        built.config = parse_config(kernel.config);
      }
      built.units.insert(kernel.matrix_units.begin(), kernel.matrix_units.end());
    }
    return built;
  }

  static sched::Config parse_config(const std::string& text) {
    sched::Config config;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const size_t equal = word.find('=');
      if (equal != word.npos) config.set(word.substr(0, equal), std::atoll(&word[equal + 1]));
    }
    return config;
  }

  // The candidate that makes the kernel of `main`.
  MainRegion main_region(const SelfTestSample& sample, const exec::Target& target,
                         const std::string& main) const {
    MainRegion region;
    region.scheduled = backends::schedule(parse_yaml_graph(sample.text, sample.name, ".").bind({}),
                                          target, compile_options(sample));
    for (const sched::ScheduledRegion& one : region.scheduled.regions)
      if (one.candidate().kernel_template().name() == main && !region.candidate)
        region.candidate = &one.candidate();
    return region;
  }

  // The part that is at fault where nothing else is known.
  Quirk likely(const SelfTestSample& sample, const Built& built, const std::string& reason) const {
    if (!sample.unit.empty()) return quirk(Part::unit, sample.unit, reason);
    if (built.units.size() == 1) return quirk(Part::unit, *built.units.begin(), reason);
    return quirk(Part::kernel_template, built.main, reason);
  }

  // Buffers of the tensors, each with guards around it.
  struct Placed {
    std::vector<std::unique_ptr<runtime::Buffer>> buffers;
    std::vector<runtime::DeviceAddress> addresses;
    std::vector<int64_t> offsets;
  };
  static constexpr int64_t kGuard = 256;
  static constexpr uint8_t kAround = 0xee;

  void place(runtime::Stream& stream, const Tensor& tensor, int64_t elements_off, bool is_output,
             Placed& placed) const {
    const int64_t offset = kGuard + elements_off * size_bytes(tensor.dtype());
    auto buffer = device_->allocate(static_cast<int64_t>(tensor.bytes()) + 2 * kGuard + 64);
    stream.fill(*buffer, 0, buffer->bytes() / 4 * 4, kAround);
    if (!is_output && tensor.bytes() > 0)
      stream.copy_to_device(*buffer, offset, {tensor.data(), tensor.bytes()});
    placed.addresses.push_back(buffer->address() + static_cast<runtime::DeviceAddress>(offset));
    placed.offsets.push_back(offset);
    placed.buffers.push_back(std::move(buffer));
  }

  // Reads a tensor back; returns false where bytes around it changed.
  static bool read(runtime::Stream& stream, const runtime::Buffer& buffer, int64_t offset,
                   Tensor& tensor) {
    std::vector<std::byte> bytes(static_cast<size_t>(buffer.bytes() / 4 * 4));
    stream.copy_to_host(bytes, buffer, 0);
    const auto begin = static_cast<size_t>(offset), end = begin + tensor.bytes();
    std::memcpy(tensor.data(), &bytes[begin], tensor.bytes());
    for (size_t i = 0; i < bytes.size(); ++i)
      if ((i < begin || i >= end) && bytes[i] != std::byte{kAround}) return false;
    return true;
  }

  // The same for the same kernels of the same sample, in each process.
  static std::string identity(const SelfTestSample& sample, const Built& built) {
    Hasher hasher;
    hasher.add(sample.name);
    for (const exec::KernelBinary& kernel : built.executable->kernels) hasher.add(kernel.source);
    return hasher.hex();
  }
  // Why the sample's kernels are not run again, or "".
  std::string crash_of(const SelfTestSample& sample, const Built& built) const {
    const std::string kernel = identity(sample, built);
    for (const SelfTestCrash& crash : options_.crashes)
      if (crash.kernel == kernel) return crash.reason;
    return "";
  }

  // Runs the sample; returns what is wrong, or "".
  std::string wrong(const SelfTestSample& sample, const Built& built, const std::string& label) {
    if (!built.is_fine()) return built.reason;
    if (std::string crash = crash_of(sample, built); !crash.empty()) return crash;
    const Quirk at_fault = likely(sample, built, label);
    const std::string kernel = identity(sample, built);
    tell(EventKind::loading, label, kernel, at_fault);
    try {
      const std::vector<Tensor> inputs = draw_inputs(*built.graph, sample, options_.seed);
      const auto program = std::make_shared<const runtime::Program>(device_, *built.executable);
      runtime::Context context(program);
      runtime::Stream& stream = context.stream();
      Placed in, out;
      std::vector<Tensor> outputs;
      for (const Tensor& tensor : inputs) place(stream, tensor, sample.elements_off, false, in);
      for (const ir::Value* value : built.graph->outputs) {
        outputs.emplace_back(value->dtype(), ir::const_shape(*value));
        place(stream, outputs.back(), sample.elements_off, true, out);
      }
      tell(EventKind::running, label, kernel, at_fault);
      context.run(in.addresses, out.addresses);
      stream.synchronize();
      for (size_t i = 0; i < outputs.size(); ++i)
        if (!read(stream, *out.buffers[i], out.offsets[i], outputs[i]))
          return str("wrote outside output ", built.graph->output_names[i]);
      tell(EventKind::step, label, "reference");
      const auto compared =
          ir::check_outputs(*built.graph, inputs, outputs, {.tf32 = sample.tf32, .progress = {}});
      for (size_t i = 0; i < compared.size(); ++i)
        if (!compared[i].pass)
          return str("output ", built.graph->output_names[i], ": ", compared[i].reason);
    } catch (const std::exception& error) {
      check_device();
      return str("is refused: ", error.what());
    }
    return "";
  }

  // Notes whether the device still works after an error.
  void check_device() {
    try {
      const auto stream = device_->create_stream();
      const auto buffer = device_->allocate(64);
      stream->fill(*buffer, 0, 64, 0);
      stream->synchronize();
    } catch (const std::exception&) { is_lost_ = true; }
  }

  bool passes(const SelfTestSample& sample, const exec::Target& target,
              const std::optional<sched::Config>& config = std::nullopt) {
    tell(EventKind::step, sample.name, "what is at fault");
    const Built built = build(sample, target, config);
    return built.is_fine() && wrong(sample, built, sample.name).empty();
  }

  // The quirk that makes a sample pass, the narrowest that is found.
  Quirk blame(const SelfTestSample& sample, const exec::Target& target, const Built& built,
              const std::string& reason) {
    if (is_late() || !sample.unit.empty()) return likely(sample, built, reason);
    for (const std::string& unit : built.units) {
      exec::Target less = target;
      std::erase_if(less.matrix_units,
                    [&](const exec::MatrixUnit& one) { return exec::to_string(one) == unit; });
      if (passes(sample, less)) return quirk(Part::unit, unit, reason);
    }
    for (const std::string_view feature : exec::feature_names()) {
      if (feature == "matrix_units" || !exec::has_feature(target, feature) || is_late()) continue;
      exec::Target less = target;
      Quirk without = quirk(Part::feature, std::string(feature), reason);
      exec::apply_quirks(less, std::span(&without, 1));
      if (has_same_text(build(sample, less), built)) continue;
      if (passes(sample, less)) return without;
    }
    if (!built.main.empty())
      if (std::optional<Quirk> config = config_at_fault(sample, target, built, reason))
        return *config;
    if (!sample.feature.empty() && (built.main == "pointwise" || built.main.empty()))
      return quirk(Part::feature, sample.feature, reason);
    Quirk whole = likely(sample, built, reason);
    exec::Target less = target;
    exec::apply_quirks(less, std::span(&whole, 1));
    if (!build(sample, less).is_fine())
      whole.reason += "; nothing else computes this: such graphs do not compile";
    return whole;
  }

  static bool has_same_text(const Built& a, const Built& b) {
    if (!a.is_fine() || !b.is_fine() ||
        a.executable->kernels.size() != b.executable->kernels.size())
      return false;
    for (size_t i = 0; i < a.executable->kernels.size(); ++i)
      if (a.executable->kernels[i].source != b.executable->kernels[i].source) return false;
    return true;
  }

  std::optional<Quirk> config_at_fault(const SelfTestSample& sample, const exec::Target& target,
                                       const Built& built, const std::string& reason) try {
    const MainRegion region = main_region(sample, target, built.main);
    if (!region.candidate) return std::nullopt;
    const sched::ConfigSpace& space = region.candidate->space();
    std::optional<sched::Config> good;
    std::vector<sched::Config> others = {region.candidate->default_config()};
    for (sched::Config& config : drawn(space, 3, options_.seed))
      others.push_back(std::move(config));
    for (const sched::Config& config : others)
      if (!good && config != built.config && !is_late() && passes(sample, target, config))
        good = config;
    if (!good) return std::nullopt;
    // One value alone, in the good config.
    for (const auto& [name, value] : built.config.values()) {
      if (is_late() || !good->has(name) || (*good)[name] == value) continue;
      sched::Config one = *good;
      one.set(name, value);
      if (space.violation(one).empty() && !passes(sample, target, one))
        return quirk(Part::config, str(built.main, " ", name, "=", value), reason);
    }
    sched::Config bad = built.config;  // moves towards the good one as long as it fails
    for (const auto& [name, value] : built.config.values()) {
      if (is_late() || !good->has(name) || (*good)[name] == value) continue;
      sched::Config nearer = bad;
      nearer.set(name, (*good)[name]);
      if (space.violation(nearer).empty() && !passes(sample, target, nearer)) bad = nearer;
    }
    std::string what = built.main;
    for (const auto& [name, value] : bad.values())
      if (!good->has(name) || (*good)[name] != value) what += str(" ", name, "=", value);
    if (what == built.main) return std::nullopt;  // the good one fails now and then
    return quirk(Part::config, what, reason);
  } catch (const Error&) { return std::nullopt; }

  // Different legal configs of the space.
  static std::vector<sched::Config> drawn(const sched::ConfigSpace& space, size_t count,
                                          uint64_t seed) {
    RandomWords random(seed);
    return space.draw([&] { return random.next(); }, count);
  }

  void switch_off(const Quirk& quirk) {
    exec::apply_quirks(target_, std::span(&quirk, 1));
    ++generation_;
    ++found_;
  }

  // Tests what `build_again` gives until it is right or nothing is left. Returns why no kernel was
  // right in the end, or "".
  template <class Build>
  std::string test(const SelfTestSample& sample, const std::string& label, Built built,
                   const exec::Target& target, const Build& build_again) {
    exec::Target now = target;
    for (int round = 0; round < kMostFaultRounds; ++round) {
      if (built.status == Built::Status::none) return str(kLeft, built.reason);
      const std::string reason = wrong(sample, built, label);
      if (reason.empty()) {
        tell(EventKind::passed, label, built.main);
        return "";
      }
      if (found_ >= kMostFound) return "too much is wrong: " + reason;
      if (is_lost_) {
        tell(EventKind::found, label, reason, likely(sample, built, str(label, ": ", reason)));
        tell(EventKind::lost, label, reason);
        return "";  // the next process tests it
      }
      const Quirk found = blame(sample, now, built, str(label, ": ", reason));
      tell(EventKind::found, label, reason, found);
      switch_off(found);
      exec::apply_quirks(now, std::span(&found, 1));
      if (is_late()) return kLate;
      built = build_again(now);
    }
    return "it is wrong with all of these switched off, too";
  }

  // The samples from `first` on, compiled in the background.
  struct Batch {
    size_t first = 0;
    int generation = 0;
    std::future<std::vector<Built>> built;
  };

  Batch batch_from(size_t first) const {
    const size_t most = std::max<size_t>(16, 2 * static_cast<size_t>(parallelism()));
    std::vector<exec::Target> targets;  // target_ may change meanwhile
    for (size_t i = first; i < std::min(first + most, samples_.size()); ++i)
      targets.push_back(target_of(samples_[i]));
    auto work = [this, first, targets = std::move(targets)] {
      std::vector<Built> all(targets.size());
      parallel_for(0, std::ssize(targets), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto at = static_cast<size_t>(i);
          const SelfTestSample& sample = samples_[first + at];
          if (!is_skipped(sample.name)) all[at] = build(sample, targets[at]);
        }
      });
      return all;
    };
    return {first, generation_, std::async(std::launch::async, std::move(work))};
  }

  // Every sample by the kernels that programs would use.
  void first_pass() {
    if (samples_.empty()) return;
    Batch next = batch_from(0);
    for (;;) {
      tell(EventKind::step, samples_[next.first].name, "compiling");
      const size_t first = next.first;
      const int generation = next.generation;
      std::vector<Built> all = next.built.get();
      const size_t end = first + all.size();
      if (end < samples_.size() && !is_late()) next = batch_from(end);
      for (size_t i = 0; i < all.size(); ++i)
        first_test(samples_[first + i], std::move(all[i]), generation);
      if (end == samples_.size()) return;
      if (!next.built.valid()) {
        for (size_t i = end; i < samples_.size(); ++i)
          tell(EventKind::untested, samples_[i].name, kLate);
        return;
      }
    }
  }

  void first_test(const SelfTestSample& sample, Built built, int generation) {
    if (is_skipped(sample.name)) return;
    if (is_late()) {
      tell(EventKind::untested, sample.name, kLate);
      return;
    }
    if (generation != generation_) built = build(sample, target_of(sample));
    const bool is_used = sample.unit.empty() || built.units.contains(sample.unit) ||
                         built.status == Built::Status::failed;
    if (built.status == Built::Status::none && is_left_by_templates(sample)) {
      tell(EventKind::untested, sample.name, str(kLeft, built.reason));
      return;
    }
    if (built.status == Built::Status::none || !is_used) {
      tell(EventKind::unneeded, sample.name, is_used ? built.reason : "no template uses this unit");
      return;
    }
    const std::string why = test(sample, sample.name, std::move(built), target_of(sample),
                                 [&](const exec::Target& target) { return build(sample, target); });
    if (!why.empty()) tell(EventKind::untested, sample.name, why);
  }

  // Whether a kernel would compute the sample but for the templates and configs that are off.
  bool is_left_by_templates(const SelfTestSample& sample) const {
    exec::Target target = target_of(sample);
    if (std::erase_if(target.switched_off, [](const exec::SwitchedOff& off) {
          return off.part == Part::kernel_template || off.part == Part::config;
        }) == 0)
      return false;
    return build(sample, target).status != Built::Status::none;
  }

  static void without_template(exec::Target& target, const std::string& name) {
    target.switched_off.push_back({Part::kernel_template, name, kOfTest, "another is tested"});
  }

  // A kernel of a sample beside the one that programs use: of another template or config.
  struct Variant {
    std::string label;
    exec::Target target;
    std::optional<sched::Config> config;
    Built built;
  };

  // Those of the templates that would take the sample if the one before was switched off.
  // Thread-safe, as the next one.
  std::vector<Variant> other_templates(const SelfTestSample& sample, exec::Target target) const {
    constexpr int kMostLevels = 5;
    std::vector<Variant> all;
    if (!sample.unit.empty() || sample.values == SampleValues::tiny) return all;
    for (int level = 0; level < kMostLevels && !is_past_deadline(); ++level) {
      Built built = build(sample, target);
      if (!built.is_fine() || built.main == "pointwise" || built.main == "external") break;
      const std::string main = built.main;
      const std::string label = str(sample.name, ", by ", main);
      if (level > 0 && !is_skipped(label))
        all.push_back({label, target, std::nullopt, std::move(built)});
      without_template(target, main);
    }
    return all;
  }

  // One of a config that the analytic model would not choose.
  std::vector<Variant> drawn_config(const SelfTestSample& sample, const exec::Target& target) const
      try {
    const Built usual = build(sample, target);
    if (!usual.is_fine() || (!sample.unit.empty() && !usual.units.contains(sample.unit))) return {};
    const MainRegion region = main_region(sample, target, usual.main);
    if (!region.candidate) return {};
    const auto configs =
        drawn(region.candidate->space(), 1, stream_seed(options_.seed, sample.name));
    if (configs.empty() || configs[0] == usual.config) return {};
    const std::string label = str(sample.name, ", by ", usual.main, " ", configs[0].to_string());
    if (is_skipped(label)) return {};
    Built built = build(sample, target, configs[0]);
    // A config that the space allows and the compiler refuses is a fault, too.
    if (built.main.empty()) built.main = usual.main;
    if (built.config.values().empty()) built.config = configs[0];
    std::vector<Variant> all;
    all.push_back({label, target, configs[0], std::move(built)});
    return all;
  } catch (const Error&) { return {}; }

  // Compiles what `find` finds of each sample, on all cores, and tests it.
  template <class Find>
  void test_variants(const char* what, const Find& find) {
    const size_t batch = static_cast<size_t>(parallelism());
    for (size_t first = 0; first < samples_.size(); first += batch) {
      const size_t count = std::min(batch, samples_.size() - first);
      if (is_late()) {
        untested_ += static_cast<int>(count);
        continue;
      }
      tell(EventKind::step, samples_[first].name, what);
      const int generation = generation_;
      std::vector<std::vector<Variant>> found(count);
      parallel_for(0, static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const SelfTestSample& sample = samples_[first + static_cast<size_t>(i)];
          found[static_cast<size_t>(i)] = find(sample, target_of(sample));
        }
      });
      for (size_t i = 0; i < count; ++i)
        for (Variant& variant : found[i]) {
          if (is_late())
            ++untested_;
          else
            test_variant(samples_[first + i], std::move(variant), generation);
        }
    }
  }

  void test_variant(const SelfTestSample& sample, Variant variant, int generation) {
    const auto again = [&](const exec::Target& now) {
      // A config that is switched off is not built again: the default takes its place.
      return build(sample, now, variant.config);
    };
    if (generation != generation_) {  // of what was found meanwhile
      exec::Target target = target_of(sample);
      for (const exec::SwitchedOff& one : variant.target.switched_off)
        if (one.source == kOfTest) target.switched_off.push_back(one);
      variant.target = std::move(target);
      variant.built = again(variant.target);
    }
    const exec::Target target = variant.target;
    test(sample, variant.label, std::move(variant.built), target, again);
  }

  // Device seconds of a run, the least of some; infinity where it does not run.
  double seconds(const SelfTestSample& sample, const Built& built) {
    constexpr int kRuns = 4;
    double least = std::numeric_limits<double>::infinity();
    if (!built.is_fine() || !crash_of(sample, built).empty()) return least;
    const Quirk at_fault = likely(sample, built, sample.name);
    const std::string kernel = identity(sample, built);
    tell(EventKind::loading, sample.name, kernel, at_fault);
    try {
      runtime::Context context(
          std::make_shared<const runtime::Program>(device_, *built.executable));
      tell(EventKind::running, sample.name, kernel, at_fault);
      context.run(draw_inputs(*built.graph, sample, options_.seed));
      for (int i = 0; i < kRuns; ++i) {
        double sum = 0;
        for (const double one : context.time_steps()) sum += one;
        if (sum > 0) least = std::min(least, sum);
      }
    } catch (const std::exception& error) {
      check_device();
      const std::string reason = str("is refused: ", error.what());
      if (is_lost_)
        tell(EventKind::found, sample.name, reason,
             likely(sample, built, str(sample.name, ": ", reason)));
    }
    tell(EventKind::step, sample.name, "timed");
    return least;
  }

  // Kernels that another one of the same sample is far faster than.
  void timed_pass() {
    for (const SelfTestSample& sample : wanted(self_test_timed_samples(device_->target()))) {
      const std::string& label = sample.name;
      if (is_skipped(label)) continue;
      for (int round = 0; round < 3; ++round) {
        if (is_late()) {
          ++untested_;
          break;
        }
        tell(EventKind::step, label, "compiling");
        const Built built = build(sample, target_);
        const double own = seconds(sample, built);
        if (!std::isfinite(own)) break;
        std::optional<Quirk> cliff = faster_rival(sample, built, own);
        if (!cliff) {
          tell_rate(sample, built, own);
          break;
        }
        tell(EventKind::slow, label, cliff->reason, *cliff);
        switch_off(*cliff);
      }
    }
  }

  static std::string microseconds(double seconds) { return str(std::lround(seconds * 1e6), " us"); }

  // Says how the kernel's time compares with the estimate.
  void tell_rate(const SelfTestSample& sample, const Built& built, double own) {
    double estimate = 0;
    try {
      const MainRegion region = main_region(sample, target_, built.main);
      if (region.candidate) estimate = region.candidate->estimate(built.config);
    } catch (const Error&) {}
    const std::string times =
        str(built.main, " took ", microseconds(own), ", estimated ", microseconds(estimate));
    if (!target_.is_cpu && estimate > 0 && own > kFarBelow * estimate)
      tell(EventKind::slow, sample.name,
           times + "; no other kernel is faster, nothing is switched off");
    else
      tell(EventKind::passed, sample.name, times);
  }

  std::optional<Quirk> faster_rival(const SelfTestSample& sample, const Built& built, double own) {
    // Times of one kernel differ by less than that.
    const auto beats = [&](const Built& rival) {
      return !is_late() && own > kCliff * seconds(sample, rival) &&
             seconds(sample, built) > kCliff * seconds(sample, rival);
    };
    const auto reason = [&](const std::string& rival) {
      return str(sample.name, ": took ", microseconds(own), ", more than ", kCliff,
                 " times as long as ", rival);
    };
    if (!built.units.empty() && !target_.is_cpu) {
      exec::Target less = target_;
      std::erase_if(less.matrix_units, [&](const exec::MatrixUnit& unit) {
        return built.units.contains(exec::to_string(unit));
      });
      const Built rival = build(sample, less);
      if (rival.is_fine() && rival.units != built.units && beats(rival))
        return quirk(Part::unit, *built.units.begin(), reason("without it"));
    }
    for (const sched::Config& config : rival_configs(sample, built)) {
      const Built rival = build(sample, target_, config);
      if (rival.config == config && beats(rival))
        return quirk(Part::config, str(built.main, " ", built.config.to_string()),
                     reason(config.to_string()));
    }
    if (built.main == "pointwise") return std::nullopt;
    exec::Target less = target_;
    without_template(less, built.main);
    const Built rival = build(sample, less);
    if (rival.is_fine() && beats(rival))
      return quirk(Part::kernel_template, built.main, reason(rival.main));
    return std::nullopt;
  }

  // Those that the cost model thinks most of, of some that are drawn.
  std::vector<sched::Config> rival_configs(const SelfTestSample& sample, const Built& built) {
    constexpr size_t kDrawn = 48, kTried = 2;
    try {
      const MainRegion region = main_region(sample, target_, built.main);
      if (!region.candidate) return {};
      std::vector<sched::Config> configs = drawn(region.candidate->space(), kDrawn, options_.seed);
      std::erase(configs, built.config);
      std::ranges::sort(configs, {}, [&](const sched::Config& config) {
        return region.candidate->estimate(config);
      });
      configs.resize(std::min(configs.size(), kTried));
      return configs;
    } catch (const Error&) { return {}; }
  }

  const std::shared_ptr<runtime::Device> device_;
  const SelfTestOptions& options_;
  exec::Target target_;  // without what was found
  std::vector<SelfTestSample> samples_;
  int generation_ = 0;  // of target_
  size_t found_ = 0;
  int untested_ = 0;
  bool is_lost_ = false;
};

std::string pattern_of(std::string text) {
  for (char& c : text)
    if (c == '|' || static_cast<unsigned char>(c) < 0x20) c = '?';
  return text;
}

}  // namespace

std::string_view name(SelfTestEvent::Kind kind) {
  switch (kind) {
    case EventKind::step: return "step";
    case EventKind::loading: return "loading";
    case EventKind::running: return "running";
    case EventKind::passed: return "passed";
    case EventKind::found: return "found";
    case EventKind::slow: return "slow";
    case EventKind::unneeded: return "unneeded";
    case EventKind::untested: return "untested";
    case EventKind::tested: return "tested";
    case EventKind::lost: return "lost";
    case EventKind::done: return "done";
  }
  return "";
}

Quirk quirk_of(const exec::Target& target) {
  const exec::DriverVersion driver = exec::driver_version(target.driver);
  Quirk quirk;
  quirk.api = exec::name(target.api);
  quirk.device = pattern_of(target.device.empty() ? "*" : target.device);
  quirk.driver = pattern_of(driver.name);
  quirk.low = quirk.high = driver.version;
  if (quirk.driver.empty() && driver.version.empty()) quirk.driver = "*";
  return quirk;
}

void self_test(const std::shared_ptr<runtime::Device>& device, const SelfTestOptions& options) {
  SelfTest(device, options).run();
}

}  // namespace tcc::autotune
