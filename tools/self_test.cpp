#include "tools/self_test.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "autotune/finals.h"
#include "support/error.h"
#include "support/file.h"
#include "support/json_writer.h"
#include "support/log.h"
#include "support/plural.h"
#include "support/version.h"
#include "tools/program.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;
using autotune::SelfTestEvent;
using Event = SelfTestEvent::Kind;
using Clock = std::chrono::steady_clock;

// ---- what passes from the child to its parent: lines of fields between tabs

std::string one_line(std::string text) {
  constexpr size_t kMost = 1500;
  if (text.size() > kMost) text.resize(kMost);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text;
}

void send(int pipe, const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : "\t") + one_line(field);
  line += "\n";
  for (size_t at = 0; at < line.size();) {
    const ssize_t size = ::write(pipe, &line[at], line.size() - at);
    if (size <= 0) ::_exit(70);  // nobody listens
    at += static_cast<size_t>(size);
  }
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find('\t', at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

[[noreturn]] void be_child(int pipe, const SelfTestBody& body,
                           const autotune::SelfTestOptions& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const SelfTestTeller tell{[pipe](const runtime::Device& device) {
                              const exec::Target& target = device.target();
                              send(pipe, {"device", device.name(), target.id(), target.device,
                                          target.driver, autotune::quirk_of(target).line()});
                            },
                            [pipe](const SelfTestEvent& event) {
                              send(pipe, {std::string(autotune::name(event.kind)), event.sample,
                                          event.text, event.quirk.line()});
                            }};
  try {
    body(options, tell);
  } catch (const Error& error) {
    send(pipe, {"error", std::to_string(static_cast<int>(error.kind())), error.what()});
  } catch (const std::exception& error) {
    send(pipe, {"error", std::to_string(static_cast<int>(ErrorKind::internal)), error.what()});
  }
  ::_exit(0);  // drivers' own clean-up may hang after a fault
}

std::optional<Event> event_kind(const std::string& text) {
  for (const Event kind :
       {Event::step, Event::loading, Event::running, Event::passed, Event::found, Event::slow,
        Event::unneeded, Event::untested, Event::tested, Event::lost, Event::done})
    if (autotune::name(kind) == text) return kind;
  return std::nullopt;
}

// ---- the parent

class Parent {
 public:
  Parent(const SelfTestBody& body, const SelfTestLimits& limits)
      : body_(body), limits_(limits), start_(Clock::now()) {}

  SelfTestReport run() {
    constexpr int kMostChildren = 60;
    for (int i = 0; i < kMostChildren && !is_done_ && left() > 1; ++i) one_child();
    const bool is_late = is_killed_late_ || left() <= 1;
    if (suspect_) {
      suspect_->quirk.reason += str("; nothing narrower was found", is_late ? " in time" : "");
      accuse();
    }
    if (!is_done_)
      report_.untested.push_back(
          {Event::untested, "the rest", is_late ? "no time was left" : "the process died"});
    report_.is_complete = is_tested_ && report_.untested_samples == 0;
    report_.is_whole = report_.is_complete && is_done_ && report_.untested.empty();
    report_.seconds = limits_.seconds - left();
    return std::move(report_);
  }

 private:
  struct Report : SelfTestReport {
    int untested_samples = 0;
  };

  double left() const {
    return limits_.seconds - std::chrono::duration<double>(Clock::now() - start_).count();
  }

  void one_child() {
    int ends[2];
    if (::pipe(ends) != 0) fail_device("cannot make a pipe");
    // The sample under way at the deadline may take as long again.
    const double soft = std::max(0.5, limits_.seconds * 0.85);
    options_.deadline =
        start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(soft));
    std::cout.flush();
    const pid_t child = ::fork();
    if (child < 0) fail_device("cannot start a process");
    if (child == 0) {
      ::close(ends[0]);
      be_child(ends[1], body_, options_);
    }
    ::close(ends[1]);
    running_.reset();
    const bool was_killed = listen(ends[0], child);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (is_done_) return;
    if (was_killed && !is_hung_) {
      is_killed_late_ = true;
      return;
    }
    blame(status);
  }

  // Reads until the child ends or is killed; returns whether it was.
  bool listen(int pipe, pid_t child) {
    std::string text;
    is_hung_ = false;
    for (;;) {
      pollfd wait{pipe, POLLIN, 0};
      if (::poll(&wait, 1, 100) > 0) {
        char buffer[4096];
        const ssize_t size = ::read(pipe, buffer, sizeof buffer);
        if (size <= 0) return false;
        text.append(buffer, static_cast<size_t>(size));
        for (size_t end; (end = text.find('\n')) != text.npos; text.erase(0, end + 1))
          take(fields_of(text.substr(0, end)));
      }
      is_hung_ =
          running_ && running_->kind == Event::running &&
          std::chrono::duration<double>(Clock::now() - since_).count() > limits_.hang_seconds;
      if (!is_hung_ && left() > 0.3) continue;
      ::kill(child, SIGKILL);
      return true;
    }
  }

  void take(const std::vector<std::string>& fields) {
    if (fields[0] == "device" && fields.size() == 6) {
      report_.name = fields[1];
      report_.target = fields[2];
      report_.description = fields[3];
      report_.driver = fields[4];
      std::string problem;
      if (const auto of = exec::parse_quirk(fields[5], problem)) report_.of = *of;
      has_device_ = true;
      return;
    }
    if (fields[0] == "error" && fields.size() == 3) {
      const auto kind = static_cast<ErrorKind>(std::atoi(fields[1].c_str()));
      if (!has_device_) throw Error(kind, fields[2]);
      report_.untested.push_back({Event::untested, "the rest", fields[2]});
      is_done_ = true;
      ++report_.untested_samples;
      return;
    }
    const auto kind = event_kind(fields[0]);
    if (!kind || fields.size() != 4) return;
    SelfTestEvent event{*kind, fields[1], fields[2], {}};
    std::string problem;
    if (const auto quirk = exec::parse_quirk(fields[3], problem)) event.quirk = *quirk;
    running_.reset();
    switch (*kind) {
      case Event::step: break;
      case Event::loading:
      case Event::running:
        running_ = event;
        since_ = Clock::now();
        break;
      case Event::passed:
        ++report_.passed;
        options_.skip.push_back(event.sample);
        break;
      case Event::found:
        suspect_.reset();  // it has what was found of the kernel that ended a process before
        add(event);
        break;
      case Event::slow:
        if (event.quirk.off) options_.known.push_back(event.quirk);
        report_.slow.push_back(event);
        break;
      case Event::unneeded:
        options_.skip.push_back(event.sample);
        report_.unneeded.push_back(event);
        break;
      case Event::untested:
        report_.untested_samples += !event.sample.ends_with(" more");
        report_.untested.push_back(event);
        break;
      case Event::tested: is_tested_ = true; break;
      case Event::lost: break;
      case Event::done: is_done_ = true; break;
    }
  }

  void add(const SelfTestEvent& event) {
    if (event.quirk.off) options_.known.push_back(event.quirk);
    report_.found.push_back(event);
  }

  // For a child that ended before its work did.
  void blame(int status) {
    if (!running_) {
      if (WIFEXITED(status) && has_device_) return;  // it gave its device up, and said why
      report_.untested.push_back({Event::untested, "the rest",
                                  str("the process ended between two kernels, with status ",
                                      WIFSIGNALED(status) ? WTERMSIG(status) : status)});
      ++report_.untested_samples;
      is_done_ = true;
      return;
    }
    SelfTestEvent event = *running_;
    event.kind = Event::found;
    event.text = is_hung_ ? str("did not end within ", limits_.hang_seconds, " s")
                          : str("ended the process with signal ", WTERMSIG(status));
    event.quirk.reason = str(event.sample, ": ", event.text);
    const std::string kernel = running_->text;
    // The next process looks for the part of it that is at fault, by other kernels of the sample,
    // which may end it, too.
    const bool is_narrowing = suspect_ && suspect_->sample.starts_with(event.sample);
    const bool is_known = std::ranges::any_of(
        options_.crashes, [&](const auto& crash) { return crash.kernel == kernel; });
    if (!is_narrowing) {
      accuse();
      suspect_ = event;
    }
    if (is_known || (is_hung_ && left() < 3 * limits_.hang_seconds)) accuse();
    options_.crashes.push_back({kernel, event.text});
  }

  // Switches off the whole part that the suspect is of.
  void accuse() {
    if (suspect_) add(*suspect_);
    suspect_.reset();
  }

  const SelfTestBody& body_;
  const SelfTestLimits limits_;
  const Clock::time_point start_;
  autotune::SelfTestOptions options_;
  Report report_;
  std::optional<SelfTestEvent> running_;
  std::optional<SelfTestEvent> suspect_;  // a kernel that ended a process, until its fault is found
  Clock::time_point since_;
  bool has_device_ = false, is_tested_ = false, is_done_ = false, is_hung_ = false,
       is_killed_late_ = false;
};

// ---- reports

std::string part_text(const exec::Quirk& quirk) {
  const std::string line = quirk.line();
  const size_t off = line.find("| off ");
  if (off == line.npos) return "";
  const size_t end = line.find(" | ", off + 2);
  return line.substr(off + 6, end == line.npos ? end : end - off - 6);
}

void print_events(const char* what, const std::vector<SelfTestEvent>& events, size_t most) {
  for (size_t i = 0; i < std::min(most, events.size()); ++i) {
    const SelfTestEvent& event = events[i];
    std::cout << "  " << what << event.sample << ": " << event.text << "\n";
    if (event.quirk.off)
      std::cout << "             switched off: " << part_text(event.quirk) << "\n";
  }
  if (events.size() > most)
    std::cout << "  " << what << "and " << counted(events.size() - most, "more", "more") << "\n";
}

void add_events(JsonWriter& json, const char* key, const std::vector<SelfTestEvent>& events) {
  json.key(key).begin_array();
  for (const SelfTestEvent& event : events) {
    json.begin_object().member("sample", event.sample).member("text", event.text);
    json.key("switched_off");
    if (event.quirk.off)
      json.value(part_text(event.quirk));
    else
      json.null();
    json.key("quirk");
    if (event.quirk.off)
      json.value(event.quirk.line());
    else
      json.null();
    json.end_object();
  }
  json.end_array();
}

void print_report(const SelfTestReport& report, const std::string& file) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", report.seconds);
  std::cout << "self-test of " << report.name << ": " << report.description << ", driver "
            << report.driver << "\n  " << counted(report.passed, "sample") << " passed, "
            << report.found.size() << " failed, in " << seconds
            << (report.is_whole      ? ""
                : report.is_complete ? "; not all templates and configs were tested"
                                     : "; not all were tested")
            << "\n";
  constexpr size_t kMost = 40, kFew = 6;
  print_events("failed     ", report.found, kMost);
  print_events("slow       ", report.slow, kMost);
  print_events("untested   ", report.untested, kFew);
  print_events("not used   ", report.unneeded, kFew);
  std::cout << "wrote " << file << ": " << counted(report.quirks().size(), "quirk") << "\n";
}

void print_json(const SelfTestReport& report, const std::string& file) {
  JsonWriter json(JsonWriter::Style::indented);
  json.begin_object().key("self_test").begin_object();
  json.member("tcc", version_text())
      .member("date", autotune::date_today())
      .member("name", report.name)
      .member("target", report.target)
      .member("device", report.description)
      .member("driver", report.driver)
      .member("seconds", report.seconds)
      .member("complete", report.is_complete)
      .member("whole", report.is_whole)
      .member("passed", report.passed);
  add_events(json, "failed", report.found);
  add_events(json, "slow", report.slow);
  add_events(json, "untested", report.untested);
  add_events(json, "not_used", report.unneeded);
  json.member("quirk_file", file).end_object().end_object();
  std::cout << json.text() << "\n";
}

}  // namespace

std::vector<exec::Quirk> SelfTestReport::quirks() const {
  std::vector<exec::Quirk> all;
  for (const auto* events : {&found, &slow})
    for (const SelfTestEvent& event : *events)
      if (event.quirk.off) exec::merge_quirks(all, std::span(&event.quirk, 1));
  return all;
}

SelfTestReport isolated_self_test(const SelfTestBody& body, const SelfTestLimits& limits) {
  return Parent(body, limits).run();
}

std::string write_self_test_quirks(const SelfTestReport& report, const std::string& file) {
  constexpr int64_t kMost = 1 << 20;
  std::vector<exec::Quirk> all;
  std::error_code error;
  if (fs::exists(file, error)) {
    exec::QuirkFile before = exec::parse_quirks(read_file(file, kMost), file);
    for (const std::string& problem : before.problems) log_warning(LogChannel::device, problem);
    for (exec::Quirk& quirk : before.quirks) {
      const bool is_own = quirk.api == report.of.api && quirk.device == report.of.device &&
                          quirk.driver == report.of.driver && quirk.low == report.of.low &&
                          quirk.high == report.of.high;
      if (!is_own || !report.is_whole) all.push_back(std::move(quirk));
    }
  }
  std::vector<exec::Quirk> now = report.quirks();
  if (report.is_complete) {
    exec::Quirk tested = report.of;
    tested.reason = str("tcc ", version_text(), ", ", autotune::date_today());
    now.push_back(std::move(tested));
  }
  exec::merge_quirks(now, all);
  const std::string text = exec::quirk_file_text(std::move(now));
  if (const fs::path folder = fs::path(file).parent_path(); !folder.empty())
    fs::create_directories(folder, error);  // the write tells
  write_file_atomic(file, text);
  return text;
}

int run_self_test(const SelfTestRequest& request) {
  const fs::path folder =
      request.output.empty() ? exec::user_quirk_folder() : fs::path(request.output);
  if (folder.empty())
    fail_input("--output is needed where neither HOME nor XDG_CONFIG_HOME is set");
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const std::string file = (folder / "self-test.quirks").string();
  check_can_write("--output", file);
  SelfTestReport report = isolated_self_test(
      [&](const autotune::SelfTestOptions& given, const SelfTestTeller& tell) {
        exec::use_quirks(std::vector<exec::Quirk>());  // what was switched off is tested, too
        const auto device = runtime::open_device(request.device);
        if (device->target().api == exec::Api::null)
          fail_input("--device ", request.device, ": runs nothing");
        if (device->compiles_alone())
          fail_input("--device ", request.device,
                     ": its driver compiles kernels and runs none: there is nothing to test");
        tell.device(*device);
        backends::KernelCache cache;
        autotune::SelfTestOptions options = given;
        options.filter = request.filter;
        options.cache = &cache;
        options.tell = tell.event;
        autotune::self_test(device, options);
      },
      {.seconds = request.limit_seconds});
  if (!request.filter.empty() && report.passed == 0 && report.found.empty() &&
      report.untested.empty())
    fail_input("--filter ", request.filter, ": no sample of ", request.device,
               " has it in its name; TCC_LOGS=device names the samples as they run");
  if (report.passed == 0 && report.found.empty() && !report.untested.empty())
    fail_device("--self-test of ", request.device,
                ": nothing was tested: ", report.untested.front().text,
                "; give it a longer --time-limit");
  if (!request.filter.empty()) report.is_complete = report.is_whole = false;
  write_self_test_quirks(report, file);
  if (request.json)
    print_json(report, file);
  else
    print_report(report, file);
  return report.found.empty() ? 0 : static_cast<int>(ErrorKind::check_failed);
}

}  // namespace tcc::tools
