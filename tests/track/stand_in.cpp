// A stand-in for libtcc-core.so: the functions that tcc-track looks up, with simulated times. The
// file `behaviour` beside the library says how it behaves, a rule a line:
//
//   noise X, placement X       deviations of the logarithm of a time: of each measurement, and of
//                              each process
//   seed N                     of both
//   opened abort, opened sleep what opening it does
//   FAULT CASE [VALUE]         of the case whose graph file is CASE.yaml:
//     slow FACTOR              its time is that many times as long
//     time SECONDS             its time is that; "nan" too
//     launches N, arena N      what it needs
//     elements N               of its input and output, as this library reads the graph
//     compile_seconds X        compiling it takes that long
//     refuse MESSAGE           compiling it fails
//     wrong, nan, crash, hang  what running it does
//     lost                     from then on every call in this process fails
//     interrupt N              the N-th process that runs it interrupts tcc-track
//     killed N                 as often the process that runs it is killed
//
// Processes are numbered by the file `processes` beside the library: every run of a test draws the
// same numbers.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <new>
#include <random>
#include <sstream>
#include <string>

#include "tcc/c_api.h"

struct tcc_graph {
  std::string name;
};
struct tcc_compiled {
  std::string name;
  int64_t shape[1];
  std::string shape_text;
};
struct tcc_context {
  std::string name;
};

namespace {

constexpr int64_t kElements = 16;
constexpr double kSeconds = 20e-6;  // of every case

thread_local std::string last_error;

// Adds a byte to a file beside the library and returns how many it has.
int count_up(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  struct stat status = {};
  const bool counted = ::write(descriptor, ".", 1) == 1 && ::fstat(descriptor, &status) == 0;
  ::close(descriptor);
  return counted ? static_cast<int>(status.st_size) : 0;
}

class Behaviour {
 public:
  Behaviour() {
    Dl_info info;
    if (::dladdr(reinterpret_cast<void*>(&tcc_version), &info) == 0) std::abort();
    folder_ = std::filesystem::path(info.dli_fname).parent_path();
    std::ifstream file(folder_ / "behaviour");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string fault, name, value;
      words >> fault >> name >> std::ws;
      std::getline(words, value);
      rules_[fault][name] = value;
    }
  }

  // Null where no rule says so.
  const std::string* find(const std::string& fault, const std::string& name) const {
    const auto of_fault = rules_.find(fault);
    if (of_fault == rules_.end()) return nullptr;
    const auto of_case = of_fault->second.find(name);
    return of_case == of_fault->second.end() ? nullptr : &of_case->second;
  }
  double number(const char* fault, const std::string& name, double otherwise) const {
    const std::string* value = find(fault, name);
    return value ? std::strtod(value->c_str(), nullptr) : otherwise;
  }
  // The value of a rule without a case.
  double setting(const char* what) const {
    const auto rule = rules_.find(what);
    return rule == rules_.end() ? 0 : std::stod(rule->second.begin()->first);
  }

  // Draws what stays the same for as long as this process runs, once.
  void place() {
    if (process_ > 0) return;
    process_ = count_up(folder_ / "processes");
    random_.seed(static_cast<uint64_t>(setting("seed")) * 1000 + static_cast<uint64_t>(process_));
    placement_ = std::exp(setting("placement") * normal_(random_));
  }
  double seconds(const std::string& name) {
    return number("time", name, kSeconds) * number("slow", name, 1) * placement_ *
           std::exp(setting("noise") * normal_(random_));
  }

  // This happens before the case runs.
  void happen(const std::string& name) {
    place();
    if (find("interrupt", name) && count_up(folder_ / "interrupts") == number("interrupt", name, 0))
      ::kill(::getppid(), SIGINT);
    if (find("killed", name) && count_up(folder_ / "kills") <= number("killed", name, 0))
      ::kill(::getpid(), SIGKILL);
    if (find("crash", name)) {
      std::signal(SIGSEGV, SIG_DFL);
      ::raise(SIGSEGV);
    }
    if (find("hang", name))
      for (;;) ::pause();
    if (find("lost", name)) lost_ = true;
  }
  bool lost() const { return lost_; }

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::map<std::string, std::string>> rules_;
  int process_ = 0;
  bool lost_ = false;
  double placement_ = 1;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

Behaviour& behaviour() {
  static Behaviour one;
  return one;
}

tcc_status failed(tcc_status status, const std::string& message) {
  last_error = message;
  return status;
}

tcc_status guarded() {
  return behaviour().lost() ? failed(TCC_DEVICE_FAILED, "device lost") : TCC_OK;
}

tcc_status describe(const char* name, const tcc_compiled* compiled, size_t index,
                    tcc_tensor_info* info) {
  if (index != 0) return failed(TCC_BAD_INPUT, "no such tensor");
  *info = {sizeof *info,           name, "f32", compiled->shape_text.c_str(), 1, compiled->shape,
           compiled->shape[0] * 4, 16};
  return TCC_OK;
}

// While it is opened.
[[maybe_unused]] const bool opened = [] {
  if (behaviour().find("opened", "abort")) std::abort();
  if (behaviour().find("opened", "sleep"))
    for (;;) ::pause();
  return true;
}();

}  // namespace

const char* tcc_version() noexcept { return "0.0.stand-in"; }
const char* tcc_last_error() noexcept { return last_error.c_str(); }

tcc_status tcc_graph_load(const char* path, tcc_graph** graph) noexcept {
  if (guarded() != TCC_OK) return TCC_DEVICE_FAILED;
  *graph = new (std::nothrow) tcc_graph{std::filesystem::path(path).stem()};
  return TCC_OK;
}
void tcc_graph_destroy(tcc_graph* graph) noexcept { delete graph; }

tcc_status tcc_compile(const tcc_graph* graph, const char*, const tcc_compile_options*,
                       tcc_compiled** compiled) noexcept {
  if (guarded() != TCC_OK) return TCC_DEVICE_FAILED;
  if (const std::string* message = behaviour().find("refuse", graph->name))
    return failed(TCC_BAD_INPUT, *message);
  ::usleep(static_cast<useconds_t>(behaviour().number("compile_seconds", graph->name, 0) * 1e6));
  const auto elements =
      static_cast<int64_t>(behaviour().number("elements", graph->name, kElements));
  *compiled = new (std::nothrow)
      tcc_compiled{graph->name, {elements}, "[" + std::to_string(elements) + "]"};
  return TCC_OK;
}
void tcc_compiled_destroy(tcc_compiled* compiled) noexcept { delete compiled; }

size_t tcc_compiled_num_inputs(const tcc_compiled*) noexcept { return 1; }
size_t tcc_compiled_num_outputs(const tcc_compiled*) noexcept { return 1; }
tcc_status tcc_compiled_input(const tcc_compiled* compiled, size_t index,
                              tcc_tensor_info* info) noexcept {
  return describe("x", compiled, index, info);
}
tcc_status tcc_compiled_output(const tcc_compiled* compiled, size_t index,
                               tcc_tensor_info* info) noexcept {
  return describe("y", compiled, index, info);
}
int64_t tcc_launches(const tcc_compiled* compiled) noexcept {
  return static_cast<int64_t>(behaviour().number("launches", compiled->name, 1));
}
int64_t tcc_arena_bytes(const tcc_compiled* compiled) noexcept {
  return static_cast<int64_t>(behaviour().number("arena", compiled->name, 1024));
}
int64_t tcc_constant_bytes(const tcc_compiled*) noexcept { return 0; }
const char* tcc_kernel_report(const tcc_compiled*) noexcept {
  return R"([{"region": "relu", "template": "pointwise", "config": "", "tier": "default",
              "launches": 1, "flops": 16, "bytes": 128, "least_seconds": 1e-6,
              "region_key": "k", "source_key": "s", "layers": ["y"]}])";
}

tcc_status tcc_context_create(const tcc_compiled* compiled, tcc_context** context) noexcept {
  if (guarded() != TCC_OK) return TCC_DEVICE_FAILED;
  behaviour().place();
  *context = new (std::nothrow) tcc_context{compiled->name};
  return TCC_OK;
}
void tcc_context_destroy(tcc_context* context) noexcept { delete context; }

tcc_status tcc_context_run_host(tcc_context* context, const void* const* inputs, size_t,
                                void* const* outputs, size_t) noexcept {
  behaviour().happen(context->name);
  if (guarded() != TCC_OK) return TCC_DEVICE_FAILED;
  auto* to = static_cast<float*>(outputs[0]);
  std::memcpy(to, inputs[0], kElements * sizeof(float));
  if (behaviour().find("wrong", context->name))
    for (int64_t i = 0; i < kElements; ++i) to[i] *= 1.1F;
  if (behaviour().find("nan", context->name)) to[3] = std::numeric_limits<float>::quiet_NaN();
  return TCC_OK;
}
tcc_status tcc_context_time(tcc_context* context, int32_t, double* seconds) noexcept {
  if (guarded() != TCC_OK) return TCC_DEVICE_FAILED;
  *seconds = behaviour().seconds(context->name);
  return TCC_OK;
}
#ifndef TCC_STAND_IN_IS_OLD
tcc_status tcc_context_time_kernels(tcc_context* context, double* seconds, size_t size) noexcept {
  if (guarded() != TCC_OK || size != 1) return TCC_DEVICE_FAILED;
  *seconds = behaviour().seconds(context->name);
  return TCC_OK;
}
#endif
