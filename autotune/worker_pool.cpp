// The tuner's side of worker processes: starting, judging and replacing them.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "autotune/bench.h"
#include "autotune/worker_process.h"
#include "autotune/worker_protocol.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

using nlohmann::json;
using sched::KernelBinary;
using Outcome = WorkerProcess::Outcome;
namespace fs = std::filesystem;

constexpr double kStartSeconds = 120;  // for opening a device, and for filling a job's buffers
constexpr const char* kProgram = "tcc-worker";

fs::path folder_of_this_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

fs::path folder_of_this_library() {
  Dl_info info{};
  if (!::dladdr(reinterpret_cast<const void*>(&folder_of_this_program), &info) || !info.dli_fname)
    return {};
  std::error_code error;
  return fs::canonical(info.dli_fname, error).parent_path();
}

std::string find_program(const std::string& wanted) {
  const char* named = std::getenv("TCC_WORKER");
  if (!wanted.empty()) return wanted;
  if (named && *named) {
    if (::access(named, X_OK) == 0) return named;
    fail_device("TCC_WORKER: ", named, " is no program");
  }
  const fs::path beside = folder_of_this_program(), library = folder_of_this_library();
  for (const fs::path& folder : {beside, library, library / "../bin", library / "../libexec/tcc"}) {
    const fs::path program = folder / kProgram;
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  fail_device(kProgram, " is neither beside the program in ", beside.string(),
              " nor beside the library in ", library.string(),
              " nor in ../bin or ../libexec/tcc from there; TCC_WORKER may name it");
}

class PooledBench;

class Pool final : public WorkerPool {
 public:
  Pool(std::string device, const WorkerOptions& options)
      : device_(std::move(device)), options_(options), program_(find_program(options.program)) {
    start();
  }

  std::unique_ptr<Bench> bench(BenchJob job) override;
  int replaced() const override { return replaced_; }

  // Makes the worker ready for the candidates of `bench`. Throws Error.
  void prepare(const PooledBench& bench);
  void forget(const PooledBench& bench) {
    if (active_ == &bench) active_ = nullptr;
  }
  // The worker's measurements, or its failure as `count` of them. `bench` is active.
  std::vector<Measurement> ask(const json& request, size_t count);
  // A worker that ran a candidate which was refused or wrong may have been damaged by it.
  bool is_tainted() const { return tainted_; }
  void taint() { tainted_ = true; }
  void set_baseline_resident() { baseline_resident_ = resident_; }
  void replace();

 private:
  void start();
  // Throws what the worker's error says.
  void take(const json& reply);
  Measurement ended();

  const std::string device_;
  const WorkerOptions options_;
  const std::string program_;
  std::unique_ptr<WorkerProcess> worker_;
  const PooledBench* active_ = nullptr;  // whose job and baseline the worker has
  bool tainted_ = false;
  int64_t resident_ = 0, baseline_resident_ = 0;
  int replaced_ = 0;
};

class PooledBench final : public Bench {
 public:
  PooledBench(Pool& pool, const BenchJob& job) : pool_(pool), job_(to_json(job)) {
    pool_.prepare(*this);
  }
  ~PooledBench() override { pool_.forget(*this); }

  Measurement baseline(const KernelBinary& kernel) override {
    baseline_ = nullptr;
    pool_.prepare(*this);
    json request = baseline_request(to_json(kernel));
    Measurement measured = pool_.ask(request, 1).front();
    if (measured.status == Measurement::Status::measured) {
      baseline_ = std::move(request);
      pool_.set_baseline_resident();
    } else if (measured.status == Measurement::Status::refused) {
      pool_.replace();  // nothing is left that could tell whether the device is lost
    }
    return measured;
  }

  Measurement measure(const KernelBinary& kernel, Effort effort, double best_seconds) override {
    return candidate({{"do", "measure"},
                      {"kernel", to_json(kernel)},
                      {"effort", effort},
                      {"best_seconds", best_seconds}},
                     1)
        .front();
  }

  std::pair<Measurement, Measurement> duel(const KernelBinary& incumbent,
                                           const KernelBinary& challenger) override {
    auto both = candidate(
        {{"do", "duel"}, {"incumbent", to_json(incumbent)}, {"challenger", to_json(challenger)}},
        2);
    return {std::move(both[0]), std::move(both[1])};
  }

  json job_request() const { return {{"do", "job"}, {"job", job_}}; }
  const json& baseline_again() const { return baseline_; }  // null: there is none yet

 private:
  static json baseline_request(json kernel) {
    return {{"do", "baseline"}, {"kernel", std::move(kernel)}};
  }

  std::vector<Measurement> candidate(const json& request, size_t count) {
    TCC_CHECK(!baseline_.is_null(), "a candidate is measured without a baseline");
    pool_.prepare(*this);
    const bool tainted = pool_.is_tainted();
    auto measured = pool_.ask(request, count);
    using Status = Measurement::Status;
    if (measured.front().status == Status::crashed && tainted) {
      // Perhaps an earlier candidate is to blame.
      pool_.prepare(*this);
      measured = pool_.ask(request, count);
    }
    const Status status = measured.front().status;
    if (status == Status::refused || status == Status::wrong) pool_.taint();
    return measured;
  }

  Pool& pool_;
  const json job_;
  json baseline_;
};

void Pool::start() {
  worker_ = std::make_unique<WorkerProcess>(std::vector{program_, device_});
  active_ = nullptr;
  tainted_ = false;
  json hello;
  const Outcome outcome = worker_->exchange(nullptr, kStartSeconds, hello);
  if (outcome == Outcome::replied) {
    take(hello);
    const auto version = hello.value("tcc", "");
    if (version != TCC_VERSION)
      fail_device("worker: ", program_, " is of tcc ", version, ", not ", TCC_VERSION);
    return;
  }
  worker_->kill();
  const std::string how =
      outcome == Outcome::timed_out ? "does not open its device" : worker_->ending();
  const std::string words = worker_->last_words();
  worker_.reset();
  fail_device("worker: ", program_, " ", device_, " ", how, words.empty() ? "" : ": ", words);
}

void Pool::replace() {
  worker_.reset();
  active_ = nullptr;
  ++replaced_;
}

void Pool::take(const json& reply) {
  resident_ = reply.value("resident", int64_t{0});
  if (!reply.contains("error")) return;
  const json& error = reply.at("error");
  const auto message = error.value("message", "");
  const auto kind = static_cast<ErrorKind>(error.value("kind", 0));
  if (kind == ErrorKind::internal) throw InternalError(message);
  throw Error(kind, message);
}

void Pool::prepare(const PooledBench& bench) {
  const bool grown =
      baseline_resident_ > 0 && resident_ - baseline_resident_ > options_.growth_bytes;
  if (worker_ && active_ == &bench && grown) replace();
  if (worker_ && active_ == &bench) return;
  if (!worker_) start();
  active_ = nullptr;
  baseline_resident_ = 0;
  json reply;
  const Outcome outcome = worker_->exchange(bench.job_request(), kStartSeconds, reply);
  if (outcome != Outcome::replied) {
    replace();
    fail_device("worker: ", device_, " does not take a job",
                outcome == Outcome::timed_out ? " in time" : ": it ended");
  }
  try {
    take(reply);
  } catch (const Error&) {
    replace();  // it may be out of memory, or its device lost
    throw;
  }
  active_ = &bench;
  if (bench.baseline_again().is_null()) return;
  const Measurement measured = ask(bench.baseline_again(), 1).front();
  if (measured.status != Measurement::Status::measured)
    fail_device("worker: ", device_, " no longer runs the default kernel: ", measured.reason);
  set_baseline_resident();
}

std::vector<Measurement> Pool::ask(const json& request, size_t count) {
  json reply;
  const Outcome outcome = worker_->exchange(request, options_.limit_seconds, reply);
  if (outcome == Outcome::replied) {
    take(reply);
    auto measurements = measurements_from_json(reply.value("measurements", json::array()));
    TCC_CHECK(measurements.size() == count, "worker: ", measurements.size(), " measurements");
    return measurements;
  }
  worker_->kill();
  Measurement failure = ended();
  if (outcome == Outcome::timed_out) {
    failure.status = Measurement::Status::hung;
    failure.reason = str("ran past ", options_.limit_seconds, " s");
  }
  replace();
  return std::vector<Measurement>(count, failure);
}

Measurement Pool::ended() {
  Measurement result;
  result.status = Measurement::Status::crashed;
  const bool lost = worker_->exit_code() == kDeviceLostExit;
  result.reason = lost ? "the device was lost" : str("the worker was ", worker_->ending());
  if (const std::string words = worker_->last_words(); !words.empty())
    result.reason += ": " + words;
  return result;
}

std::unique_ptr<Bench> Pool::bench(BenchJob job) {
  return std::make_unique<PooledBench>(*this, job);
}

}  // namespace

std::unique_ptr<WorkerPool> make_worker_pool(const std::string& device,
                                             const WorkerOptions& options) {
  return std::make_unique<Pool>(device, options);
}

}  // namespace tcc::autotune
