// tcc-run: compiles a graph for a device and runs it: outputs, checks against the reference,
// timings.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>

#include "autotune/tuning_files.h"
#include "backends/backend.h"
#include "backends/build_executable.h"
#include "backends/pipeline.h"
#include "executable/package.h"
#include "frontend/graph_file.h"
#include "frontend/state_file.h"
#include "frontend/yaml/graph_writer.h"
#include "ir/append.h"
#include "ir/counted_dims.h"
#include "ir/passes/single_run.h"
#include "ir/reference/check.h"
#include "ir/reference/interpreter.h"
#include "ir/sizes.h"
#include "runtime/program.h"
#include "support/error.h"
#include "support/file.h"
#include "support/json_writer.h"
#include "support/log.h"
#include "support/plural.h"
#include "tools/bench_report.h"
#include "tools/compile_options.h"
#include "tools/dumps.h"
#include "tools/graph_runs.h"
#include "tools/help.h"
#include "tools/long_work.h"
#include "tools/open_device.h"
#include "tools/ops_check.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/run_info.h"
#include "tools/run_package.h"
#include "tools/run_sizes.h"
#include "tools/run_states.h"
#include "tools/tensors.h"

namespace tcc::tools {
namespace {

struct RunProgramOptions {
  std::string graph, device = "auto", outputs, emit, public_key;
  std::string check;  // check: "outputs", "ops", or ""
  std::vector<std::string> dims, at, tuning;
  InputOptions inputs;
  StateFiles states;
  CompileOptions compile;
  DumpOptions dump;
  uint64_t seed = 0;
  bool json = false, no_cache = false;
  int bench = 0, runs = 1;
};

class ProgramRun {
 public:
  explicit ProgramRun(const RunProgramOptions& options) : options_(options) {}

  int run() {
    check_options();
    check_can_write("--outputs", options_.outputs);
    check_state_files(options_.states);
    make_emit_folder();
    load();
    if (!options_.emit.empty()) write_yaml_graph(graph_, options_.emit);
    if (options_.device != "reference") compile();
    bool all_passed = true;
    for (const ir::Numbers& sizes : sizes_) {
      if (&sizes != &sizes_.front()) begin(sizes);
      if (options_.device == "reference")
        interpret();
      else
        execute();
      if (!options_.outputs.empty()) save_outputs(bound(), outputs_, options_.outputs);
      if (!options_.states.save.empty())
        tcc::save_states(options_.states.save, state_types(), [&](size_t k) { return states_[k]; });
      report();
      all_passed &= passed_;
    }
    if (options_.json) print_reports(reports_);
    return all_passed ? 0 : static_cast<int>(ErrorKind::check_failed);
  }

 private:
  void check_options() const {
    if (!options_.check.empty() && options_.check != "outputs" && options_.check != "ops")
      fail_input("--check=", options_.check, ": must be outputs (the default) or ops");
    if (options_.device == "reference") {
      if (options_.check == "ops") fail_input("--check=ops: the reference has no kernels");
      if (options_.bench > 0) fail_input("--bench: the reference has no kernels");
    }
    if (options_.device != "null") return;
    if (!options_.check.empty()) fail_input("--check: the null device computes nothing");
    if (!options_.outputs.empty()) fail_input("--outputs: the null device computes nothing");
    if (!options_.states.save.empty())
      fail_input("--save-states: the null device computes nothing");
  }

  void make_emit_folder() const {
    if (options_.emit.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(options_.emit, error);
    if (error) fail_input("--emit ", options_.emit, ": ", error.message());
    std::filesystem::path source = std::filesystem::path(options_.graph).parent_path();
    if (source.empty()) source = ".";
    if (std::filesystem::equivalent(source, options_.emit, error))
      fail_input("--emit ", options_.emit,
                 ": is the graph's own folder, where graph.yaml or weights could be overwritten");
  }

  void load() {
    set_compile_options(options_.compile, compile_);
    const InputFiles& files = files_.emplace(options_.inputs);
    set_dims(options_.dims, options_.compile, compile_);
    graph_ = load_graph(options_.graph, graph_file_options(compile_, files, options_.inputs));
    check_dims(compile_, graph_);
    equal_ = settle_dims("tcc-run", graph_, compile_);
    const std::vector<ir::Numbers> at = parse_at(options_.at);
    check_one_run(at.size(), options_.outputs, options_.states.save);
    for (const ir::Numbers& sizes : at) sizes_.push_back(sizes_of_run(files, sizes));
    say_default_dims("tcc-run", options_.graph, graph_, compile_.open_dims);
    if (options_.check == "ops" && !graph_.states.empty())
      fail_input("--check=ops: ", options_.graph,
                 " has states, which kernels write while others run; --check compares them");
    check_outputs_path(options_.outputs, graph_.outputs.size());
    check_has_states(options_.states, options_.graph, !graph_.states.empty());
    begin(sizes_.front());
    say_drawn_inputs("tcc-run", bound(), files);
  }

  // Begins what runs at some sizes: from the first states, on inputs of these sizes.
  void begin(const ir::Numbers& sizes) {
    open_sizes_.clear();
    for (const auto& [name, range] : compile_.open_dims)
      if (!ir::state_of_length(graph_, name) && sizes.contains(name))
        open_sizes_[name] = sizes.at(name);
    passed_ = true;
    comparisons_.clear();
    runs_.emplace(graph_, sizes, compile_);
    if (!options_.states.load.empty()) runs_->load_states(options_.states.load);
    inputs_ = load_inputs("tcc-run", bound(), *files_, options_.seed);
  }

  const ir::Graph& bound() const { return runs_->bound(); }

  std::vector<NamedType> state_types() const {
    std::vector<NamedType> types;
    for (size_t i = 0; i < states_.size(); ++i)
      types.push_back({bound().states[i]->name, {states_[i].dtype(), states_[i].shape()}});
    return types;
  }

  // The dims of a run: open ones have the sizes of `at` and of given inputs, or else those that
  // estimates take.
  ir::Numbers sizes_of_run(const InputFiles& files, const ir::Numbers& at) {
    ir::Numbers numbers = compile_.dims;
    RunSizes known;
    for (const auto& [name, size] : at) {
      if (const auto equal = equal_.find(name); equal != equal_.end())
        refuse_equal_dim(name, size, equal->second);
      ir::refuse_counted(graph_, name, str("--at ", name, "=", size));
      if (!compile_.open_dims.contains(name))
        fail_input("--at ", name, "=", size, ": --dim does not leave '", name, "' open");
      if (const ir::Value* state = ir::state_of_length(graph_, name))
        fail_input("--at ", name, "=", size, ": it is the length of state '", state->name, "'");
      known[name] = {size, "--at"};
    }
    const std::vector<ir::CountedDim> counted = ir::counted_dims(graph_);
    const auto is_counted = [&](const std::string& name) {
      return std::ranges::count(counted, name, &ir::CountedDim::name) > 0;
    };
    std::vector<RunDim> dims;
    for (const auto& [name, usual] : graph_.dims) {
      if (is_counted(name)) continue;
      const auto open = compile_.open_dims.find(name);
      const ir::SizeRange range = open == compile_.open_dims.end() ? ir::SizeRange() : open->second;
      const ir::Value* grown = ir::state_of_length(graph_, name);
      if (const auto given = numbers.find(name); given != numbers.end())
        known[name] = {given->second, "--dim"};
      else if (open == compile_.open_dims.end())
        known[name] = {usual, str("the graph's default (--dim ", name, "=N gives another)")};
      else if (grown)
        known[name] = first_length_of(*grown, name, range);
      dims.push_back({name, name, 1, range});
    }
    std::vector<RunInput> inputs;
    for (const ir::Value* input : graph_.inputs) inputs.push_back({input->name, input->shape()});
    add_sizes_of_inputs(inputs, dims, files, known);
    for (const auto& [name, range] : compile_.open_dims)
      if (const auto size = known.find(name); size != known.end())
        numbers[name] = size->second.size;
    std::erase_if(numbers, [&](const auto& entry) { return is_counted(entry.first); });
    if (sizes_.empty()) say_sizes_taken(numbers, is_counted);
    if (options_.check == "ops" && !compile_.specialize.empty())
      fail_input(
          "--check=ops: compares the kernels for all sizes, not those for some that "
          "--specialize makes: leave it out, or give --dim these sizes");
    ir::Numbers sizes = ir::usual_sizes(graph_, numbers, compile_.open_dims);
    std::erase_if(sizes, [&](const auto& entry) { return is_counted(entry.first); });
    return sizes;
  }

  RunSize first_length_of(const ir::Value& state, const std::string& dim,
                          const ir::SizeRange& range) const {
    const auto is_its = [&](const auto& node) {
      return ir::appends(*node) && node->stored_in() == &state;
    };
    const auto append = std::ranges::find_if(graph_.nodes(), is_its);
    return first_length(state.name, static_cast<size_t>(ir::append_of(**append).dim), dim, range,
                        options_.states.load);
  }

  // Says in one line which sizes nothing gives.
  template <class IsCounted>
  void say_sizes_taken(const ir::Numbers& given, const IsCounted& is_counted) const {
    const ir::Numbers taken = ir::usual_sizes(graph_, given, compile_.open_dims);
    std::string list, example;
    for (const auto& [name, range] : compile_.open_dims) {
      if (given.contains(name) || is_counted(name)) continue;
      list += str(list.empty() ? "" : ", ", name, " = ", taken.at(name));
      if (example.empty()) example = name;
    }
    if (!list.empty())
      std::cerr << "tcc-run: note: this run has " << list << " (--at " << example
                << "=N gives another size)\n";
  }

  // Runs as often as asked, by `once`, which sets outputs_ and, where it is told that they are
  // needed, states_. With --check it ends with the first run that is not as in the reference.
  template <class Once>
  void run_all(const Once& once) {
    for (num_runs_ = 1;; ++num_runs_) {
      const bool is_last = num_runs_ == options_.runs;
      once(is_last || !options_.check.empty());
      if (!options_.check.empty()) check_run();
      if (is_last || !passed_) return;
      runs_->end(states_);
      runs_->begin();
      if (runs_->grows()) inputs_ = load_inputs("tcc-run", bound(), *files_, options_.seed);
    }
  }

  void interpret() {
    run_all([&](bool) {
      std::vector<ir::RefTensor> given;
      for (const Tensor& tensor : inputs_) given.push_back(ir::to_ref(tensor));
      const auto start = std::chrono::steady_clock::now();
      const std::vector<ir::RefTensor> results =
          ir::interpret(ir::single_run(bound(), runs_->states()), given, ir::RefMode::stepwise);
      if (num_runs_ == 1) run_seconds_ = seconds_since(start);
      outputs_.clear();
      states_.clear();
      for (size_t i = 0; i < results.size(); ++i)
        (i < bound().outputs.size() ? outputs_ : states_).push_back(ir::to_tensor(results[i]));
    });
  }

  void compile() {
    auto device = open_device("tcc-run", options_.device);
    device_ = device;
    backends::KernelCache cache(options_.no_cache ? std::filesystem::path()
                                                  : default_cache_folder());
    std::vector<std::filesystem::path> folders(options_.tuning.begin(), options_.tuning.end());
    const auto warn = [](const std::string& warning) { log_warning(LogChannel::tuning, warning); };
    const autotune::TuningFiles tuning =
        autotune::open_tuning_files(folders, device->target().api, default_cache_folder(), warn);
    compile_.configs = &tuning;
    compile_.plan = &tuning;
    compile_.cache = &cache;
    dump_stages();
    auto start = std::chrono::steady_clock::now();
    scheduled_ = backends::schedule(graph_, device->target(), compile_);
    exec::Executable executable =
        backends::build_executable(scheduled_, device->target(), compile_);
    backends::add_variants(executable, graph_, device->target(), compile_);
    tuning.warn_of_illegal(warn);
    compile_seconds_ = seconds_since(start);
    if (!options_.emit.empty()) write_sources(executable);
    start = std::chrono::steady_clock::now();
    program_ = std::make_shared<const runtime::Program>(device, std::move(executable));
    load_seconds_ = seconds_since(start);
  }

  void execute() {
    runtime::Context context(program_, nullptr, open_sizes_);
    if (!options_.states.load.empty())
      for (size_t i = 0; i < runs_->states().size(); ++i) context.set_state(i, runs_->states()[i]);
    ran_ = &context.program_at_hand();
    arena_bytes_ = context.arena_bytes();
    step_counts_ = context.step_counts();
    run_all([&](bool needs_states) {
      const auto begin = std::chrono::steady_clock::now();
      outputs_ = context.run(inputs_);
      if (num_runs_ == 1) run_seconds_ = seconds_since(begin);
      if (context.reads_sizes()) {  // which are known now
        arena_bytes_ = context.arena_bytes();
        step_counts_ = context.step_counts();
        for (size_t i = 0; i < context.dims().size(); ++i)
          counted_[program_->executable().dims[i].name] = context.dims()[i];
      }
      states_.clear();
      for (size_t i = 0; needs_states && i < bound().states.size(); ++i)
        states_.push_back(context.state(i));
    });
    if (options_.bench > 0) {
      // States may have grown: the report is of the sizes that are measured.
      ran_ = &context.program_at_hand();
      step_counts_ = context.step_counts();
      bench_ = measure(context, ran_->executable(), options_.bench);
    }
  }

  void dump_stages() {
    compile_.dump = dump_function(options_.dump, options_.json);
    compile_.explain_fusion = explain_function(options_.dump, options_.json);
  }

  void write_sources(const exec::Executable& executable) const {
    std::string ending = backends::backend_for(executable.target.api).dialect().emit_ending;
    for (size_t i = 0; i < executable.kernels.size(); ++i) {
      char number[24];
      std::snprintf(number, sizeof number, "%03zu", i);
      write_file_atomic(std::filesystem::path(options_.emit) /
                            (std::string(number) + "_" + executable.kernels[i].region + ending),
                        executable.kernels[i].comment + executable.kernels[i].source);
    }
  }

  // Compares what the run at hand left with what the reference makes of the states before it.
  void check_run() {
    const bool tf32 = compile_.matmul_precision != backends::MatmulPrecision::highest;
    if (options_.check == "ops" && num_runs_ == 1) {
      LongWork work("tcc-run: checking every kernel");
      ops_ = check_ops(scheduled_, program_, inputs_, tf32, [&](double share) { work.at(share); });
      passed_ &= ops_->differ == 0;
    }
    LongWork work("tcc-run: checking with the reference");
    std::vector<Tensor> results = outputs_;
    results.insert(results.end(), states_.begin(), states_.end());
    comparisons_ =
        ir::check_outputs(ir::single_run(bound(), runs_->states()), inputs_, results,
                          {.tf32 = tf32, .progress = [&](double share) { work.at(share); }});
    for (const ir::Comparison& c : comparisons_) passed_ &= c.pass;
  }

  void report() {
    if (options_.json) {
      reports_.push_back(json());
      return;
    }
    if (sizes_.size() > 1) std::cout << sizes_text(open_sizes_) << ":\n";
    if (options_.runs > 1 && !passed_)
      std::cout << "run " << num_runs_ << " of " << options_.runs
                << " is not as in the reference:\n";
    for (size_t i = 0; i < num_results(); ++i) {
      std::cout << (i < outputs_.size() ? "" : "state ") << result_name(i) << ": "
                << ir::to_string(result_type(i));
      if (i < comparisons_.size()) {
        const ir::Comparison& c = comparisons_[i];
        std::cout << "  " << (c.pass ? "ok" : "MISMATCH") << "  max abs " << c.max_abs
                  << ", max rel " << c.max_rel << ", rmse " << c.rmse_out << " of " << c.limit;
        if (!c.pass) std::cout << "  " << c.reason;
      }
      const std::string_view emptiness = emptiness_of(result(i));
      if (!emptiness.empty()) std::cout << "  (all elements are " << emptiness << ")";
      std::cout << "\n";
    }
    if (ops_) std::cout << ops_check_text(*ops_);
    say_if_passes_differ();
    if (!program_) return;
    const exec::Executable& e = ran_->executable();
    std::cout << device_->name() << ": " << launches_text(e, step_counts_)
              << (ran_ == program_.get() ? "" : " of the variant for these sizes") << ", arena "
              << format_bytes(static_cast<double>(arena_bytes_)) << ", compiled in "
              << format_seconds(compile_seconds_) << ", loaded in " << format_seconds(load_seconds_)
              << "\n";
    if (options_.bench > 0) std::cout << bench_table(bench_, e) << sizes_table(e, step_counts_);
  }

  // The outputs, then the states after the last run.
  size_t num_results() const { return outputs_.size() + states_.size(); }
  const Tensor& result(size_t i) const {
    return i < outputs_.size() ? outputs_[i] : states_[i - outputs_.size()];
  }
  const std::string& result_name(size_t i) const {
    return i < outputs_.size() ? bound().output_names[i]
                               : bound().states[i - outputs_.size()]->name;
  }
  ir::Type result_type(size_t i) const {
    const std::vector<int64_t>& shape = result(i).shape();
    return {result(i).dtype(), ir::Shape(shape.begin(), shape.end())};
  }

  // Every kernel does what the graph after the passes says, but the outputs are not those of the
  // graph before them.
  void say_if_passes_differ() const {
    const bool outputs_pass =
        std::ranges::all_of(comparisons_, [](const auto& comparison) { return comparison.pass; });
    if (ops_ && ops_->differ == 0 && !outputs_pass)
      std::cout << "every kernel agrees with the graph that it was made of: look at what the "
                   "passes did to the graph (--dump-after all)\n";
  }

  void add_options(JsonWriter& json) const {
    json.key("dims").begin_object();
    for (const auto& [name, extent] : bound().dims) {
      const auto known = counted_.find(name);  // by the last run
      json.member(name, known == counted_.end() ? extent : known->second);
    }
    json.end_object().key("options").begin_object();
    json.key("dtype");
    if (options_.compile.dtype.empty())
      json.null();
    else
      json.value(options_.compile.dtype);
    json.member("matmul_precision", options_.compile.matmul_precision)
        .member("strict_rounding", options_.compile.strict_rounding)
        .member("fuse", options_.compile.fuse)
        .member("seed", options_.seed)
        .key("tuning")
        .begin_array();
    for (const std::string& path : options_.tuning) json.value(path);
    json.end_array().end_object();
  }

  void add_result(JsonWriter& json, size_t i) const {
    json.begin_object()
        .member("name", result_name(i))
        .member("type", ir::to_string(result_type(i)));
    if (i < comparisons_.size()) {
      const ir::Comparison& c = comparisons_[i];
      json.member("pass", c.pass)
          .member("max_abs", c.max_abs)
          .member("max_rel", c.max_rel)
          .member("rmse", c.rmse_out)
          .member("rmse_stepwise", c.rmse_stepwise)
          .member("noise", c.noise)
          .member("limit", c.limit);
      if (!c.pass) json.member("reason", c.reason);
    }
    json.member("all", emptiness_of(result(i))).end_object();
  }

  std::string json() const {
    JsonWriter json(JsonWriter::Style::indented);
    json.begin_object().member("tcc_run", 1);
    add_made_by(json);
    json.member("graph", graph_.name).member("file", options_.graph);
    add_options(json);
    if (device_)
      add_device(json, *device_);
    else
      json.key("device").begin_object().member("name", "reference").end_object();
    json.member("seconds_run", run_seconds_);
    if (program_) {
      const exec::Executable& e = ran_->executable();
      json.member("target", e.target.id());
      launches_json(json, e, step_counts_);
      json.member("arena_bytes", arena_bytes_)
          .member("live_bytes_peak", e.live_bytes_peak.usual())
          .member("constant_bytes", program_->constant_bytes());
      json.member("seconds_compile", compile_seconds_).member("seconds_load", load_seconds_);
      if (options_.bench > 0) bench_json(json, bench_, e);
    }
    json.key("outputs").begin_array();
    for (size_t i = 0; i < outputs_.size(); ++i) add_result(json, i);
    json.end_array();
    if (!states_.empty()) {
      json.member("runs", num_runs_).key("states").begin_array();
      for (size_t i = outputs_.size(); i < num_results(); ++i) add_result(json, i);
      json.end_array();
    }
    if (ops_) ops_check_json(json, *ops_);
    if (!options_.check.empty()) json.member("pass", passed_);
    json.end_object();
    return json.text();
  }

  const RunProgramOptions& options_;
  ir::Graph graph_;
  std::optional<InputFiles> files_;
  std::optional<GraphRuns> runs_;
  backends::CompileOptions compile_;
  ir::DimExpressions equal_;              // dims that are expressions of others
  std::vector<Tensor> inputs_, outputs_;  // of the run at hand
  std::vector<Tensor> states_;            // after it
  int num_runs_ = 0;                      // so far
  std::vector<ir::Comparison> comparisons_;
  std::shared_ptr<const runtime::Program> program_;
  std::shared_ptr<runtime::Device> device_;
  backends::Scheduled scheduled_;
  std::vector<ir::Numbers> sizes_;         // of all dims, for each of the runs that --at names
  std::vector<std::string> reports_;       // of these, in JSON
  exec::Dims open_sizes_;                  // of the run at hand
  const runtime::Program* ran_ = nullptr;  // program_ or a variant
  int64_t arena_bytes_ = 0;                // at the sizes of the first run
  std::vector<int> step_counts_;           // by these sizes
  ir::Numbers counted_;                    // sizes of the last run that read some
  std::optional<OpsCheck> ops_;
  BenchResult bench_;
  double compile_seconds_ = 0, load_seconds_ = 0, run_seconds_ = 0;
  bool passed_ = true;
};

// A package has neither a graph nor a compiler: options that are of no use to it are refused.
int run_given_package(const CLI::App& app, const RunProgramOptions& options) {
  constexpr std::array kUsed = {"at",      "device",      "input",       "inputs",
                                "seed",    "runs",        "json",        "bench",
                                "outputs", "load-states", "save-states", "public-key"};
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (std::ranges::find(kUsed, name) == kUsed.end())
      fail_input("--", name, ": ", options.graph, " is a package, which is compiled already",
                 name == "dim" ? "; --at NAME=N gives the size of an open dim" : "");
  }
  RunPackageOptions package;
  package.package = options.graph;
  package.device = options.device;
  package.outputs = options.outputs;
  if (app.count("--public-key") > 0) package.public_key = options.public_key;
  package.states = options.states;
  package.at = options.at;
  package.inputs = options.inputs;
  package.seed = options.seed;
  package.runs = options.runs;
  package.bench = options.bench;
  package.json = options.json;
  return run_package(package);
}

}  // namespace

int run_main(int argc, char** argv) {
  CLI::App app("Compiles a graph and runs it on a device.", "tcc-run");
  RunProgramOptions options;
  app.add_option("GRAPH", options.graph, "graph file (.yaml or .onnx), or a package (.tccpkg)")
      ->required();
  app.add_option("--public-key", options.public_key,
                 "run the package only if its author signed it by minisign (PACKAGE.minisig): the "
                 "file of the public key, or the key itself, RW...");
  app.add_option("--device", options.device,
                 "auto, cuda:N, vulkan:N, null (computes nothing) or reference")
      ->capture_default_str();
  add_dim_options(app, options.dims, options.compile);
  app.add_option(
         "--at", options.at,
         "the size of an open dim in this run; several sizes (S=128,512) are a run each, and "
         "those of several dims all combinations (default: by the shapes of given inputs, "
         "else the middle of the range; the graph's own where there is no end)")
      ->allow_extra_args(false);
  add_input_options(app, options.inputs);
  app.add_option("--seed", options.seed, "of the inputs that are drawn")->capture_default_str();
  add_compile_options(app, options.compile);
  app.add_option(
         "--runs", options.runs,
         "run so often in a row, on the same inputs (drawn ones that are longer with a state "
         "are drawn anew): for graphs with states")
      ->capture_default_str()
      ->check(number_in(1, 100000));
  add_state_options(app, options.states);
  app.add_flag("--no-cache", options.no_cache, "compile every kernel, even if it is on disk");
  app.add_option("--outputs", options.outputs,
                 "write the outputs to this .npz (.npy: a single output)");
  app.add_flag("--check{outputs}", options.check,
               "compare the outputs with the reference; exit 1 on a mismatch. --check=ops: every "
               "value that a kernel stores, too, and where the first wrong one or NaN arises");
  app.add_option("--bench", options.bench,
                 "time N replays: a table of kernels against the roofline")
      ->expected(0, 1)
      ->default_str("20")
      ->check(number_in(1, 100000));
  app.add_option("--tuning", options.tuning, "folder or file of tuning records; several")
      ->allow_extra_args(false);
  app.add_flag("--json", options.json,
               "print one JSON object, or a list of one for each of several sizes (--at)");
  app.add_option("--emit", options.emit,
                 "write the graph as YAML, with its weights, and the kernels' sources into this "
                 "folder");
  add_dump_options(app, options.dump);
  add_examples(
      app,
      {{"tcc-run mlp.yaml --check", "run on random inputs, compare with the reference"},
       {"tcc-run model.onnx --check=ops", "find the first layer and kernel that is wrong"},
       {"tcc-run model.onnx --dim batch=8 --inputs in.npz --outputs out.npz",
        "run an ONNX model on given inputs"},
       {"tcc-run mlp.yaml --dim B=1..64 --at B=7 --check",
        "compile once for all batches of up to 64, and run one of 7"},
       {"tcc-run mlp.yaml --dim B=1..64 --at B=1,8,64 --bench", "the same, and time three sizes"},
       {"tcc-run mlp.yaml --dtype bf16 --tuning tuned --bench",
        "time its kernels in bf16, with the records that tcc-tune wrote"},
       {"tcc-run mlp.tccpkg --device cuda:0", "run a package that tcc-compile made"},
       {"tcc-run mlp.tccpkg --public-key minisign.pub", "the same, if its author signed it"},
       {"tcc-run mlp.yaml --device vulkan:0 --emit out",
        "write the kernels' GLSL, and the graph as YAML"}});
  return run_program(app, argc, argv, [&] {
    // Who asks for a signature means a package, whatever the file is: it is not looked at before.
    const bool is_package = app.count("--public-key") > 0 || is_for_package(options.graph);
    return is_package ? run_given_package(app, options) : ProgramRun(options).run();
  });
}

}  // namespace tcc::tools
