// Packages as users make and run them: tcc-compile --package, tcc-run, and programs that link
// libtcc-runtime alone.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "backends/backend.h"
#include "executable/package.h"
#include "frontend/npy.h"
#include "frontend/tensor_file.h"
#include "runtime/device.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/expect_error.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"
#include "tests/unit/onnx_fixture.h"

#include "tcc/c_api.h"
#include "tcc/package.hpp"

namespace tcc {
namespace {

namespace fs = std::filesystem;

using testing::Outcome;

constexpr const char* kGraph =
    "tcc: 1\nname: small\n"
    "inputs: {x: {dtype: f32, shape: [4, 32]}, i: {dtype: i64, shape: [4]}}\n"
    "weights: {w: {dtype: f32, shape: [48, 32], init: {normal: 1}}}\n"
    "nodes:\n"
    "  - {out: y, op: linear, in: [x, w]}\n"
    "  - {out: z, op: softmax, in: [y], dim: -1}\n"
    "  - {out: n, op: cast, in: [i], dtype: f32}\n"
    "outputs: [z, n]\n";

bool is_one_line(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n') == 1 && text.ends_with('\n');
}

class PackagePrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tcc-packages-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    write_file_atomic(path("small.yaml"), kGraph);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Outcome run(const char* program, const std::string& arguments) const {
    return testing::run_command(str("cd '", folder_.string(), "' && '",
                                    testing::program(program).string(), "' ", arguments, " 2>&1"));
  }
  // The outputs that the program prints, without its times.
  Outcome results(const char* program, const std::string& arguments) const {
    return testing::run_command(str("cd '", folder_.string(), "' && '",
                                    testing::program(program).string(), "' ", arguments,
                                    " 2>/dev/null"));
  }
  // Makes a package for lavapipe, and for what `more` adds.
  Outcome make(const std::string& name, const std::string& more = "") const {
    return run("tcc-compile",
               "small.yaml --target vulkan:amd-rdna,vulkan:lavapipe" + more + " --package " + name);
  }
  static bool has_nvrtc() {
    return backends::backend_for(exec::Api::cuda).compiler_missing().empty();
  }
  // The name of a software device, "": there is none.
  static std::string lavapipe() {
    for (const runtime::DeviceEntry& entry : runtime::list_devices().devices)
      if (entry.target.arch == "llvmpipe" && entry.target.subgroup_size == 8) return entry.name;
    return "";
  }

  fs::path folder_;
};

TEST_F(PackagePrograms, APackageRunsWithoutTheCompiler) {
  const Outcome made = make("small.tccpkg");
  ASSERT_EQ(made.code, 0) << made.text;
  EXPECT_NE(made.text.find("2 targets: vulkan:amd-rdna"), std::string::npos) << made.text;
  const std::string device = lavapipe();
  if (device.empty()) GTEST_SKIP() << "no lavapipe";
  const Outcome cpp = results("run_package", "small.tccpkg " + device);
  ASSERT_EQ(cpp.code, 0) << cpp.text;
  const Outcome c = run("run_package_c", "small.tccpkg " + device);
  EXPECT_EQ(c.code, 0);
  EXPECT_EQ(c.text, cpp.text);
  EXPECT_NE(cpp.text.find("f32 0 1 2 3\n"), std::string::npos) << cpp.text;

  // The same as tcc-run has of the graph, on the same inputs.
  for (const char* what : {"small.yaml", "small.tccpkg"}) {
    const Outcome ran =
        run("tcc-run", str(what, " --device ", device, " --seed 3 --outputs ", what, ".npz"));
    ASSERT_EQ(ran.code, 0) << ran.text;
  }
  const auto graph = open_tensor_file(path("small.yaml.npz"));
  const auto package = open_tensor_file(path("small.tccpkg.npz"));
  for (const char* name : {"z", "n"}) {
    const Tensor expected = graph->load(name), got = package->load(name);
    ASSERT_EQ(got.shape(), expected.shape());
    for (int64_t i = 0; i < got.numel(); ++i)
      EXPECT_NEAR(got.get(i), expected.get(i), 1e-6) << name << " " << i;
  }
}

TEST_F(PackagePrograms, TheSameInputsGiveTheSameBytes) {
  const std::string cuda = has_nvrtc() ? ",cuda:sm_80,cuda:sm_90a" : "";
  ASSERT_EQ(make("one.tccpkg", cuda).code, 0);
  ASSERT_EQ(make("two.tccpkg", cuda).code, 0);
  EXPECT_EQ(read_file(path("one.tccpkg")), read_file(path("two.tccpkg")));
  const exec::Package package = exec::Package::load(path("one.tccpkg"));
  EXPECT_NO_THROW(package.verify());
  std::vector<std::string> targets;
  for (const auto& part : package.parts()) targets.push_back(part.target);
  std::vector<std::string> expected = {"vulkan:amd-rdna:sg32", "vulkan:llvmpipe:sg8"};
  if (!cuda.empty())
    expected.insert(expected.end(), {"cuda:sm_80", "cuda:sm_90a", "cuda:compute_80"});
  EXPECT_EQ(targets, expected);
  EXPECT_EQ(package.weight_bytes(), 48 * 32 * 4) << "parts share the weights";
}

TEST_F(PackagePrograms, TheLibraryWritesWhatTheProgramWrites) {
  ASSERT_EQ(make("program.tccpkg").code, 0);
  const Graph graph = Graph::load(path("small.yaml"));
  PackageOptions options{.targets = {"vulkan:amd-rdna", "vulkan:lavapipe"}};
  std::vector<std::string> told;
  std::string last;
  options.begins = [&](std::string_view target) { told.emplace_back(target); };
  options.compile.progress = [&](const CompileProgress& at) { last = at.stage; };
  const PackageReport report = write_package(graph, path("cpp.tccpkg"), options);
  EXPECT_EQ(report.targets,
            (std::vector<std::string>{"vulkan:amd-rdna:sg32", "vulkan:llvmpipe:sg8"}));
  EXPECT_EQ(told, report.targets);
  EXPECT_EQ(last, "write");
  const std::string expected = read_file(path("program.tccpkg"));
  EXPECT_EQ(report.bytes, std::ssize(expected));
  EXPECT_TRUE(read_file(path("cpp.tccpkg")) == expected);

  tcc_graph* c_graph = nullptr;
  ASSERT_EQ(tcc_graph_load(path("small.yaml").c_str(), &c_graph), TCC_OK);
  tcc_package_options c_options = TCC_PACKAGE_OPTIONS_INIT;
  const char* targets[] = {"vulkan:amd-rdna", "vulkan:lavapipe"};
  c_options.targets = targets;
  c_options.num_targets = 2;
  size_t begun = 0;
  c_options.user = &begun;
  c_options.begins = [](void* user, const char*) { ++*static_cast<size_t*>(user); };
  EXPECT_EQ(tcc_package_write(c_graph, path("c.tccpkg").c_str(), &c_options), TCC_OK)
      << tcc_last_error();
  EXPECT_EQ(begun, 2u);
  EXPECT_TRUE(read_file(path("c.tccpkg")) == expected);
  targets[1] = nullptr;
  EXPECT_EQ(tcc_package_write(c_graph, path("c.tccpkg").c_str(), &c_options), TCC_BAD_INPUT);
  EXPECT_STREQ(tcc_last_error(), "a target is NULL");
  EXPECT_EQ(tcc_package_write(c_graph, path("c.tccpkg").c_str(), nullptr), TCC_BAD_INPUT);
  tcc_graph_destroy(c_graph);
}

TEST_F(PackagePrograms, TheLibraryRefusesBeforeItCompiles) {
  const Graph graph = Graph::load(path("small.yaml"));
  bool begun = false;
  const auto refused = [&](const char* file, std::vector<std::string> targets,
                           std::vector<fs::path> weights, const std::string& words) {
    PackageOptions options{.targets = std::move(targets), .weights = std::move(weights)};
    options.begins = [&](std::string_view) { begun = true; };
    EXPECT_ERROR(write_package(graph, path(file), options), words);
    EXPECT_FALSE(fs::exists(path(file)));
  };
  refused("p.tccpkg", {}, {}, "no target is given");
  refused("p.zip", {"vulkan"}, {}, "must end in .tccpkg");
  refused("absent/p.tccpkg", {"vulkan"}, {}, "absent");
  refused("p.tccpkg", {"vulkan", "nothing"}, {}, "nothing");
  refused("p.tccpkg", {"vulkan:lavapipe", "vulkan:llvmpipe"}, {},
          "target vulkan:llvmpipe is given twice");
  refused("p.tccpkg", {"vulkan"}, {"w.npz"}, "weights w.npz: must be a .safetensors file");
  EXPECT_FALSE(begun);
  // A caller who ends it gets no file.
  PackageOptions options{.targets = {"vulkan"}};
  options.compile.cancelled = [] { return true; };
  EXPECT_THROW(write_package(graph, path("p.tccpkg"), options), Cancelled);
  EXPECT_FALSE(fs::exists(path("p.tccpkg")));
}

TEST_F(PackagePrograms, ARefusalIsALineThatSaysWhatIsInside) {
  ASSERT_EQ(run("tcc-compile", "small.yaml --target vulkan:amd-rdna --package other.tccpkg").code,
            0);
  Outcome refused = run("tcc-run", "other.tccpkg --device null");
  EXPECT_EQ(refused.code, 4) << refused.text;
  EXPECT_TRUE(is_one_line(refused.text)) << refused.text;
  EXPECT_NE(refused.text.find("other.tccpkg: no part of it runs on null (null); "
                              "vulkan:amd-rdna:sg32: it is for vulkan"),
            std::string::npos)
      << refused.text;
  if (const std::string device = lavapipe(); !device.empty()) {
    refused = run("tcc-run", "other.tccpkg --device " + device);
    EXPECT_EQ(refused.code, 4) << refused.text;
    EXPECT_TRUE(is_one_line(refused.text)) << refused.text;
    EXPECT_NE(refused.text.find("; vulkan:amd-rdna:sg32: kernel "), std::string::npos)
        << refused.text;
    const Outcome alone = run("run_package", "other.tccpkg " + device);
    EXPECT_EQ(alone.code, 4);
    EXPECT_TRUE(is_one_line(alone.text)) << alone.text;
  }

  std::string bytes = read_file(path("other.tccpkg"));
  const auto refuse = [&](const std::string& changed, const char* words) {
    write_file_atomic(path("changed.tccpkg"), changed);
    for (const char* program : {"run_package", "run_package_c"}) {
      const Outcome outcome = run(program, "changed.tccpkg null");
      EXPECT_EQ(outcome.code, 2) << outcome.text;
      EXPECT_TRUE(is_one_line(outcome.text)) << outcome.text;
      EXPECT_NE(outcome.text.find(words), std::string::npos) << outcome.text;
    }
  };
  refuse(bytes.substr(0, bytes.size() - 1), "is cut off");
  std::string newer = bytes;
  newer[newer.find('1')] = '9';
  refuse(newer, "is a package of version 9; this tcc reads 1: a newer one made it");
  refuse("", "is no package of tcc");
  EXPECT_EQ(run("run_package", "absent.tccpkg null").code, 2);
}

TEST_F(PackagePrograms, WeightsMayStayInAFile) {
  // The weights that the graph draws, in a file.
  ASSERT_EQ(run("tcc-run", "small.yaml --device null --emit .").code, 2) << "its own folder";
  ASSERT_EQ(run("tcc-run", "small.yaml --device null --emit out").code, 0);
  write_file_atomic(path("by_file.yaml"),
                    "tcc: 1\nname: by_file\ninputs: {x: {dtype: f32, shape: [4, 4]}}\n"
                    "weights: {w: {file: affine.safetensors, key: w}}\n"
                    "nodes: [{out: y, op: add, in: [x, w]}]\noutputs: [y]\n");
  fs::copy(testing::source_dir() / "tests/data/packages/affine.safetensors", folder_);
  const std::string compile =
      "by_file.yaml --target vulkan:lavapipe --weights affine.safetensors --package ";
  const Outcome made = run("tcc-compile", compile + "by_file.tccpkg");
  ASSERT_EQ(made.code, 0) << made.text;
  EXPECT_NE(made.text.find("\n--weights: 1 weight (16 B) in files; none is copied\n"),
            std::string::npos)
      << made.text;
  const exec::Package package = exec::Package::load(path("by_file.tccpkg"));
  EXPECT_NE(package.manifest().find("\nfile: affine.safetensors | "), std::string::npos);
  EXPECT_NO_THROW(package.verify());
  if (const std::string device = lavapipe(); !device.empty()) {
    const Outcome outcome = results("run_package", "by_file.tccpkg " + device);
    EXPECT_EQ(outcome.text, "f32 1 2.25 3.5 4.75 2 2 3.25 4.5\n");
  }
  fs::remove(path("affine.safetensors"));
  EXPECT_THROW(exec::Package::load(path("by_file.tccpkg")).verify(), Error);
  fs::copy(testing::source_dir() / "tests/data/packages/affine.safetensors", folder_);
  fs::create_directories(folder_ / "below");
  const Outcome outside = run("tcc-compile", compile + "below/by_file.tccpkg");
  EXPECT_EQ(outside.code, 2);
  EXPECT_NE(outside.text.find("must be in the folder of"), std::string::npos) << outside.text;
}

TEST_F(PackagePrograms, OptionsThatDoNotFitAreRefused) {
  for (const char* options :
       {"--target vulkan", "--target vulkan -o out --package p.tccpkg",
        "--target vulkan,vulkan --package p.tccpkg",
        "--target vulkan:lavapipe,vulkan:llvmpipe --package p.tccpkg",
        "--target vulkan,nothing --package p.tccpkg", "--target vulkan,vulkan:lavapipe -o out",
        "--target vulkan -o out --weights w.safetensors",
        "--target vulkan --package absent/folder/p.tccpkg"}) {
    const Outcome outcome = run("tcc-compile", str("small.yaml ", options));
    EXPECT_EQ(outcome.code, 2) << options << ": " << outcome.text;
    EXPECT_TRUE(is_one_line(outcome.text)) << outcome.text;
  }
  ASSERT_EQ(make("small.tccpkg").code, 0);
  for (const char* options : {"--dtype f16", "--check", "--emit out", "--tuning .", "--no-fuse",
                              "--device reference", "--dim B=3", "--input q=1", "--at B=3"}) {
    const Outcome outcome = run("tcc-run", str("small.tccpkg ", options));
    EXPECT_EQ(outcome.code, 2) << options << ": " << outcome.text;
    EXPECT_TRUE(is_one_line(outcome.text)) << outcome.text;
  }
}

TEST_F(PackagePrograms, WhatNeedsAGraphIsRefusedByName) {
  ASSERT_EQ(make("small.tccpkg").code, 0);
  for (const char* option : {"--state x=y", "--specialize B=3", "--explain-fusion", "--dump-to dd",
                             "--dump-after all", "--no-cache", "--matmul-precision high"}) {
    const Outcome outcome = run("tcc-run", str("small.tccpkg ", option));
    EXPECT_EQ(outcome.code, 2) << outcome.text;
    const std::string name = std::string(option).substr(0, std::string(option).find(' '));
    EXPECT_EQ(outcome.text,
              str("tcc-run: ", name, ": small.tccpkg is a package, which is compiled already\n"));
  }
  EXPECT_EQ(run("tcc-run", "small.tccpkg --dim B=3").text,
            "tcc-run: --dim: small.tccpkg is a package, which is compiled already; --at NAME=N "
            "gives the size of an open dim\n");
  EXPECT_EQ(run("tcc-run", "small.tccpkg --save-states q.npz").text,
            "tcc-run: --save-states q.npz: must end in .safetensors\n");
  for (const char* program : {"tcc-compile", "tcc-tune"}) {
    const Outcome outcome = run(program, str("small.tccpkg ", program == std::string("tcc-tune")
                                                                  ? "--device null"
                                                                  : "--target vulkan -o out"));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.text, str(program,
                                ": small.tccpkg: is a package, which is compiled already; graphs "
                                "are .yaml or .onnx files\n"));
  }
  EXPECT_EQ(run("tcc-compile", "small.yaml --target vulkan --package p.zip").text,
            "tcc-compile: --package p.zip: must end in .tccpkg\n");
}

TEST_F(PackagePrograms, WhatIsNoPackageIsSaid) {
  EXPECT_EQ(run("tcc-run", "absent.tccpkg").text,
            "tcc-run: absent.tccpkg: cannot open: No such file or directory\n");
  EXPECT_EQ(run("tcc-run", "absent").text,
            "tcc-run: absent: cannot open: No such file or directory\n");
  EXPECT_EQ(run("tcc-run", ".").text, "tcc-run: .: not a regular file\n");
  for (const char* bytes : {"", "random bytes", "tcc_pakcage: 1\n"}) {
    write_file_atomic(path("other.tccpkg"), bytes);
    const Outcome outcome = run("tcc-run", "other.tccpkg");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(outcome.text.starts_with("tcc-run: other.tccpkg: is no package of tcc"))
        << outcome.text;
    EXPECT_TRUE(is_one_line(outcome.text)) << outcome.text;
  }
}

// A pipe to which nobody writes may not be opened.
TEST_F(PackagePrograms, APipeIsNoPackage) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const Outcome outcome = testing::run_command(
      str("timeout 60 '", testing::program("tcc-run").string(), "' '", path("pipe"), "' 2>&1"));
  EXPECT_EQ(outcome.code, 2) << outcome.text;
  EXPECT_TRUE(is_one_line(outcome.text)) << outcome.text;
  EXPECT_NE(outcome.text.find("not a regular file"), std::string::npos) << outcome.text;
}

// A kernel of a part that quirk files switched off is refused in one line, with the compiler and
// without it.
TEST_F(PackagePrograms, QuirksAreHonoured) {
  const std::string device = lavapipe();
  if (device.empty()) GTEST_SKIP() << "no lavapipe";
  write_file_atomic(path("f64.yaml"),
                    "tcc: 1\nname: f64\ninputs: {x: {dtype: f64, shape: [4]}}\n"
                    "nodes: [{out: y, op: sqrt, in: [x]}]\noutputs: [y]\n");
  ASSERT_EQ(run("tcc-compile", "f64.yaml --target vulkan:lavapipe --package f64.tccpkg").code, 0);
  const auto outcome = [&](const char* program, const std::string& words, const std::string& line) {
    write_file_atomic(path("own.quirks"), "tcc_quirks: 1\n" + line + "\n");
    return testing::run_command(str("cd '", folder_.string(), "' && TCC_QUIRKS=own.quirks '",
                                    testing::program(program).string(), "' ", words, " 2>&1"));
  };
  for (const auto& [program, words] :
       {std::pair<const char*, std::string>{"tcc-run", "f64.tccpkg --device " + device},
        {"run_package", "f64.tccpkg " + device}}) {
    for (const char* what : {"feature float64", "template pointwise"}) {
      const Outcome refused =
          outcome(program, words, str("vulkan | llvmpipe* | * | off ", what, " | it is wrong"));
      EXPECT_NE(refused.code, 0) << refused.text;
      EXPECT_TRUE(is_one_line(refused.text)) << refused.text;
      EXPECT_NE(refused.text.find("switched off by quirk own.quirks:2: it is wrong"),
                std::string::npos)
          << refused.text;
      EXPECT_NE(refused.text.find("compile the graph for this device"), std::string::npos)
          << refused.text;
    }
    for (const char* line : {"vulkan | llvmpipe* | ..1.0 | off feature float64 | old driver",
                             "vulkan | other* | * | off feature float64 | another device"})
      EXPECT_EQ(outcome(program, words, line).code, 0) << line;
  }
}

TEST_F(PackagePrograms, StatesGoFromRunToRun) {
  const std::string device = lavapipe();
  if (device.empty()) GTEST_SKIP() << "no lavapipe";
  write_file_atomic(path("sum.yaml"),
                    "tcc: 1\nname: sum\ninputs: {x: {dtype: f32, shape: [4]}}\n"
                    "states: {sum: {dtype: f32, shape: [4]}}\n"
                    "nodes:\n  - {out: s, op: add, in: [sum, x]}\n"
                    "  - {out: t, op: assign, in: [sum, s]}\noutputs: [t]\n");
  ASSERT_EQ(run("tcc-compile", "sum.yaml --target vulkan:lavapipe --package sum.tccpkg").code, 0);
  const auto total = [&](const std::string& file) {
    const Tensor sum = open_tensor_file(path(file))->load("sum");
    return std::vector<double>{sum.get(0), sum.get(1), sum.get(2), sum.get(3)};
  };
  const std::string start = "--device " + device + " --input x=1,2,3,4 ";
  for (const char* model : {"sum.yaml", "sum.tccpkg"}) {
    const Outcome three =
        run("tcc-run", str(model, " ", start, "--runs 3 --save-states s3.safetensors"));
    ASSERT_EQ(three.code, 0) << three.text;
    EXPECT_NE(three.text.find("state sum: f32[4]\n"), std::string::npos) << three.text;
    EXPECT_EQ(total("s3.safetensors"), (std::vector<double>{3, 6, 9, 12})) << model;
    const Outcome five = run("tcc-run", str(model, " ", start,
                                            "--runs 2 --load-states s3.safetensors "
                                            "--save-states s5.safetensors --json"));
    ASSERT_EQ(five.code, 0) << five.text;
    EXPECT_NE(five.text.find("\"states\""), std::string::npos) << five.text;
    EXPECT_EQ(total("s5.safetensors"), (std::vector<double>{5, 10, 15, 20})) << model;
    EXPECT_EQ(run("tcc-run", str(model, " ", start, "--load-states none.safetensors")).code, 2);
  }
  ASSERT_EQ(make("small.tccpkg").code, 0);
  for (const char* model : {"small.yaml", "small.tccpkg"})
    for (const char* option : {"--load-states", "--save-states"})
      EXPECT_EQ(
          run("tcc-run", str(model, " --device ", device, " ", option, " s.safetensors")).text,
          str("tcc-run: ", option, ": ", model, " has no states\n"));
}

// A given input tells the run's size where --dim leaves the dim open, and the graph's elsewhere.
TEST_F(PackagePrograms, AnOpenDimOfAnOnnxGraphHasTheSizeOfAGivenInput) {
  testing::OnnxModel model;
  model.input("x", {{"batch", 5}}).node("Relu", {"x"}, {"y"}).output("y");
  write_file_atomic(path("m.onnx"), model.bytes());
  write_npy(path("x7.npy"), Tensor(DType::f32, {7, 5}));
  const auto run_null = [&](const char* arguments) {
    return run("tcc-run", str("m.onnx --device null ", arguments)).text;
  };
  EXPECT_EQ(run_null("--input x=x7.npy").substr(0, 12), "y: f32[7, 5]");
  EXPECT_EQ(run_null("--dim batch=1..8 --at batch=3").substr(0, 12), "y: f32[3, 5]");
  EXPECT_EQ(run_null("--dim batch=1..8 --input x=x7.npy").substr(0, 12), "y: f32[7, 5]");
  // It is the program for all sizes that runs.
  EXPECT_NE(run_null("--dim batch=1..6 --input x=x7.npy").find("batch = 1..6"), std::string::npos);
  const std::string device = lavapipe();
  if (device.empty()) GTEST_SKIP() << "no lavapipe";
  Tensor x(DType::f32, {7, 5});
  for (int64_t k = 0; k < x.numel(); ++k) x.set(k, static_cast<double>(k) - 9);
  write_npy(path("x7.npy"), x);
  const Outcome checked =
      run("tcc-run", str("m.onnx --dim batch=1..64 --input x=x7.npy --check --device ", device));
  EXPECT_EQ(checked.code, 0) << checked.text;
  EXPECT_NE(checked.text.find("y: f32[7, 5]  ok"), std::string::npos) << checked.text;
}

TEST_F(PackagePrograms, StatesGrow) {
  const std::string device = lavapipe();
  if (device.empty()) GTEST_SKIP() << "no lavapipe";
  write_file_atomic(path("grow.yaml"),
                    "tcc: 1\nname: grow\ndims: {P: 8}\n"
                    "inputs: {x: {dtype: f32, shape: [2, 1]}}\n"
                    "states: {s: {dtype: f32, shape: [2, P + 1]}}\n"
                    "nodes:\n  - {out: a, op: append, in: [s, x], dim: 1, length: P}\n"
                    "  - {out: y, op: sum, in: [a], dim: [1]}\noutputs: [y]\n");
  const Outcome made =
      run("tcc-compile", "grow.yaml --dim P=0..8 --target vulkan:lavapipe --package grow.tccpkg");
  ASSERT_EQ(made.code, 0) << made.text;
  write_npy(path("x.npy"), [] {
    Tensor x(DType::f32, {2, 1});
    x.set(0, 1);
    x.set(1, 2);
    return x;
  }());
  const std::string on = " --device " + device + " --input x=x.npy ";
  for (const char* model : {"grow.tccpkg", "grow.yaml --dim P=0..8"}) {
    const Outcome three =
        run("tcc-run", model + on + "--runs 3 --save-states s3.safetensors --outputs y.npy");
    ASSERT_EQ(three.code, 0) << three.text;
    EXPECT_NE(three.text.find("state s: f32[2, 3]\n"), std::string::npos) << three.text;
    EXPECT_EQ(open_tensor_file(path("y.npy"))->load("").get(1), 6);
    const Outcome five = run("tcc-run", model + on +
                                            "--runs 2 --load-states s3.safetensors "
                                            "--save-states s5.safetensors --outputs y.npy");
    ASSERT_EQ(five.code, 0) << five.text;
    EXPECT_EQ(open_tensor_file(path("s5.safetensors"))->load("s").shape(),
              (std::vector<int64_t>{2, 5}));
    EXPECT_EQ(open_tensor_file(path("y.npy"))->load("").get(1), 10);
    EXPECT_NE(run("tcc-run", model + on + "--runs 10").text.find("state 's' is full"),
              std::string::npos);
  }
  const Outcome reference =
      run("tcc-run",
          "grow.yaml --dim P=0..8 --input x=x.npy --device reference --runs 2 "
          "--load-states s3.safetensors --outputs y.npy");
  ASSERT_EQ(reference.code, 0) << reference.text;
  EXPECT_NE(reference.text.find("state s: f32[2, 5]\n"), std::string::npos) << reference.text;
  EXPECT_EQ(open_tensor_file(path("y.npy"))->load("").get(1), 10);
  EXPECT_NE(run("tcc-run", "grow.yaml --dim P=0..8 --device reference --runs 10")
                .text.find("state 's' is full: it is 9 long, and P = 0..8"),
            std::string::npos);
  const std::string start = "grow.tccpkg" + on;
  EXPECT_EQ(run("tcc-run", start + "--at P=3").text,
            "tcc-run: --at P=3: it is the length of state 's'\n");
}

// Each run is compared with the reference at its length, whole memory and all; inputs that are as
// long as the state are drawn for it.
TEST_F(PackagePrograms, RunsOfStatesThatGrowAreChecked) {
  const std::string device = lavapipe();
  if (device.empty()) GTEST_SKIP() << "no lavapipe";
  write_file_atomic(
      path("grow.yaml"),
      "tcc: 1\nname: grow\ndims: {P: 8, N: 2}\n"
      "inputs: {x: {dtype: f32, shape: [2, N]}, mask: {dtype: f32, shape: [P + N]}}\n"
      "states: {s: {dtype: f32, shape: [2, P + N]}, t: {dtype: f32, shape: [P + N, 3]},\n"
      "  n: {dtype: i32, shape: []}}\n"
      "nodes:\n  - {out: a, op: append, in: [s, x], dim: 1, length: P}\n"
      "  - {out: now, op: slice, in: [a], dim: 1, start: 0, end: P + N}\n"
      "  - {out: m, op: mul, in: [now, mask]}\n"
      "  - {out: y, op: softmax, in: [m], dim: 1}\n"
      "  - {out: of_all, op: mean, in: [a], dim: [1]}\n"
      "  - {out: r, op: sum, in: [x], dim: [0]}\n"
      "  - {out: c, op: reshape, in: [r], shape: [N, 1]}\n"
      "  - {out: rows, op: expand, in: [c], size: [N, 3]}\n"
      "  - {out: b, op: append, in: [t, rows], dim: 0, length: P}\n"
      "  - {out: more, op: add, in: [n, 1]}\n"
      "  - {out: stored, op: assign, in: [n, more]}\n"
      "outputs: [y, of_all]\n");
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string graph = "grow.yaml --dim P=0..10 --dim N=1..4 --at N=3 --device ";
  const Outcome four =
      run("tcc-run", graph + device + " --runs 3 --check --save-states s.safetensors");
  EXPECT_EQ(four.code, 0) << four.text;
  for (const char* line : {"y: f32[2, 9]  ok", "of_all: f32[2]  ok", "state s: f32[2, 9]  ok",
                           "state t: f32[9, 3]  ok", "state n: i32[]  ok"})
    EXPECT_TRUE(has(four.text, line)) << four.text;
  const Outcome more =
      run("tcc-run", graph + device + " --dtype f32 --load-states s.safetensors --check --json");
  EXPECT_EQ(more.code, 0) << more.text;
  EXPECT_TRUE(has(more.text, "\"f32[2, 12]\"")) << more.text;
  EXPECT_TRUE(has(more.text, "\"pass\": true")) << more.text;
  EXPECT_TRUE(has(run("tcc-run", graph + "reference --runs 4 --check").text, "y: f32[2, 12]  ok"));
  // 12 rows are in it, of 14 that there is room for.
  const Outcome full = run("tcc-run", graph + device + " --runs 5 --check");
  EXPECT_EQ(full.code, 2) << full.text;
  EXPECT_TRUE(has(full.text, "state 's' is full: it is 12 long, and P = 0..10")) << full.text;
  EXPECT_TRUE(has(run("tcc-run", graph + device + " --runs 4 --check --dtype f16").text,
                  "y: f16[2, 12]  ok"));
}

// A package has inputs that are as long as a state for each of its lengths.
TEST_F(PackagePrograms, InputsAreDrawnForEachLengthOfAState) {
  const std::string device = lavapipe();
  if (device.empty()) GTEST_SKIP() << "no lavapipe";
  write_file_atomic(path("grow.yaml"),
                    "tcc: 1\nname: grow\ndims: {P: 8}\n"
                    "inputs: {x: {dtype: f32, shape: [2, 1]}, mask: {dtype: f32, shape: [P + 1]}}\n"
                    "states: {s: {dtype: f32, shape: [2, P + 1]}}\n"
                    "nodes:\n  - {out: a, op: append, in: [s, x], dim: 1, length: P}\n"
                    "  - {out: now, op: slice, in: [a], dim: 1, start: 0, end: P + 1}\n"
                    "  - {out: y, op: mul, in: [now, mask]}\noutputs: [y]\n");
  ASSERT_EQ(
      run("tcc-compile", "grow.yaml --dim P=1..8 --target vulkan:lavapipe --package grow.tccpkg")
          .code,
      0);
  const auto values = [&](const char* name) {
    const Tensor tensor = open_tensor_file(path("y.npz"))->load(name);
    std::vector<double> all;
    for (int64_t i = 0; i < tensor.numel(); ++i) all.push_back(tensor.get(i));
    return all;
  };
  Tensor mask(DType::f32, {5});
  for (int64_t i = 0; i < 5; ++i) mask.set(i, static_cast<double>(i));
  write_npy(path("mask5.npy"), mask);
  std::vector<std::vector<double>> of_models;
  for (const char* model : {"grow.tccpkg", "grow.yaml --dim P=1..8"}) {
    const std::string on = str(model, " --device ", device, " --outputs y.npz ");
    const Outcome three = run("tcc-run", on + "--runs 3 --save-states s.safetensors");
    ASSERT_EQ(three.code, 0) << three.text;
    EXPECT_NE(three.text.find("y: f32[2, 4]\n"), std::string::npos) << three.text;
    of_models.push_back(values("y"));
    // The state is 4 long when it is loaded.
    const Outcome four = run("tcc-run", on + "--load-states s.safetensors");
    ASSERT_EQ(four.code, 0) << four.text;
    EXPECT_NE(four.text.find("y: f32[2, 5]\n"), std::string::npos) << four.text;
    const Outcome given = run("tcc-run", on + "--load-states s.safetensors --input mask=mask5.npy");
    ASSERT_EQ(given.code, 0) << given.text;
    const Outcome shorter = run("tcc-run", on + "--input mask=mask5.npy");
    EXPECT_EQ(shorter.code, 2);
    EXPECT_EQ(shorter.text,
              "tcc-run: mask5.npy: dim 0 of input 'mask' is 5: P = 4, but P = 1 by the first "
              "length of state 's'\n");
    EXPECT_NE(run("tcc-run", on + "--runs 9").text.find("state 's' is full: it is 9 long"),
              std::string::npos);
    run("tcc-run", on + "--runs 8 --save-states full.safetensors");
    EXPECT_EQ(run("tcc-run", on + "--load-states full.safetensors").text,
              "tcc-run: full.safetensors: state 's' is 9 long, and P = 9 is above 8 (P = 1..8)\n");
    EXPECT_EQ(
        run("tcc-run", str("grow.yaml --dim P=free --device ", device)).text,
        "tcc-run: state 's' grows from run to run: its length P stays open, and needs a range "
        "(--dim P=0..4095)\n");
  }
  EXPECT_EQ(of_models[0], of_models[1]) << "a package and its graph draw the same inputs";
}

TEST_F(PackagePrograms, SizesComeFromAtAndFromInputs) {
  const std::string device = lavapipe();
  if (device.empty()) GTEST_SKIP() << "no lavapipe";
  write_file_atomic(path("open.yaml"),
                    "tcc: 1\nname: open\ndims: {B: 16}\n"
                    "inputs: {x: {dtype: f32, shape: [B, 5]}}\n"
                    "nodes: [{out: y, op: exp, in: [x]}]\noutputs: [y]\n");
  ASSERT_EQ(run("tcc-compile",
                "open.yaml --dim B=1..8 --specialize B=4 --target vulkan:lavapipe "
                "--package open.tccpkg")
                .code,
            0);
  const std::string manifest = exec::Package::load(path("open.tccpkg")).manifest();
  EXPECT_NE(manifest.find("\n#   kernel 0: pointwise"), std::string::npos) << manifest;
  EXPECT_NE(manifest.find("\n#   B=4, kernel 0: pointwise"), std::string::npos) << manifest;
  write_npy(path("x7.npy"), Tensor(DType::f32, {7, 5}));
  write_npy(path("x9.npy"), Tensor(DType::f32, {9, 5}));
  const std::string on = " --device " + device;
  // The same of a package and of a graph, but for the size without --at.
  for (const std::string model : {"open.tccpkg", "open.yaml --dim B=1..8"}) {
    const auto first_line = [&](const std::string& arguments) {
      const std::string text = run("tcc-run", model + on + arguments).text;
      return text.substr(0, text.find('\n'));
    };
    EXPECT_EQ(first_line(" --at B=5"), "y: f32[5, 5]");
    EXPECT_EQ(first_line(" --input x=x7.npy"), "y: f32[7, 5]");
    EXPECT_EQ(first_line(" --input x=x7.npy --at B=7"), "y: f32[7, 5]");
    EXPECT_EQ(first_line(" --input x=x7.npy --at B=5"),
              "tcc-run: x7.npy: dim 0 of input 'x' is 7: B = 7, but B = 5 by --at");
    EXPECT_EQ(first_line(" --input x=x7.npy --at B=7,5"),
              "tcc-run: x7.npy: dim 0 of input 'x' is 7: B = 7, but B = 5 by --at");
    const std::string all = run("tcc-run", model + on + " --at B=5,1 --at B=4").text;
    size_t place = 0;
    for (const char* part :
         {"B = 5:\ny: f32[5, 5]\n", "B = 1:\ny: f32[1, 5]\n", "B = 4:\ny: f32[4, 5]\n", "arena"}) {
      place = all.find(part, place);
      ASSERT_NE(place, std::string::npos) << part << " is missing: " << all;
    }
    for (const char* option : {"--outputs o.npz", "--save-states s.safetensors"})
      EXPECT_EQ(first_line(str(" --at B=1,2 ", option)),
                str("tcc-run: ", option, ": has the results of one run, and --at names 2"));
    EXPECT_EQ(first_line(" --input x=x9.npy"),
              "tcc-run: x9.npy: dim 0 of input 'x' is 9: B = 9 is above 8 (B = 1..8)");
  }
  EXPECT_EQ(
      run("tcc-run", "open.tccpkg" + on).text,
      "tcc-run: open.tccpkg: 'B' has no size: give --at B=N, or an input whose shape tells it "
      "(B = 1..8)\n");
  EXPECT_EQ(run("tcc-run", "open.tccpkg --at S=4" + on).text,
            "tcc-run: --at S=4: open.tccpkg has no open dim 'S'; it has B = 1..8\n");
  // The length of a state is no size that --at gives.
  const std::string sums = (testing::source_dir() / "tests/data/packages/sums-14.tccpkg").string();
  EXPECT_TRUE(run("tcc-run", sums + on).text.ends_with(" shape tells it (N = 1..64)\n"));
  EXPECT_TRUE(
      run("tcc-run", "open.yaml --dim B=1..8" + on)
          .text.starts_with("tcc-run: note: this run has B = 3 (--at B=N gives another size)"));
  const std::string small = run("tcc-run", "open.tccpkg --at B=4 --bench 2" + on).text;
  EXPECT_NE(small.find("of the variant for these sizes"), std::string::npos) << small;
  EXPECT_EQ(run("tcc-run", "open.yaml --input x=x7.npy" + on).text,
            "tcc-run: x7.npy: dim 0 of input 'x' is 7: B = 7, but B = 16 by the graph's default "
            "(--dim B=N gives another)\n");
}

// A program that runs packages brings little along.
TEST_F(PackagePrograms, TheRuntimeIsSmallAndNeedsNoCompiler) {
#ifdef TCC_SANITIZE
  GTEST_SKIP() << "a sanitizer's library is larger";
#endif
  const std::string library = (testing::binary_dir() / "lib/libtcc-runtime.so").string();
  if (!fs::exists(library)) GTEST_SKIP() << "not built";
  const Outcome stripped =
      testing::run_command(str("strip -o '", path("runtime.so"), "' '", library, "' 2>&1"));
  if (stripped.code != 0) GTEST_SKIP() << "no strip";
  EXPECT_LE(fs::file_size(path("runtime.so")), uintmax_t{3} << 20);
  const Outcome needed = testing::run_command(str("readelf -d '", library, "' | grep NEEDED"));
  std::istringstream lines(needed.text);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(line.find('[') + 1);
    EXPECT_TRUE(std::ranges::any_of(
        std::initializer_list<const char*>{"libtbb.so", "libstdc++.so", "libm.so", "libgcc_s.so",
                                           "libc.so", "libdl.so", "libpthread.so", "ld-linux"},
        [&](const char* known) { return name.starts_with(known); }))
        << line;
  }
}

}  // namespace
}  // namespace tcc
