#include "tools/track/case_worker.h"

#include <mutex>
#include <nlohmann/json.hpp>

#include "autotune/records.h"
#include "runtime/device.h"
#include "support/log.h"
#include "tools/track/case_json.h"
#include "tools/track/measure.h"
#include "tools/track/read_runs.h"

namespace tcc::tools {
namespace {

using Json = nlohmann::json;

constexpr double kStartSeconds = 120;  // until the device is open and the compiler warm

MeasureOptions options_from(const Json& setup) {
  MeasureOptions options;
  const auto target = setup.at("target").get<std::string>();
  if (target.empty()) {
    options.device = runtime::open_device(setup.at("device").get<std::string>());
    options.target = options.device->target();
  } else {
    options.target = sched::target_by_name(target);
  }
  options.tuning = setup.at("tuning").get<std::vector<std::string>>();
  options.blocks = setup.at("blocks");
  options.seconds = setup.at("seconds");
  options.warm = setup.at("warm");
  options.check = setup.at("check");
  options.instructions = setup.at("instructions");
  return options;
}

// Keeps the lines of standard error, since a worker's standard error is not shown.
class KeptLog {
 public:
  KeptLog() {
    set_log_hook(
        [this](LogLevel level, std::string_view channel, std::string_view text) {
          const std::lock_guard lock(mutex_);
          if (lines_.size() == kMostLines) return;
          lines_.push_back(log_line("tcc-track", level, channel, text));
          while (lines_.back().ends_with('\n')) lines_.back().pop_back();
        },
        LogLevel::warning);
  }
  ~KeptLog() { set_log_hook({}); }
  KeptLog(const KeptLog&) = delete;
  KeptLog& operator=(const KeptLog&) = delete;
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  static constexpr size_t kMostLines = 1000;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class ServedCases final : public Served {
 public:
  explicit ServedCases(const Json& setup) : options_(options_from(setup)) {
    if (options_.instructions && options_.target.api != sched::Api::vulkan)
      fail_input("--instructions: those of SPIR-V are counted, with --target vulkan");
    if (!options_.device) return;
    try_device(*options_.device);
    warm_up_compiler(options_.target);
  }

  Json hello() override {
    const sched::Target& target = options_.target;
    const bool compiles = options_.device || options_.instructions;
    return {{"device", options_.device ? options_.device->name() : ""},
            {"description", options_.device ? target.device : ""},
            {"vendor", target.vendor},
            {"driver", target.driver},
            {"target", target.id()},
            {"compiler", compiles ? autotune::environment_of({}, target).compiler : ""}};
  }

  Json answer(const Json& request) override {
    try {
      const TrackedCase record = measure_case(case_from(request.at("case")), options_);
      return {{"record", case_lines(record)}, {"log", log_.take()}};
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::device) throw;
      const Json failed = {{"kind", static_cast<int>(error.kind())}, {"message", error.what()}};
      return {{"failed", failed}, {"log", log_.take()}};
    }
  }

 private:
  // A device that was lost may still be opened.
  static void try_device(runtime::Device& device) {
    const auto stream = device.create_stream();
    const auto buffer = device.allocate(256);
    stream->fill(*buffer, 0, 256, 1);
    stream->synchronize();
  }

  KeptLog log_;
  MeasureOptions options_;
};

}  // namespace

std::unique_ptr<Served> serve_cases(const std::string& setup) {
  return std::make_unique<ServedCases>(Json::parse(setup));
}

CaseWorker::CaseWorker(const CaseSetup& setup, double limit,
                       std::function<void(const std::string&)> say)
    : limit_(limit), say_(std::move(say)) {
  setup_ = Json{{"device", setup.device},   {"target", setup.target},
                {"tuning", setup.tuning},   {"blocks", setup.blocks},
                {"seconds", setup.seconds}, {"warm", setup.warm},
                {"check", setup.check},     {"instructions", setup.instructions}}
               .dump();
  start();
}

void CaseWorker::start() { worker_ = std::make_unique<Worker>("cases", setup_, kStartSeconds); }

void CaseWorker::describe(TrackedRun& header) const {
  const Json& hello = worker_->hello();
  header.device = hello.at("device");
  header.description = hello.at("description");
  header.vendor = hello.at("vendor");
  header.driver = hello.at("driver");
  header.target = hello.at("target");
  header.compiler = hello.at("compiler");
}

TrackedCase CaseWorker::measure(const TrackCase& one) {
  try {
    return ask(one);
  } catch (const WorkerEnded& error) {
    if (!error.killed_from_outside) throw;
    say_(one.name + ": " + error.what() + "; another took its place");
    return ask(one);
  }
}

TrackedCase CaseWorker::ask(const TrackCase& one) {
  if (!worker_ || !worker_->is_alive()) start();
  const Json reply = worker_->ask({{"case", to_json(one)}}, limit_);
  for (const Json& line : reply.at("log")) say_(line.get<std::string>());
  if (reply.contains("failed")) throw error_from(reply.at("failed"));
  return parse_case(reply.at("record").get<std::string>());
}

bool CaseWorker::device_works() {
  try {
    start();
    return true;
  } catch (const Error&) { return false; }
}

}  // namespace tcc::tools
