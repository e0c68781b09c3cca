// tcc-compile: a graph's kernels as files, for targets that need not be there; or a package of
// them.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <utility>

#include "api/package_writer.h"
#include "autotune/tuning_files.h"
#include "backends/backend.h"
#include "backends/pipeline.h"
#include "executable/kernel_sizes.h"
#include "executable/package.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/json_writer.h"
#include "support/log.h"
#include "support/plural.h"
#include "tools/compile_options.h"
#include "tools/dumps.h"
#include "tools/earlier_run.h"
#include "tools/help.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/tensors.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

struct CompileProgramOptions {
  std::string graph, target, output, package;
  std::vector<std::string> weight_files;  // of a package
  std::vector<std::string> dims, tuning;
  InputOptions inputs;
  CompileOptions compile;
  DumpOptions dump;
};

std::string_view kind_name(exec::BufferInfo::Kind kind) {
  switch (kind) {
    case exec::BufferInfo::Kind::input: return "input";
    case exec::BufferInfo::Kind::output: return "output";
    case exec::BufferInfo::Kind::constant: return "constant";
    case exec::BufferInfo::Kind::arena: return "arena";
    case exec::BufferInfo::Kind::state: return "state";
    case exec::BufferInfo::Kind::workspace: return "workspace";
  }
  throw InternalError("a kind of buffer without a name");
}

std::string_view text_of(const std::vector<uint8_t>& code) {
  return {reinterpret_cast<const char*>(code.data()), code.size()};
}

// "B=7,S=128": the folder of the variant for these sizes.
std::string folder_of(const exec::Variant& variant) {
  std::string name;
  for (const auto& [dim, size] : variant.sizes)
    name += str(name.empty() ? "" : ",", dim, "=", size);
  if (!is_variant_folder(name)) fail_input("no folder can be named '", name, "'");
  return name;
}

// The words between commas.
std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream all(list);
  for (std::string word; std::getline(all, word, ',');) words.push_back(word);
  return words;
}

template <class Numbers>
void add_list(JsonWriter& json, std::string_view key, const Numbers& numbers) {
  json.key(key).begin_array();
  for (const auto& number : numbers) json.value(number);
  json.end_array();
}

// A number, or the text of an expression of the open dims' symbols.
void add_size(JsonWriter& json, const ir::SymInt& size) {
  if (size.is_const())
    json.value(size.value());
  else
    json.value(size.to_string());
}

void add_size(JsonWriter& json, std::string_view key, const ir::SymInt& size) {
  json.key(key);
  add_size(json, size);
}

void add_sizes(JsonWriter& json, std::string_view key, std::span<const ir::SymInt> sizes) {
  json.key(key).begin_array();
  for (const ir::SymInt& size : sizes) add_size(json, size);
  json.end_array();
}

// `symbol` stands for the size over `multiple`.
void add_dims(JsonWriter& json, std::span<const exec::OpenDim> dims) {
  json.key("dims").begin_array();
  for (const exec::OpenDim& dim : dims)
    json.begin_object()
        .member("name", dim.name)
        .member("symbol", dim.symbol())
        .member("least", dim.range.least)
        .member("most", dim.range.most)
        .member("multiple", dim.range.multiple)
        .end_object();
  json.end_array();
}

class Compile {
 public:
  explicit Compile(const CompileProgramOptions& options) : options_(options) {}

  int run() {
    if (options_.target == "cpp") fail_input("--target cpp: not available yet");
    // Without a place for results the program prints what it was asked for.
    const bool only_prints = options_.package.empty() && options_.output.empty();
    if (only_prints && !options_.dump.explain_fusion && options_.dump.after.empty())
      fail_input(
          "--output or --package must be given, or what to print: --explain-fusion or "
          "--dump-after");
    if (!options_.package.empty() && !options_.output.empty())
      fail_input("--output and --package cannot both be given");
    if (options_.package.empty() && !options_.weight_files.empty())
      fail_input("--weights: is for --package");
    if (!options_.package.empty() && !options_.package.ends_with(exec::kPackageExtension))
      fail_input("--package ", options_.package, ": must end in ", exec::kPackageExtension);
    check_can_write("--package", options_.package);
    refuse_package(options_.graph);
    if (options_.package.empty() && words_of(options_.target).size() > 1)
      fail_input("--target ", options_.target, ": several targets are for --package");
    const std::vector<sched::Target> targets =
        options_.package.empty() ? std::vector{sched::target_by_name(options_.target)}
                                 : package_targets(words_of(options_.target));
    set_compile_options(options_.compile, compile_);
    set_dims(options_.dims, options_.compile, compile_);
    const InputFiles files(options_.inputs);
    graph_ = load_graph(options_.graph, graph_file_options(compile_, files, options_.inputs));
    files.check_all_used(input_names(graph_));
    check_dims(compile_, graph_);
    settle_dims("tcc-compile", graph_, compile_);
    say_default_dims("tcc-compile", options_.graph, graph_, compile_.open_dims);
    if (!options_.package.empty()) {
      write_package(targets);
      return 0;
    }
    compile_.binaries = !only_prints;
    exec::Executable whole = compile(targets.at(0));
    if (only_prints) {
      say_result(whole);
      std::cout << "\n";
      return 0;
    }
    remove_earlier_run(options_.output);
    std::vector<std::string> folders;
    for (exec::Variant& variant : std::exchange(whole.variants, {})) {
      folders.push_back(folder_of(variant));
      executable_ = std::move(variant.executable);
      write_files(fs::path(options_.output) / folders.back());
    }
    variants_ = std::move(folders);
    executable_ = std::move(whole);
    write_files(options_.output);
    say_result(executable_);
    std::cout << ": " << (fs::path(options_.output) / "manifest.json").string() << "\n";
    return 0;
  }

 private:
  void say_result(const exec::Executable& executable) {
    progress_.clear();
    std::cout << counted(executable.kernels.size(), "kernel") << " for " << executable.target.id()
              << ", " << counted(exec::count_usual_launches(executable), "launch", "launches")
              << ", arena " << format_bytes(static_cast<double>(executable.arena_bytes.usual()));
  }

  void write_package(const std::vector<sched::Target>& targets) {
    PackageParts parts{graph_.name, targets, {}, {}, {}};
    parts.weights.assign(options_.weight_files.begin(), options_.weight_files.end());
    parts.compile = [this](const sched::Target& target) { return compile(target); };
    parts.written = [this] { show("writing " + options_.package); };
    const PackageReport report = write_parts(parts, options_.package);
    progress_.clear();
    std::cout << counted(report.targets.size(), "target");
    for (size_t i = 0; i < report.targets.size(); ++i)
      std::cout << (i == 0 ? ": " : ", ") << report.targets[i];
    std::cout << "; " << format_bytes(static_cast<double>(report.bytes)) << ": " << options_.package
              << "\n";
    if (!options_.weight_files.empty()) say_copied_weights();
  }

  // Says which weights --weights did not keep out of the package.
  void say_copied_weights() const {
    const exec::Package package = exec::Package::load(options_.package);
    const exec::Package::Weights copied = package.weights(false);
    const auto text = [](const exec::Package::Weights& weights) {
      return str(counted(weights.count, "weight"), " (",
                 format_bytes(static_cast<double>(weights.bytes)), ")");
    };
    std::cout << "--weights: " << text(package.weights(true)) << " in files; "
              << (copied.count == 0 ? "none is copied"
                                    : str(text(copied), " in the package itself: no tensor ",
                                          "of the files has the bytes that kernels read"))
              << "\n";
  }

  exec::Executable compile(const sched::Target& target) {
    backends::CompileOptions compile = compile_;
    const auto warn = [](const std::string& warning) { log_warning(LogChannel::tuning, warning); };
    const autotune::TuningFiles tuning = autotune::open_tuning_files(
        {options_.tuning.begin(), options_.tuning.end()}, target.api, default_cache_folder(), warn);
    backends::KernelCache cache;
    compile.configs = &tuning;
    compile.plan = &tuning;
    compile.cache = &cache;
    const DumpFunction asked = dump_function(options_.dump, false);
    compile.explain_fusion = explain_function(options_.dump, false);
    if (asked || LiveLines::possible())
      compile.dump = [this, asked](std::string_view stage, const std::string& text) {
        progress_.clear();
        if (asked) asked(stage, text);
        show("after stage " + std::string(stage));
      };
    show("compiling " + graph_.name + " for " + target.id());
    exec::Executable executable = backends::compile(graph_, target, compile);
    tuning.warn_of_illegal(warn);
    return executable;
  }

  void show(const std::string& text) {
    if (LiveLines::possible()) progress_.draw({text});
  }

  // The manifest comes last: where it is, all files that it names are.
  void write_files(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) fail_input(folder.string(), ": ", error.message());
    remove_earlier_run(folder);
    sources_.clear();
    binaries_.clear();
    sched::Api api = executable_.target.api;
    std::string source_ending = backends::backend_for(api).dialect().emit_ending;
    for (size_t i = 0; i < executable_.kernels.size(); ++i) {
      const exec::KernelBinary& kernel = executable_.kernels[i];
      char number[24];
      std::snprintf(number, sizeof number, "%03zu_", i);
      std::string stem = number + kernel.region;
      sources_.push_back(stem + source_ending);
      binaries_.push_back(stem + backends::backend_for(api).code_ending(kernel.code));
      show("writing " + stem);
      write_file_atomic(folder / sources_[i], kernel.comment + kernel.source);
      write_file_atomic(folder / binaries_[i], text_of(kernel.code));
    }
    write_file_atomic(folder / "manifest.json", manifest() + "\n");
  }

  std::string manifest() const {
    const exec::Executable& e = executable_;
    JsonWriter json(JsonWriter::Style::indented);
    json.begin_object().member("tcc_manifest", 1).member("graph", e.name);
    json.member("target", e.target.id());
    add_size(json, "arena_bytes", e.arena_bytes);
    add_size(json, "live_bytes_peak", e.live_bytes_peak);
    if (!e.dims.empty()) add_dims(json, e.dims);
    // Each is a folder with a manifest of its own.
    if (!variants_.empty()) add_list(json, "variants", variants_);
    json.key("kernels").begin_array();
    for (size_t i = 0; i < e.kernels.size(); ++i) add_kernel(json, i);
    json.end_array().key("buffers").begin_array();
    for (const exec::BufferInfo& buffer : e.buffers) add_buffer(json, buffer);
    json.end_array();
    add_list(json, "inputs", e.inputs);
    add_list(json, "outputs", e.outputs);
    json.key("launches").begin_array();
    for (const exec::KernelLaunch* launch : exec::launches(e)) {
      json.begin_object().member("kernel", launch->kernel);
      std::vector<int> buffers;
      std::vector<ir::SymInt> scalars;  // the arguments after the buffers
      for (const exec::Argument& argument : launch->arguments)
        if (const auto* address = std::get_if<exec::Address>(&argument))
          buffers.push_back(address->buffer);
        else
          scalars.push_back(std::get<exec::Scalar>(argument).value);
      add_list(json, "buffers", buffers);
      add_sizes(json, "scalars", scalars);
      if (!launch->times.is(1)) json.member("times", launch->times.to_string());
      add_list(json, "layers", launch->layers);
      json.end_object();
    }
    json.end_array().end_object();
    return json.text();
  }

  void add_kernel(JsonWriter& json, size_t i) const {
    const exec::KernelBinary& kernel = executable_.kernels[i];
    json.begin_object().member("source", sources_[i]).member("binary", binaries_[i]);
    json.member("binary_hash", hash_of(text_of(kernel.code)).hex());
    json.member("entry", kernel.entry).member("region", kernel.region);
    json.member("template", kernel.template_name).member("config", kernel.config);
    json.member("tier", kernel.tier).member("template_version", kernel.template_version);
    json.member("region_key", kernel.region_key);
    // All launches of a kernel are alike, but for the sizes that have them.
    const auto launches = exec::launches(executable_);
    const exec::KernelLaunch& launch =
        **std::ranges::find(launches, static_cast<int>(i), &exec::KernelLaunch::kernel);
    std::string sizes;
    for (const exec::Chosen& chosen : exec::choices_of(executable_, i))
      sizes += (sizes.empty() ? "" : "; ") + exec::sizes_text(executable_, chosen);
    if (!sizes.empty()) json.member("sizes", sizes);
    add_sizes(json, "grid", launch.grid);
    json.member("workgroup", kernel.workgroup).member("subgroup_size", kernel.subgroup_size);
    json.member("dynamic_shared_bytes", kernel.shared_bytes);
    json.member("arguments", kernel.num_arguments);
    json.member("argument_table", kernel.argument_table);
    json.member("cooperative", kernel.cooperative);
    json.key("tensor_maps").begin_array();
    for (const exec::TensorMap& map : launch.maps) add_map(json, map);
    json.end_array();
    json.member("flops", kernel.flops).member("bytes", kernel.bytes).end_object();
  }

  // Parameters after the arguments, to be encoded by cuTensorMapEncodeTiled or, where there is
  // "im2col", by cuTensorMapEncodeIm2col.
  static void add_map(JsonWriter& json, const exec::TensorMap& map) {
    json.begin_object().member("argument", map.argument).member("dtype", tcc::name(map.dtype));
    add_size(json, "offset", map.offset);
    add_sizes(json, "dims", map.dims);
    add_sizes(json, "strides", map.strides);
    if (map.kind == exec::TensorMap::Kind::im2col) {
      json.key("im2col").begin_object();
      add_list(json, "lower", map.im2col.lower);
      add_list(json, "upper", map.im2col.upper);
      json.member("channels", map.im2col.channels).member("pixels", map.im2col.pixels).end_object();
    } else {
      add_list(json, "box", map.box);
      if (!map.clip.empty()) add_list(json, "clip", map.clip);
    }
    if (!map.steps.empty()) add_list(json, "steps", map.steps);
    json.member("swizzle", map.swizzle).end_object();
  }

  static void add_buffer(JsonWriter& json, const exec::BufferInfo& buffer) {
    json.begin_object().member("name", buffer.name).member("kind", kind_name(buffer.kind));
    json.member("dtype", tcc::name(buffer.dtype));
    add_sizes(json, "shape", buffer.shape);
    add_sizes(json, "strides", buffer.strides);
    add_size(json, "bytes", buffer.bytes);
    add_size(json, buffer.is_in_arena() ? "arena_offset" : "number", buffer.offset);
    json.end_object();
  }

  const CompileProgramOptions& options_;
  LiveLines progress_;
  ir::Graph graph_;
  backends::CompileOptions compile_;
  exec::Executable executable_;
  std::vector<std::string> sources_, binaries_;
  std::vector<std::string> variants_;  // folders, when only the whole is left to be written
};

}  // namespace

int compile_main(int argc, char** argv) {
  CLI::App app("Writes a graph's kernels for a target as sources and binaries.", "tcc-compile");
  CompileProgramOptions options;
  app.add_option("GRAPH", options.graph, "graph file (.yaml or .onnx)")->required();
  app.add_option("--target", options.target,
                 "cuda:sm_80, cuda:sm_90a, ..., vulkan or vulkan:PROFILE (configs/targets); of a "
                 "package several, with commas")
      ->required();
  app.add_option("-o,--output", options.output, "folder for the files");
  app.add_option("--package", options.package,
                 "write one file for all targets instead, which libtcc-runtime runs: "
                 "model.tccpkg");
  app.add_option("--weights", options.weight_files,
                 "a .safetensors beside the package: weights whose bytes are in it are not "
                 "copied; several")
      ->allow_extra_args(false);
  add_dim_options(app, options.dims, options.compile);
  add_input_options(app, options.inputs);
  add_compile_options(app, options.compile);
  add_dump_options(app, options.dump);
  app.add_option("--tuning", options.tuning, "folder or file of tuning records; several")
      ->allow_extra_args(false);
  add_examples(app, {{"tcc-compile mlp.yaml --target cuda:sm_90a -o out",
                      "write CUDA C++, cubins and a manifest; needs NVRTC and no GPU"},
                     {"tcc-compile mlp.yaml --target vulkan:amd-rdna --dim B=8 -o out",
                      "write GLSL and SPIR-V for what configs/targets/amd-rdna.yaml describes"},
                     {"tcc-compile mlp.yaml --target cuda:sm_80,cuda:sm_90a,vulkan:nvidia "
                      "--package mlp.tccpkg",
                      "write one file that runs on all of these, and on later CUDA devices"}});
  return run_program(app, argc, argv, [&] { return Compile(options).run(); });
}

}  // namespace tcc::tools
