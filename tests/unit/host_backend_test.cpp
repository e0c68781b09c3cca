// A third back end that only this file knows: C++ of the host, compiled by the system's compiler
// into shared objects, which a device of its own loads and runs on the CPU. It has a dialect of its
// own, workgroups of one thread and no device source, so that products are serial sums. Whole
// graphs are compared with the reference.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>

#include "backends/backend.h"
#include "backends/compile/process.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "runtime/device_checks.h"
#include "scheduler/device_sources.h"
#include "tests/expect_error.h"
#include "tests/ops/op_batch.h"
#include "tests/run_graph.h"

namespace tcc::backends {
namespace {

constexpr const char* kName = "host_cpp";

// ---- the dialect

// A kernel is a function of a workgroup's number; its entry calls it for each. Arguments come as
// words, which become what the parameters are.
constexpr const char* kHeader = R"(struct Words2 { unsigned x, y; };
struct Words4 { unsigned x, y, z, w; };
template <class T> static inline T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T max(T a, T b) { return a < b ? b : a; }
struct tcc_host_word {
  unsigned long long word;
  template <class T> operator T() const { return (T)word; }
};
template <class... T, class... Given>
static inline void tcc_host_call(void (*kernel)(long long, T...), long long workgroup,
                                 const unsigned long long* words, Given... given) {
  if constexpr (sizeof...(Given) == sizeof...(T))
    kernel(workgroup, given...);
  else
    tcc_host_call(kernel, workgroup, words, given..., tcc_host_word{words[sizeof...(Given)]});
}
)";

const Dialect& host_dialect() {
  static const Dialect dialect = [] {
    Dialect d;
    d.name = kName;
    d.source_ending = d.emit_ending = ".cpp";
    d.prelude = "common/prelude_cpp.inc";
    d.reserved = std::string(cpp_keywords()) + " Words2 Words4 min max";
    d.header = kHeader;
    d.storage = {{DType::f64, "f64"},  {DType::f32, "f32"},   {DType::f16, "u16"},
                 {DType::bf16, "u16"}, {DType::f8e4m3, "u8"}, {DType::f8e5m2, "u8"},
                 {DType::i8, "i8"},    {DType::i16, "i16"},   {DType::i32, "i32"},
                 {DType::i64, "i64"},  {DType::u8, "u8"},     {DType::u16, "u16"},
                 {DType::u32, "u32"},  {DType::u64, "u64"},   {DType::boolean, "u8"}};
    d.buffer_parameter = "{access}{storage}* {restrict}{name}";
    d.read_only = "const ";
    d.restrict = "__restrict__ ";
    d.size_parameter = "i64 {name}";
    d.number_parameter = "i32 {name}";
    d.parameter_separator = ", ";
    d.element = "{buffer}[{index}]";
    d.word = "Words{words}";
    d.vector_load = "((const {word}*){buffer})[{index}]";
    d.vector_store = "(({word}*){buffer})[{index}] = {value}";
    d.vector_make = "Words{words}{{values}}";
    d.vector_word = "{vector}.{component}";
    d.entry = "static void {name}_of(i64 tcc_workgroup, {parameters})";
    d.entry_suffix =
        "extern \"C\" void {name}(const u64* words, i64 workgroups) {\n"
        "  for (i64 i = 0; i < workgroups; ++i) tcc_host_call({name}_of, i, words);\n"
        "}\n";
    d.block_index = "tcc_workgroup";
    d.thread_index = d.lane_thread_index = "0";
    d.shared = "static thread_local {type} {name}[{count}];";
    d.barrier = ";";
    d.int64_literal = "{value}ll";
    return d;
  }();
  return dialect;
}

// ---- the compiler

ProcessResult run_compiler(std::vector<std::string> arguments, const std::string& input) {
  arguments.insert(arguments.begin(), "c++");
  return run_process(arguments,
                     ProcessOptions{.timeout = std::chrono::seconds(120), .input = input});
}

// Its name and version; "": there is none.
const std::string& compiler() {
  static const std::string name = [] {
    try {
      const ProcessResult result = run_compiler({"--version"}, "");
      return result.exit_code == 0 ? result.output.substr(0, result.output.find('\n')) : "";
    } catch (const Error&) { return std::string(); }
  }();
  return name;
}

constexpr const char* kOptions[] = {
    "-std=c++17",          "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-fwrapv",
    "-fno-strict-aliasing"};

class HostBackend : public Backend {
 public:
  sched::Api api() const override { return sched::api_of(kName); }
  const Dialect& dialect() const override { return host_dialect(); }
  std::string compiler_missing() const override {
    return compiler().empty() ? "there is no c++ in PATH" : "";
  }
  std::string compiler_id() const override { return compiler(); }
  std::string flags(const sched::Target&, const TextKind&) const override {
    std::string text;
    for (const char* option : kOptions) text += str(option, " ");
    return text;
  }
  std::string instruction_set(const sched::Target&) const override { return "host"; }
  std::vector<uint8_t> compile(const std::string& source, const std::string& name,
                               const sched::Target&, const TextKind&) const override {
    const TemporaryFolder folder;
    const std::string file = (folder.path() / "kernel.so").string();
    std::vector<std::string> arguments(std::begin(kOptions), std::end(kOptions));
    arguments.insert(arguments.end(), {"-x", "c++", "-", "-o", file});
    const ProcessResult result = run_compiler(arguments, source);
    if (result.exit_code != 0)
      fail_device("kernel ", name, ": ", result.output.substr(0, 2000), "\n", source);
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string code_ending(const std::vector<uint8_t>&) const override { return ".so"; }
  std::string smallest_source() const override { return "int warm;\n"; }
};

const RegisterBackend<HostBackend> registered;

sched::Target host_target() {
  sched::Target target;
  target.api = sched::api_of(kName);
  exec::set_software(target);
  target.max_workgroup_size = 1;
  target.subgroup_size = target.subgroup_size_min = target.subgroup_size_max = 1;
  target.subgroup_shuffle = false;
  target.unified_memory = true;
  target.full_workgroup = target.busy_threads = 1;
  return target;
}

const sched::RegisterTargets targets({kName,
                                      [](std::string_view name) -> std::optional<sched::Target> {
                                        if (name.empty()) return host_target();
                                        return std::nullopt;
                                      },
                                      [] { return std::vector<std::string>{""}; }});

// ---- the device

using runtime::BoundStep;
using runtime::DeviceAddress;

std::byte* pointer(DeviceAddress address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

struct HostBuffer final : runtime::Buffer {
  HostBuffer(std::atomic<int64_t>& used, int64_t bytes)
      : used_(&used),
        bytes_(bytes),
        data_(static_cast<std::byte*>(
            ::operator new(std::max<size_t>(1, static_cast<size_t>(bytes)), kAlignment))) {
    *used_ += bytes_;
  }
  HostBuffer(DeviceAddress address, int64_t bytes) : bytes_(bytes), data_(pointer(address)) {}
  ~HostBuffer() override {
    if (!used_) return;
    *used_ -= bytes_;
    ::operator delete(data_, kAlignment);
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  DeviceAddress address() const override { return reinterpret_cast<DeviceAddress>(data_); }
  int64_t bytes() const override { return bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{256};
  std::atomic<int64_t>* used_ = nullptr;
  int64_t bytes_;
  std::byte* data_;
};

class HostKernel final : public runtime::LoadedKernel {
 public:
  explicit HostKernel(const exec::KernelBinary& binary) : arguments_(binary.num_arguments) {
    const TemporaryFolder folder;  // the loader keeps the file open
    const std::string file = (folder.path() / "kernel.so").string();
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(binary.code.data()),
               static_cast<std::streamsize>(binary.code.size()));
    library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) fail_device(kName, ": ", dlerror());
    entry_ = reinterpret_cast<Entry*>(dlsym(library_, binary.entry.c_str()));
    if (!entry_) fail_device(kName, ": no kernel ", binary.entry);
  }
  ~HostKernel() override { dlclose(library_); }
  HostKernel(const HostKernel&) = delete;
  HostKernel& operator=(const HostKernel&) = delete;

  void run(const runtime::BoundLaunch& launch) const {
    TCC_CHECK(static_cast<int>(launch.arguments.size()) == arguments_, launch.arguments.size(),
              " arguments for a kernel of ", arguments_);
    const auto [x, y, z] = launch.grid;
    entry_(reinterpret_cast<const unsigned long long*>(launch.arguments.data()),
           static_cast<long long>(x) * y * z);
  }

 private:
  using Entry = void(const unsigned long long*, long long);
  const int arguments_;
  void* library_ = nullptr;
  Entry* entry_ = nullptr;
};

void run_step(const BoundStep& step) {
  runtime::check_words(step);
  if (const auto* launch = std::get_if<runtime::BoundLaunch>(&step))
    dynamic_cast<const HostKernel&>(*launch->kernel).run(*launch);
  if (const auto* copy = std::get_if<runtime::BoundCopy>(&step); copy && copy->bytes > 0)
    std::memcpy(pointer(copy->to), pointer(copy->from), static_cast<size_t>(copy->bytes));
  if (const auto* fill = std::get_if<runtime::BoundFill>(&step); fill && fill->bytes > 0)
    std::memset(pointer(fill->to), fill->value, static_cast<size_t>(fill->bytes));
}

struct HostRecording final : runtime::Recording {
  explicit HostRecording(std::span<const BoundStep> given) : steps(given.begin(), given.end()) {}
  const std::vector<BoundStep> steps;
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class HostStream final : public runtime::Stream {
 public:
  void run(const runtime::Recording& recording) override {
    run(dynamic_cast<const HostRecording&>(recording).steps);
  }
  void run(std::span<const BoundStep> steps) override {
    for (const BoundStep& step : steps) run_step(step);
  }
  void copy_to_device(runtime::Buffer& to, int64_t offset,
                      std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(at(to, offset, std::ssize(from)), from.data(), from.size());
  }
  void copy_to_host(std::span<std::byte> to, const runtime::Buffer& from, int64_t offset) override {
    if (!to.empty()) std::memcpy(to.data(), at(from, offset, std::ssize(to)), to.size());
  }
  void fill(runtime::Buffer& buffer, int64_t offset, int64_t bytes, uint8_t value) override {
    std::memset(at(buffer, offset, bytes), value, static_cast<size_t>(bytes));
  }
  void synchronize() override {}
  std::vector<double> time_each(std::span<const BoundStep> steps) override {
    std::vector<double> seconds;
    for (const BoundStep& step : steps) seconds.push_back(seconds_of([&] { run_step(step); }));
    return seconds;
  }
  double time(const runtime::Recording& recording, int repeat) override {
    return seconds_of([&] {
             for (int i = 0; i < repeat; ++i) run(recording);
           }) /
           std::max(1, repeat);
  }

 private:
  static std::byte* at(const runtime::Buffer& buffer, int64_t offset, int64_t bytes) {
    runtime::check_range(offset, bytes, buffer.bytes());
    return pointer(buffer.address()) + offset;
  }
};

class HostDevice final : public runtime::Device {
 public:
  const exec::Target& target() const override { return target_; }
  std::string name() const override { return kName; }
  int64_t memory_bytes() const override { return int64_t{1} << 30; }
  int64_t allocated_bytes() const override { return used_; }
  std::unique_ptr<runtime::Buffer> allocate(int64_t bytes) override {
    return std::make_unique<HostBuffer>(used_, bytes);
  }
  std::unique_ptr<runtime::Buffer> wrap(DeviceAddress address, int64_t bytes) override {
    return std::make_unique<HostBuffer>(address, bytes);
  }
  std::unique_ptr<runtime::LoadedKernel> load(const exec::KernelBinary& binary) override {
    return std::make_unique<HostKernel>(binary);
  }
  std::unique_ptr<runtime::Stream> create_stream() override {
    return std::make_unique<HostStream>();
  }
  std::unique_ptr<runtime::Stream> wrap_stream(void*) override {
    fail_input(kName, ": this device has no streams of the caller's");
  }
  std::unique_ptr<runtime::Recording> record(std::span<const BoundStep> steps) override {
    return std::make_unique<HostRecording>(steps);
  }

 private:
  const exec::Target target_ = host_target();
  std::atomic<int64_t> used_ = 0;
};

std::shared_ptr<runtime::Device> open_host(int) { return std::make_shared<HostDevice>(); }
const runtime::RegisterDevices devices({kName, -2, nullptr, open_host});

// ---- what it computes

class HostBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = HostBackend().compiler_missing(); !reason.empty())
      GTEST_SKIP() << reason;
  }
};

ir::Graph parse(const std::string& text) {
  return parse_yaml_graph("tcc: 1\nname: g\n" + text, "g.yaml", ".");
}

// By step.
std::vector<std::string> templates_of(const exec::Executable& executable) {
  std::vector<std::string> names;
  for (const exec::KernelLaunch* launch : exec::launches(executable))
    names.push_back(executable.kernels.at(static_cast<size_t>(launch->kernel)).template_name);
  return names;
}

struct GraphCase {
  const char* name;
  const char* text;  // {T} is a type of floats
  std::vector<std::string> templates;
};

const GraphCase kGraphs[] = {
    {"pointwise",
     "inputs: {x: {dtype: {T}, shape: [7, 33]}, y: {dtype: {T}, shape: [33]}}\n"
     "nodes:\n  - {out: a, op: add, in: [x, y]}\n  - {out: b, op: gelu, in: [a]}\n"
     "  - {out: c, op: tanh, in: [b]}\noutputs: [c]\n",
     {"pointwise"}},
    {"softmax",
     "inputs: {x: {dtype: {T}, shape: [5, 70]}}\n"
     "nodes: [{out: y, op: softmax, in: [x], dim: 1}]\noutputs: [y]\n",
     {"reduction"}},
    {"softmax_of_columns",
     "inputs: {x: {dtype: {T}, shape: [70, 24]}}\n"
     "nodes: [{out: y, op: softmax, in: [x], dim: 0}]\noutputs: [y]\n",
     {"reduction"}},
    {"layer_norm",
     "inputs: {x: {dtype: {T}, shape: [6, 96]}, w: {dtype: {T}, shape: [96]}, b: {dtype: {T}, "
     "shape: [96]}}\n"
     "nodes: [{out: y, op: layer_norm, in: [x, w, b], normalized_shape: [96]}]\noutputs: [y]\n",
     {"reduction"}},
    {"linear_and_epilogue",
     "inputs: {x: {dtype: {T}, shape: [9, 48]}, w: {dtype: {T}, shape: [20, 48]}, b: {dtype: {T}, "
     "shape: [20]}, r: {dtype: {T}, shape: [9, 20]}}\n"
     "nodes:\n  - {out: l, op: linear, in: [x, w, b]}\n  - {out: g, op: gelu, in: [l]}\n"
     "  - {out: y, op: add, in: [g, r]}\noutputs: [y]\n",
     {"pointwise"}},
    {"batched_matmul",
     "inputs: {a: {dtype: {T}, shape: [3, 8, 40]}, b: {dtype: {T}, shape: [3, 40, 12]}}\n"
     "nodes: [{out: y, op: matmul, in: [a, b]}]\noutputs: [y]\n",
     {"pointwise"}},
    {"convolution",
     "inputs: {x: {dtype: {T}, shape: [2, 6, 9, 11]}, w: {dtype: {T}, shape: [8, 6, 3, 3]}, b: "
     "{dtype: {T}, shape: [8]}}\n"
     "nodes:\n  - {out: c, op: conv2d, in: [x, w, b], stride: [2, 1], padding: [1, 1]}\n"
     "  - {out: y, op: relu, in: [c]}\noutputs: [y]\n",
     {"pointwise"}},
    {"attention",
     "inputs: {q: {dtype: {T}, shape: [2, 3, 10, 16]}, k: {dtype: {T}, shape: [2, 3, 14, 16]}, v: "
     "{dtype: {T}, shape: [2, 3, 14, 16]}}\n"
     "nodes: [{out: y, op: scaled_dot_product_attention, in: [q, k, v]}]\noutputs: [y]\n",
     {}},
    {"cumsum",
     "inputs: {x: {dtype: {T}, shape: [4, 53]}}\n"
     "nodes: [{out: y, op: cumsum, in: [x], dim: 1}]\noutputs: [y]\n",
     {"scan"}},
    {"cumsum_of_columns",
     "inputs: {x: {dtype: {T}, shape: [53, 6]}}\n"
     "nodes: [{out: y, op: cumsum, in: [x], dim: 0}]\noutputs: [y]\n",
     {"scan"}},
    {"sort",
     "inputs: {x: {dtype: {T}, shape: [3, 37]}}\n"
     "nodes: [{out: [y, i], op: sort, in: [x], dim: 1}]\noutputs: [y, i]\n",
     {}},
    {"gather",
     "inputs: {x: {dtype: {T}, shape: [30, 8]}, i: {dtype: i32, shape: [5, 8], range: [0, 30]}}\n"
     "nodes: [{out: y, op: gather, in: [x, i], dim: 0}]\noutputs: [y]\n",
     {"pointwise"}},
    {"argmax",
     "inputs: {x: {dtype: {T}, shape: [6, 41]}}\n"
     "nodes: [{out: y, op: argmax, in: [x], dim: 1}]\noutputs: [y]\n",
     {"reduction"}},
};

std::string of_type(std::string text, std::string_view dtype) {
  for (size_t at; (at = text.find("{T}")) != text.npos;) text.replace(at, 3, dtype);
  return text;
}

TEST_F(HostBackendTest, ComputesGraphsAsTheReferenceDoes) {
  for (const GraphCase& c : kGraphs)
    for (const char* dtype : {"f32", "bf16", "f16"}) {
      SCOPED_TRACE(str(c.name, " ", dtype));
      const ir::Graph graph = parse(of_type(c.text, dtype));
      EXPECT_EQ(test::difference(graph, kName, test::draw_inputs(graph, {}), {}), "");
      if (c.templates.empty() || std::string_view(dtype) != "f32") continue;
      CompileOptions options;
      options.binaries = false;
      EXPECT_EQ(templates_of(compile(graph, host_target(), options)), c.templates);
    }
}

TEST_F(HostBackendTest, ComputesIntegers) {
  const ir::Graph graph = parse(
      "inputs: {x: {dtype: i32, shape: [5, 30], range: [-1000, 1000]}, y: {dtype: i32, shape: [30, "
      "4], range: [-90, 90]}}\n"
      "nodes:\n  - {out: p, op: matmul, in: [x, y]}\n  - {out: s, op: sum, in: [p], dim: [1]}\n"
      "  - {out: c, op: cumsum, in: [x], dim: 1}\n  - {out: m, op: maximum, in: [c, x]}\n"
      "outputs: [p, s, m]\n");
  EXPECT_EQ(test::difference(graph, kName, test::draw_inputs(graph, {}), {}), "");
}

// Every sample of the table: all of them where TCC_HOST_OPS is "all".
std::vector<std::string> checked_ops() {
  const char* asked = std::getenv("TCC_HOST_OPS");
  if (asked && std::string_view(asked) == "all") return test::op_names();
  return {"add",     "exp",       "pow",        "where",      "cast",   "sum",    "max",
          "softmax", "mean",      "max_pool2d", "matmul",     "conv2d", "gather", "cumsum",
          "topk",    "transpose", "flip",       "group_norm", "slice",  "cat",    "bernoulli"};
}

class HostBackendOps : public HostBackendTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(HostBackendOps, AgreeWithTheReference) {
  const ir::OpDef* op = ir::find_op(GetParam());
  ASSERT_TRUE(op) << GetParam();
  test::Batch batch;
  for (size_t k = 0; k < op->samples.size(); ++k) {
    const ir::OpSample& sample = op->samples[k];
    const ir::Graph graph = test::sample_graph(*op, sample);
    batch.add(graph,
              test::draw_inputs(graph, {sample.lo, sample.hi, sample.int_lo, sample.int_hi, k}));
  }
  EXPECT_EQ(batch.difference(kName, {}), "");
}

INSTANTIATE_TEST_SUITE_P(Table, HostBackendOps, ::testing::ValuesIn(checked_ops()),
                         [](const auto& given) { return given.param; });

TEST_F(HostBackendTest, HasWorkgroupsOfOneThread) {
  const Scheduled scheduled = schedule(parse(of_type(kGraphs[3].text, "f32")), host_target());
  for (const sched::ScheduledRegion& region : scheduled.regions) {
    const sched::Candidate& candidate = region.candidate();
    int checked = 0;
    candidate.space().enumerate([&](const sched::Config& config) {
      EXPECT_EQ(candidate.lower(config).launches.at(0).kernel.workgroup, 1) << config.to_string();
      return ++checked < 20;
    });
    EXPECT_GT(checked, 0);
  }
}

// Nor do products on a target of the language with larger workgroups.
TEST_F(HostBackendTest, NeedsNoDeviceSource) {
  EXPECT_FALSE(sched::has_device_source(host_target(), "contraction"));
  EXPECT_TRUE(sched::has_device_source(sched::target_by_name("cuda:sm_80"), "contraction"));
  sched::Target target = host_target();
  target.max_workgroup_size = 256;
  CompileOptions options;
  options.binaries = false;
  EXPECT_EQ(templates_of(compile(parse(of_type(kGraphs[4].text, "f32")), target, options)),
            std::vector<std::string>{"pointwise"});
  options.open_dims = {{"B", {1, 64, 1}}};
  const ir::Graph graph = parse(
      "dims: {B: 16}\ninputs: {x: {dtype: f32, shape: [B, 48]}, w: {dtype: f32, shape: [20, 48]}}\n"
      "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n");
  EXPECT_ERROR_KIND(compile(graph, target, options), ErrorKind::bad_input,
                    "the back end of host_cpp has no device source 'contraction'");
}

TEST_F(HostBackendTest, ProgramsAreSavedAndRunAgain) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "linear.tccx";
  const ir::Graph graph = parse(of_type(kGraphs[4].text, "f32"));
  exec::save_executable(compile(graph, host_target()), file);
  const auto program = std::make_shared<const runtime::Program>(runtime::open_device(kName),
                                                                exec::load_executable(file));
  runtime::Context context(program);
  const std::vector<Tensor> inputs = test::draw_inputs(graph, {});
  EXPECT_EQ(test::compare_with_reference(graph, inputs, context.run(inputs)), "");
}

}  // namespace
}  // namespace tcc::backends
