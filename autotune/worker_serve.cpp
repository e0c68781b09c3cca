#include "autotune/worker_serve.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "autotune/worker_protocol.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

using Status = Measurement::Status;
using exec::StandaloneSequence;
using nlohmann::json;

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * ::sysconf(_SC_PAGE_SIZE);
}

class Worker {
 public:
  explicit Worker(const std::string& device) : device_(runtime::open_device(device)) {}

  json answer(const json& request) {
    const auto what = request.at("do").get<std::string>();
    const auto number = request.at("number").get<int>();
    if (what == "drop") {
      jobs_.erase(number);
      return json::object();
    }
    Job& job = jobs_[number];
    last_ = number;
    if (what == "job") {
      job.bench = local_bench(device_, job_from_json(request.at("job")));
      return json::object();
    }
    if (!job.bench) fail_input("worker protocol: '", what, "' before job ", number);
    if (what == "baseline") {
      job.baseline = kernel_from_json(request.at("kernel"));
      return reply({job.bench->baseline(job.baseline)});
    }
    if (what == "measure") {
      const Measurement measured = job.bench->measure(kernel_from_json(request.at("kernel")),
                                                      static_cast<Effort>(request.at("effort")),
                                                      request.at("best_seconds").get<double>());
      leave_if_lost(job, measured);
      return reply({measured});
    }
    if (what == "duel") {
      const auto [incumbent, challenger] = job.bench->duel(
          kernel_from_json(request.at("incumbent")), kernel_from_json(request.at("challenger")));
      leave_if_lost(job, incumbent);
      return reply({incumbent, challenger});
    }
    fail_input("worker protocol: no request '", what, "'");
  }

  // Called while no request comes.
  void keep_awake() {
    const auto job = jobs_.find(last_);
    if (job == jobs_.end() || !job->second.bench) return;
    try {
      job->second.bench->keep_awake();
    } catch (const Error&) { last_ = -1; }  // the next measurement will say why
  }

 private:
  struct Job {
    std::unique_ptr<Bench> bench;
    StandaloneSequence baseline;
  };

  static json reply(std::initializer_list<Measurement> measurements) {
    json list = json::array();
    for (const Measurement& one : measurements) list.push_back(to_json(one));
    return {{"measurements", std::move(list)}};
  }

  // A candidate that the device refused, or that wrote where it should not, may have cost us the
  // device: an error of a CUDA context, for one, stays.
  static void leave_if_lost(Job& job, const Measurement& candidate) {
    if (candidate.status != Status::refused && candidate.status != Status::wrong) return;
    const Measurement again =
        job.bench->measure(job.baseline, Effort::quick, std::numeric_limits<double>::infinity());
    if (again.status == Status::measured) return;
    std::fprintf(stderr, "%s\n", candidate.reason.c_str());
    std::_Exit(kDeviceLostExit);  // a lost device's destructors may wait for it
  }

  std::shared_ptr<runtime::Device> device_;
  std::map<int, Job> jobs_;
  int last_ = -1;  // the job of the last request
};

// Waits for a request. A device that lowers its clocks while compilers run gets work to keep them
// up, for a while.
void wait_for_request(int input, Worker& worker) {
  constexpr int kPauseMs = 10, kPauses = 1000;
  pollfd ready{input, POLLIN, 0};
  for (int i = 0; i < kPauses; ++i) {
    if (::poll(&ready, 1, kPauseMs) != 0) return;
    worker.keep_awake();
  }
}

json error_reply(ErrorKind kind, const char* message) {
  return {{"error", {{"kind", static_cast<int>(kind)}, {"message", message}}}};
}

json with_memory(json reply) {
  reply["resident"] = resident_bytes();
  return reply;
}

}  // namespace

json reply_or_error(const std::function<json()>& work) {
  try {
    return work();
  } catch (const Error& error) {
    return error_reply(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return error_reply(ErrorKind::device, "worker: out of memory");
  } catch (const std::exception& error) { return error_reply(ErrorKind::internal, error.what()); }
}

int begin_worker() {
  // Lines that drivers print must not come between the frames.
  const int socket = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  // Crashes are expected; dumping gigabytes for each is not wanted.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // PR_SET_PDEATHSIG would look at the parent's thread that started us, and threads come and go.
  std::thread([socket] {
    pollfd polled{socket, POLLRDHUP, 0};
    while (::poll(&polled, 1, -1) <= 0 || !(polled.revents & (POLLRDHUP | POLLHUP | POLLERR))) {}
    std::_Exit(EXIT_FAILURE);
  }).detach();
  return socket;
}

int serve_worker(const std::string& device, int input, int output) {
  std::unique_ptr<Worker> worker;
  const json hello = with_memory(reply_or_error([&] {
    worker = std::make_unique<Worker>(device);
    return json{{"tcc", TCC_VERSION}};
  }));
  if (!write_frame(output, hello) || !worker) return static_cast<int>(ErrorKind::no_device);
  for (;;) {
    wait_for_request(input, *worker);
    const auto request = read_frame(input);
    if (!request) return 0;
    const json reply = with_memory(reply_or_error([&] { return worker->answer(*request); }));
    if (!write_frame(output, reply)) return 0;
  }
}

}  // namespace tcc::autotune
