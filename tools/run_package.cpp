#include "tools/run_package.h"

#include <chrono>
#include <iostream>

#include "executable/open_dims.h"
#include "runtime/package.h"
#include "runtime/program.h"
#include "support/error.h"
#include "support/json_writer.h"
#include "support/plural.h"
#include "tools/bench_report.h"
#include "tools/open_device.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/run_info.h"

namespace tcc::tools {
namespace {

class RunPackage {
 public:
  explicit RunPackage(const RunPackageOptions& options)
      : options_(options), package_(exec::Package::load(options.package)) {}

  int run() {
    check_can_write("--outputs", options_.outputs);
    if (options_.device == "reference")
      fail_input("--device reference: a package has no graph for it");
    device_ = open_device("tcc-run", options_.device);
    const auto start = std::chrono::steady_clock::now();
    runtime::ChosenPart chosen = runtime::choose_part(package_, *device_);
    part_ = chosen.part;
    const auto program =
        std::make_shared<const runtime::Program>(device_, std::move(chosen.executable));
    load_seconds_ = seconds_since(start);
    take_interface(program->executable());
    const InputFiles files(options_.inputs);
    check_outputs_path(options_.outputs, interface_.outputs.size());
    const std::vector<Tensor> inputs = load_inputs(interface_, files, options_.seed);
    say_drawn_inputs("tcc-run", interface_, files);

    const auto begin = std::chrono::steady_clock::now();
    runtime::Context context(program, nullptr, dims_);
    outputs_ = context.run(inputs);
    run_seconds_ = seconds_since(begin);
    for (int i = 1; i < options_.runs; ++i) outputs_ = context.run(inputs);
    if (!options_.outputs.empty()) save_outputs(interface_, outputs_, options_.outputs);
    if (options_.bench > 0) bench_ = measure(context, program->executable(), options_.bench);
    report(*program);
    return 0;
  }

 private:
  // The inputs and outputs as values of a graph, for the functions that draw and save tensors.
  void take_interface(const exec::Executable& executable) {
    dims_ = parse_numbers(options_.at, "--at", "it is the size of one run");
    std::vector<int64_t> numbers(executable.dims.size(), -1);
    exec::read_dims(executable, dims_, numbers);
    const exec::Sizes sizes = exec::sizes_of(executable, numbers);
    const auto type_of = [&](int number) {
      const exec::BufferInfo& buffer = executable.buffers[static_cast<size_t>(number)];
      ir::Type type{buffer.dtype, {}};
      for (const int64_t dim : sizes.of(buffer.shape)) type.shape.push_back(dim);
      return type;
    };
    const auto name_of = [&](int number) {
      return executable.buffers[static_cast<size_t>(number)].name;
    };
    interface_.name = package_.name();
    for (const int number : executable.inputs)
      interface_.add_input(name_of(number), type_of(number));
    for (const int number : executable.outputs) {
      // An output's value only has a type here.
      types_.push_back(type_of(number));
      interface_.output_names.push_back(name_of(number));
      interface_.outputs.push_back(nullptr);
    }
  }

  void report(const runtime::Program& program) const {
    const exec::Executable& e = program.executable();
    if (options_.json) {
      std::cout << json(program) << "\n";
      return;
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      std::cout << interface_.output_names[i] << ": " << ir::to_string(types_[i]);
      const std::string_view emptiness = emptiness_of(outputs_[i]);
      if (!emptiness.empty()) std::cout << "  (all elements are " << emptiness << ")";
      std::cout << "\n";
    }
    std::cout << device_->name() << ": the part for " << package_.parts()[part_].target << ", "
              << counted(exec::launches(e).size(), "launch", "launches") << " of "
              << counted(e.kernels.size(), "kernel") << ", loaded in "
              << format_seconds(load_seconds_) << ", first run in " << format_seconds(run_seconds_)
              << "\n";
    if (options_.bench > 0) std::cout << bench_table(bench_, e);
  }

  std::string json(const runtime::Program& program) const {
    const exec::Executable& e = program.executable();
    JsonWriter json(JsonWriter::Style::indented);
    json.begin_object().member("tcc_run_package", 1);
    add_made_by(json);
    json.member("graph", package_.name()).member("file", options_.package);
    add_device(json, *device_);
    json.member("target", package_.parts()[part_].target)
        .member("launches", exec::launches(e).size())
        .member("kernels", e.kernels.size())
        .member("constant_bytes", program.constant_bytes())
        .member("seconds_load", load_seconds_)
        .member("seconds_run", run_seconds_);
    if (options_.bench > 0) bench_json(json, bench_, e);
    json.key("outputs").begin_array();
    for (size_t i = 0; i < outputs_.size(); ++i)
      json.begin_object()
          .member("name", interface_.output_names[i])
          .member("type", ir::to_string(types_[i]))
          .member("all", emptiness_of(outputs_[i]))
          .end_object();
    json.end_array().end_object();
    return json.text();
  }

  const RunPackageOptions& options_;
  const exec::Package package_;
  std::shared_ptr<runtime::Device> device_;
  size_t part_ = 0;
  exec::Dims dims_;  // sizes of the open ones
  ir::Graph interface_;
  std::vector<ir::Type> types_;  // of the outputs
  std::vector<Tensor> outputs_;
  BenchResult bench_;
  double load_seconds_ = 0, run_seconds_ = 0;
};

}  // namespace

int run_package(const RunPackageOptions& options) { return RunPackage(options).run(); }

}  // namespace tcc::tools
