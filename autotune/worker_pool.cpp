// The tuner's side of worker processes: starting, judging and replacing them.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "autotune/bench.h"
#include "autotune/worker_process.h"
#include "autotune/worker_protocol.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

using Status = Measurement::Status;
using exec::StandaloneSequence;
using nlohmann::json;
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

// A bench tells the pool this of its job.
struct PooledJob {
  int number = 0;
  json job;
  json baseline;       // the kernel, once it was measured; null before
  bool ready = false;  // the current worker has the job and its baseline
};

class Pool final : public WorkerPool {
 public:
  Pool(std::string device, const WorkerOptions& options)
      : device_(std::move(device)), options_(options), program_(find_program(options.program)) {
    start();
  }

  std::unique_ptr<Bench> bench(BenchJob job) override;
  int replaced() const override {
    const std::lock_guard lock(mutex_);
    return replaced_;
  }

  void open(PooledJob& job);
  void close(PooledJob& job);
  Measurement baseline(PooledJob& job, json kernel);
  // The worker's measurements, or its failure as `count` of them.
  std::vector<Measurement> candidate(PooledJob& job, json request, size_t count);

 private:
  void start();
  void replace();
  // Gives the worker the job and its baseline. Throws Error.
  void prepare(PooledJob& job);
  // Sends a request without measurements, which is answered within kStartSeconds.
  void tell(const json& request);
  std::vector<Measurement> ask(const json& request, size_t count);
  // Throws what the worker's error says.
  void take(const json& reply);
  Measurement ended();

  const std::string device_;
  const WorkerOptions options_;
  const std::string program_;
  mutable std::mutex mutex_;  // of what follows, and of all jobs
  std::unique_ptr<WorkerProcess> worker_;
  std::set<PooledJob*> jobs_;
  int next_number_ = 0;
  // The worker ran a candidate that was refused or wrong, and may be damaged.
  bool tainted_ = false;
  int64_t resident_ = 0, growth_ = 0;  // of the worker; by candidates alone
  int replaced_ = 0;
};

class PooledBench final : public Bench {
 public:
  PooledBench(Pool& pool, const BenchJob& job) : pool_(pool) {
    job_.job = to_json(job);
    pool_.open(job_);
  }
  ~PooledBench() override { pool_.close(job_); }

  Measurement baseline(const StandaloneSequence& kernel) override {
    return pool_.baseline(job_, to_json(kernel));
  }
  Measurement measure(const StandaloneSequence& kernel, Effort effort,
                      double best_seconds) override {
    return pool_
        .candidate(job_,
                   {{"do", "measure"},
                    {"kernel", to_json(kernel)},
                    {"effort", effort},
                    {"best_seconds", best_seconds}},
                   1)
        .front();
  }
  std::pair<Measurement, Measurement> duel(const StandaloneSequence& incumbent,
                                           const StandaloneSequence& challenger) override {
    auto both = pool_.candidate(
        job_,
        {{"do", "duel"}, {"incumbent", to_json(incumbent)}, {"challenger", to_json(challenger)}},
        2);
    return {std::move(both[0]), std::move(both[1])};
  }

 private:
  Pool& pool_;
  PooledJob job_;
};

json baseline_request(const PooledJob& job, const json& kernel) {
  return {{"do", "baseline"}, {"number", job.number}, {"kernel", kernel}};
}

void Pool::open(PooledJob& job) {
  const std::lock_guard lock(mutex_);
  job.number = next_number_++;
  prepare(job);
  jobs_.insert(&job);
}

void Pool::close(PooledJob& job) {
  const std::lock_guard lock(mutex_);
  jobs_.erase(&job);
  if (!job.ready || !worker_) return;
  try {
    tell({{"do", "drop"}, {"number", job.number}});
  } catch (const Error&) {}  // a worker without it comes next
}

Measurement Pool::baseline(PooledJob& job, json kernel) {
  const std::lock_guard lock(mutex_);
  job.baseline = nullptr;
  prepare(job);
  Measurement measured = ask(baseline_request(job, kernel), 1).front();
  if (measured.status == Measurement::Status::measured) job.baseline = std::move(kernel);
  // Nothing is left that could tell whether the device is lost.
  if (measured.status == Measurement::Status::refused) replace();
  return measured;
}

std::vector<Measurement> Pool::candidate(PooledJob& job, json request, size_t count) {
  const std::lock_guard lock(mutex_);
  TCC_CHECK(!job.baseline.is_null(), "a candidate is measured without a baseline");
  request["number"] = job.number;
  if (growth_ > options_.growth_bytes) replace();
  prepare(job);
  const bool tainted = tainted_;
  const int64_t before = resident_;
  auto measured = ask(request, count);
  if (measured.front().status == Status::crashed && tainted) {
    // Perhaps an earlier candidate is to blame.
    prepare(job);
    measured = ask(request, count);
  } else if (worker_) {
    growth_ += resident_ - before;
  }
  const Status status = measured.front().status;
  if (status == Status::refused || status == Status::wrong) tainted_ = true;
  return measured;
}

void Pool::start() {
  worker_ = std::make_unique<WorkerProcess>(std::vector{program_, device_});
  tainted_ = false;
  growth_ = 0;
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
  for (PooledJob* job : jobs_) job->ready = false;
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

void Pool::prepare(PooledJob& job) {
  if (!worker_) start();
  if (job.ready) return;
  tell({{"do", "job"}, {"number", job.number}, {"job", job.job}});
  if (!job.baseline.is_null()) {
    const Measurement measured = ask(baseline_request(job, job.baseline), 1).front();
    if (measured.status != Measurement::Status::measured)
      fail_device("worker: ", device_, " no longer runs the default kernel: ", measured.reason);
  }
  job.ready = true;
}

void Pool::tell(const json& request) {
  json reply;
  const Outcome outcome = worker_->exchange(request, kStartSeconds, reply);
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
  result.reason = lost ? "the device was lost" : str("the worker ", worker_->ending());
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
