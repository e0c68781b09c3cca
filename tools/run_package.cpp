#include "tools/run_package.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <set>

#include "executable/open_dims.h"
#include "frontend/state_file.h"
#include "runtime/package.h"
#include "runtime/program.h"
#include "support/error.h"
#include "support/file.h"
#include "support/json_writer.h"
#include "support/plural.h"
#include "tools/bench_report.h"
#include "tools/open_device.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/run_info.h"
#include "tools/run_sizes.h"

namespace tcc::tools {
namespace {

// Reads --public-key: a key, or the file that has it.
exec::PublicKey public_key(const std::string& given) {
  if (exec::PublicKey::looks_like(given)) return {given, "--public-key"};
  std::error_code error;
  if (given.empty() || !std::filesystem::exists(given, error))
    fail_input("--public-key ", exec::one_line(given),
               ": is neither a public key of minisign (RW..., 56 characters) nor a file");
  std::string text;
  try {
    text = read_file(given, exec::kMostSignatureBytes);
  } catch (const Error& failure) { fail_input("--public-key ", exec::one_line(failure.what())); }
  return {text, str("--public-key ", given)};
}

// Opens the package, and says who signed it where it must be signed.
exec::Package load_package(const RunPackageOptions& options) {
  if (!options.public_key) return exec::Package::load(options.package);
  const exec::SignedBy by{public_key(*options.public_key), {}};
  exec::Package package = exec::Package::load(options.package, by);
  std::string comment = package.trusted_comment();
  std::ranges::replace(comment, '\t', ' ');
  std::cerr << "tcc-run: note: " << options.package << " is signed by the key "
            << exec::to_string(by.key.id()) << ": " << comment << "\n";
  return package;
}

class RunPackage {
 public:
  explicit RunPackage(const RunPackageOptions& options)
      : options_(options), package_(load_package(options)) {}

  int run() {
    check_can_write("--outputs", options_.outputs);
    check_state_files(options_.states);
    if (options_.device == "reference")
      fail_input("--device reference: a package has no graph for it");
    device_ = open_device("tcc-run", options_.device);
    const auto start = std::chrono::steady_clock::now();
    runtime::ChosenPart chosen = runtime::choose_part(package_, *device_);
    part_ = chosen.part;
    const auto program =
        std::make_shared<const runtime::Program>(device_, std::move(chosen.executable));
    load_seconds_ = seconds_since(start);
    const InputFiles files(options_.inputs);
    const std::vector<ir::Numbers> at = parse_at(options_.at);
    check_one_run(at.size(), options_.outputs, options_.states.save);
    check_outputs_path(options_.outputs, program->executable().outputs.size());
    check_has_states(options_.states, options_.package,
                     !exec::state_buffers(program->executable()).empty());
    for (const ir::Numbers& sizes : at)
      sizes_.push_back(sizes_of_run(program->executable(), files, sizes));
    for (const exec::Dims& dims : sizes_) run_at(dims, program, files);
    if (options_.json) print_reports(reports_);
    return 0;
  }

 private:
  void run_at(const exec::Dims& dims, const std::shared_ptr<const runtime::Program>& program,
              const InputFiles& files) {
    dims_ = dims;
    const exec::Sizes sizes = first_sizes(program->executable());
    take_interface(program->executable(), sizes);
    take_states(program->executable(), sizes);
    std::vector<Tensor> inputs = load_inputs("tcc-run", interface_, files, options_.seed);
    if (&dims == &sizes_.front()) say_drawn_inputs("tcc-run", interface_, files);

    const auto begin = std::chrono::steady_clock::now();
    runtime::Context context(program, nullptr, dims_);
    if (!options_.states.load.empty())
      load_states(
          options_.states.load, states_,
          [&](size_t k, const TensorInfo& info) {
            return context.fits_state(k, info.dtype, info.shape);
          },
          [&](size_t k, const Tensor& value) { context.set_state(k, value); });
    ran_ = &context.program_at_hand();
    arena_bytes_ = context.arena_bytes();
    step_counts_ = context.step_counts();
    outputs_ = context.run(inputs);
    run_seconds_ = seconds_since(begin);
    if (context.reads_sizes()) {  // which are known now
      arena_bytes_ = context.arena_bytes();
      step_counts_ = context.step_counts();
    }
    for (int i = 1; i < options_.runs; ++i) {
      if (!lengths_.empty()) {  // inputs may be as long as the states are now
        take_interface(program->executable(), context.sizes());
        inputs = load_inputs("tcc-run", interface_, files, options_.seed);
      }
      outputs_ = context.run(inputs);
    }
    if (!options_.outputs.empty()) save_outputs(interface_, outputs_, options_.outputs);
    for (size_t k = 0; k < states_.size(); ++k) {
      last_.push_back(context.state(k));
      states_[k].second.shape = last_[k].shape();  // it may have grown
    }
    if (!options_.states.save.empty())
      save_states(options_.states.save, states_, [&](size_t k) { return last_[k]; });
    if (options_.bench > 0) {
      // States may have grown: the report is of the sizes that are measured.
      ran_ = &context.program_at_hand();
      step_counts_ = context.step_counts();
      bench_ = measure(context, ran_->executable(), options_.bench);
    }
    report(*program);
  }

  // The sizes of a run, but for the lengths of states, of which the first are left in lengths_.
  exec::Dims sizes_of_run(const exec::Executable& executable, const InputFiles& files,
                          const ir::Numbers& at) {
    RunSizes sizes;
    for (const exec::ReadSize* read : exec::size_reads(executable))
      counted_.insert(executable.dims[static_cast<size_t>(read->dim)].name);
    lengths_.clear();
    for (const exec::StateInfo& state : executable.states)
      if (state.grows()) {
        const exec::OpenDim& dim = executable.dims[static_cast<size_t>(state.dim)];
        const std::string& name = executable.buffers[static_cast<size_t>(state.buffer)].name;
        if (lengths_.contains(dim.name)) continue;
        sizes[dim.name] = first_length(name, static_cast<size_t>(state.axis), dim.name, dim.range,
                                       options_.states.load);
        lengths_[dim.name] = sizes[dim.name].size;
      }
    for (const auto& [name, size] : at) {
      for (const exec::StateInfo& state : executable.states)
        if (state.grows() && executable.dims[static_cast<size_t>(state.dim)].name == name)
          fail_input("--at ", name, "=", size, ": it is the length of state '",
                     executable.buffers[static_cast<size_t>(state.buffer)].name, "'");
      if (const auto equal = std::ranges::find(executable.equal_dims, name, &exec::EqualDim::name);
          equal != executable.equal_dims.end())
        refuse_equal_dim(name, size, equal->value);
      if (counted_.contains(name))
        fail_input("--at ", name, "=", size, ": each run counts '", name,
                   "': it takes no size before");
      if (std::ranges::find(executable.dims, name, &exec::OpenDim::name) == executable.dims.end())
        fail_input("--at ", name, "=", size, ": ", options_.package, " has no open dim '", name,
                   "'",
                   executable.dims.size() == lengths_.size() + counted_.size() ? "" : "; it has ",
                   dims_text(executable));
      sizes[name] = {size, "--at"};
    }
    std::vector<RunDim> dims;
    for (const exec::OpenDim& dim : executable.dims)
      if (!counted_.contains(dim.name))
        dims.push_back({dim.name, dim.symbol(), dim.range.multiple, dim.range});
    std::vector<RunInput> inputs;
    for (const int number : executable.inputs) {
      const exec::BufferInfo& buffer = executable.buffers[static_cast<size_t>(number)];
      inputs.push_back({buffer.name, buffer.shape});
    }
    add_sizes_of_inputs(inputs, dims, files, sizes);
    exec::Dims result;
    for (const exec::OpenDim& dim : executable.dims) {
      if (lengths_.contains(dim.name) || counted_.contains(dim.name)) continue;
      const auto known = sizes.find(dim.name);
      if (known == sizes.end())
        fail_input(options_.package, ": '", dim.name, "' has no size: give --at ", dim.name,
                   "=N, or an input whose shape tells it (", dims_text(executable), ")");
      result[dim.name] = known->second.size;
    }
    return result;
  }

  static std::string type_of(const Tensor& tensor) {
    return type_text(tensor.dtype(), tensor.shape());
  }

  // "B = 1..8, S = free": those that are no lengths of states.
  std::string dims_text(const exec::Executable& executable) const {
    std::string text;
    for (const exec::OpenDim& dim : executable.dims)
      if (!lengths_.contains(dim.name) && !counted_.contains(dim.name))
        text += str(text.empty() ? "" : ", ", dim.name, " = ", dim.range.to_string());
    return text;
  }

  exec::Sizes first_sizes(const exec::Executable& executable) const {
    std::vector<int64_t> numbers(executable.dims.size(), -1);
    for (size_t i = 0; i < numbers.size(); ++i)
      if (counted_.contains(executable.dims[i].name)) numbers[i] = 0;
    exec::Dims all = dims_;
    all.insert(lengths_.begin(), lengths_.end());
    exec::read_dims(executable, all, numbers);
    return exec::sizes_of(executable, numbers);
  }

  void take_states(const exec::Executable& executable, const exec::Sizes& sizes) {
    states_.clear();
    last_.clear();
    for (const int number : exec::state_buffers(executable)) {
      const exec::BufferInfo& buffer = executable.buffers[static_cast<size_t>(number)];
      states_.push_back({buffer.name, {buffer.dtype, sizes.of(buffer.shape)}});
    }
  }

  // The inputs and outputs as values of a graph at the sizes of a run, for the functions that draw
  // and save tensors.
  void take_interface(const exec::Executable& executable, const exec::Sizes& sizes) {
    const auto type_of = [&](int number) {
      const exec::BufferInfo& buffer = executable.buffers[static_cast<size_t>(number)];
      ir::Type type{buffer.dtype, {}};
      for (const int64_t dim : sizes.of(buffer.shape)) type.shape.push_back(dim);
      return type;
    };
    const auto name_of = [&](int number) {
      return executable.buffers[static_cast<size_t>(number)].name;
    };
    interface_ = ir::Graph();
    interface_.name = package_.name();
    for (const int number : executable.inputs)
      interface_.add_input(name_of(number), type_of(number));
    for (const int number : executable.outputs) {
      // An output's value is not needed here.
      interface_.output_names.push_back(name_of(number));
      interface_.outputs.push_back(nullptr);
    }
  }

  void report(const runtime::Program& program) {
    const exec::Executable& e = ran_->executable();
    if (options_.json) {
      reports_.push_back(json(program));
      return;
    }
    if (sizes_.size() > 1) std::cout << sizes_text(dims_) << ":\n";
    for (size_t i = 0; i < outputs_.size(); ++i) {
      std::cout << interface_.output_names[i] << ": " << type_of(outputs_[i]);
      const std::string_view emptiness = emptiness_of(outputs_[i]);
      if (!emptiness.empty()) std::cout << "  (all elements are " << emptiness << ")";
      std::cout << "\n";
    }
    for (size_t k = 0; k < states_.size(); ++k) {
      const std::string_view emptiness = emptiness_of(last_[k]);
      std::cout << "state " << states_[k].first << ": " << type_of(last_[k]);
      if (!emptiness.empty()) std::cout << "  (all elements are " << emptiness << ")";
      std::cout << "\n";
    }
    std::cout << device_->name() << ": the part for " << package_.parts()[part_].target << ", "
              << launches_text(e, step_counts_)
              << (ran_ == &program ? "" : " of the variant for these sizes") << ", arena "
              << format_bytes(static_cast<double>(arena_bytes_)) << ", loaded in "
              << format_seconds(load_seconds_) << ", first run in " << format_seconds(run_seconds_)
              << "\n";
    if (options_.bench > 0) std::cout << bench_table(bench_, e) << sizes_table(e, step_counts_);
  }

  std::string json(const runtime::Program& program) const {
    const exec::Executable& e = ran_->executable();
    JsonWriter json(JsonWriter::Style::indented);
    json.begin_object().member("tcc_run_package", 1);
    add_made_by(json);
    json.member("graph", package_.name()).member("file", options_.package);
    add_device(json, *device_);
    json.key("dims").begin_object();
    for (const auto& [name, size] : dims_) json.member(name, size);
    json.end_object();
    json.member("target", package_.parts()[part_].target);
    launches_json(json, e, step_counts_);
    json.member("is_variant", ran_ != &program)
        .member("arena_bytes", arena_bytes_)
        .member("constant_bytes", program.constant_bytes())
        .member("seconds_load", load_seconds_)
        .member("seconds_run", run_seconds_);
    if (options_.bench > 0) bench_json(json, bench_, e);
    json.key("outputs").begin_array();
    for (size_t i = 0; i < outputs_.size(); ++i)
      json.begin_object()
          .member("name", interface_.output_names[i])
          .member("type", type_of(outputs_[i]))
          .member("all", emptiness_of(outputs_[i]))
          .end_object();
    json.end_array();
    if (!states_.empty()) {
      json.member("runs", options_.runs).key("states").begin_array();
      for (size_t k = 0; k < states_.size(); ++k)
        json.begin_object()
            .member("name", states_[k].first)
            .member("type", type_of(last_[k]))
            .member("all", emptiness_of(last_[k]))
            .end_object();
      json.end_array();
    }
    json.end_object();
    return json.text();
  }

  const RunPackageOptions& options_;
  const exec::Package package_;
  std::shared_ptr<runtime::Device> device_;
  size_t part_ = 0;
  std::vector<exec::Dims> sizes_;     // of the open dims, for each of the runs that --at names
  std::vector<std::string> reports_;  // of these, in JSON
  exec::Dims dims_;                   // of the run at hand
  exec::Dims lengths_;                // the first ones of states that grow
  std::set<std::string> counted_;     // dims that each run counts
  std::vector<NamedType> states_;
  std::vector<Tensor> last_;               // of the states, after the last run
  const runtime::Program* ran_ = nullptr;  // the whole, or a variant
  int64_t arena_bytes_ = 0;                // at the sizes of the first run
  std::vector<int> step_counts_;           // by these sizes
  ir::Graph interface_;
  std::vector<Tensor> outputs_;
  BenchResult bench_;
  double load_seconds_ = 0, run_seconds_ = 0;
};

}  // namespace

int run_package(const RunPackageOptions& options) { return RunPackage(options).run(); }

}  // namespace tcc::tools
