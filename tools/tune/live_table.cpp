#include "tools/tune/live_table.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "support/error.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/tune/summary.h"

namespace tcc::tools {
namespace {

using autotune::KernelResult;
using Status = autotune::Measurement::Status;

constexpr std::chrono::milliseconds kRedraw{100};
constexpr size_t kHeaderLines = 3, kNameWidth = 16;

struct Column {
  const char* title;
  size_t width;
  int importance;  // those of the least are left out of a narrow terminal
  bool right = true;
};
enum { kOutput, kDevice, kDone, kTrials, kToday, kBest, kGain, kRoofline, kStatus, kColumns };
constexpr Column kTable[kColumns] = {
    {"output", 18, 1, false}, {"device", 9, 2, false}, {"done", 4, 6},
    {"trials", 6, 4},         {"today", 10, 7},        {"best", 10, 9},
    {"gain", 6, 8},           {"roofline", 8, 5},      {"status", 20, 3, false},
};

std::string percent_text(double share) { return str(static_cast<int>(100 * share), "%"); }

double cost(const autotune::LoggedTrial& trial) {
  return trial.effort == autotune::Effort::quick ? autotune::SearchProblem().quick_cost : 1;
}

bool failed(const autotune::LoggedTrial& trial) {
  return trial.result.status != Status::measured && trial.result.status != Status::slow;
}

// Returns the columns that fit in a table of that width beside the names.
std::vector<int> columns_that_fit(size_t width, bool several_devices) {
  std::vector<int> shown;
  size_t needed = kNameWidth;
  for (int i = 0; i < kColumns; ++i) {
    if (i == kDevice && !several_devices) continue;
    shown.push_back(i);
    needed += kTable[i].width + 2;
  }
  while (needed > width && !shown.empty()) {
    auto least = std::min_element(shown.begin(), shown.end(), [](int a, int b) {
      return kTable[a].importance < kTable[b].importance;
    });
    needed -= kTable[*least].width + 2;
    shown.erase(least);
  }
  return shown;
}

std::string table_line(const std::string& name, const std::vector<std::string>& cells,
                       const std::vector<int>& shown, size_t width) {
  std::string rest;
  for (int i : shown) {
    const Column& column = kTable[i];
    const std::string& cell = cells[static_cast<size_t>(i)];
    const bool pad_left = column.right && cell.size() < column.width;
    rest += "  " + (pad_left ? std::string(column.width - cell.size(), ' ') + cell
                             : fit(cell, column.width));
  }
  const size_t left = width > rest.size() ? width - rest.size() : 0;
  // A wide terminal's columns stay beside the names.
  return (fit(name, std::min<size_t>(left, 48)) + rest).substr(0, width);
}

}  // namespace

void LiveTable::update(const KernelResult& kernel, bool finished) {
  auto [at, is_new] = rows_.try_emplace(kernel.task.key);
  Row& row = at->second;
  if (is_new) row.order = rows_.size();
  for (; row.trials < kernel.trials.size(); ++row.trials) {
    row.cost += cost(kernel.trials[row.trials]);
    row.failures += failed(kernel.trials[row.trials]);
  }
  const auto space = static_cast<double>(std::max<int64_t>(kernel.space_size, 0));
  row.expected = std::min(static_cast<double>(setup_.trials + 1), space);
  row.name = printable(kernel.task.name);
  row.output = kernel.output;
  row.device = kernel.device;
  row.resumed = std::min(kernel.resumed, row.trials);
  row.today_seconds = kernel.today_seconds;
  row.best_seconds = kernel.best_seconds;
  row.gain = gain(kernel);
  row.roofline = roofline_share(kernel);
  row.compile_seconds = kernel.compile_seconds;
  row.launches = kernel.launches;
  if (finished && !row.finished) row.finish = ++finished_;
  if (!finished && row.finished) --finished_;  // it goes on with what is left of the budget
  row.finished = finished;
  row.status = !finished             ? (kernel.trials.empty() ? "default" : "tuning")
               : kernel.kept.empty() ? "done: " + kernel.ended
                                     : "kept: " + kernel.kept;
  if (row.failures > 0)
    row.status = finished && !kernel.kept.empty() ? str(row.status, ", ", row.failures, " failed")
                                                  : str(row.failures, " failed, ", row.status);
  if (!kernel.error.empty()) row.status = printable("error: " + kernel.error);
}

LiveTable::Work LiveTable::work() const {
  Work work;
  for (const auto& [key, row] : rows_) {
    work.done += row.cost;
    if (row.trials > 0)
      work.measured += row.cost * static_cast<double>(row.trials - row.resumed) /
                       static_cast<double>(row.trials);
    if (!row.finished) work.left += std::max(row.expected - row.cost, 0.0);
  }
  const size_t waiting = setup_.kernels - std::min(setup_.kernels, rows_.size());
  work.left += static_cast<double>(waiting) * static_cast<double>(setup_.trials + 1);
  return work;
}

std::string LiveTable::bar_line(double elapsed, size_t columns) const {
  const Work work = this->work();
  double share = work.done > 0 ? work.done / (work.done + work.left) : 0;
  double left = work.measured > 0 ? work.left * elapsed / work.measured : -1;
  if (setup_.budget_seconds > 0) {
    const double budget_left = std::max(setup_.budget_seconds - elapsed, 0.0);
    share = std::max(share, std::min(elapsed / setup_.budget_seconds, 1.0));
    left = left < 0 ? budget_left : std::min(left, budget_left);
  }
  if (finished_ == setup_.kernels) share = 1, left = 0;
  std::string text = str(" ", percent_text(share), "  ", finished_, "/",
                         counted(setup_.kernels, "kernel"), "  ", format_clock(elapsed));
  if (left >= 0) text += "  ETA " + format_clock(left);
  const size_t room = columns > text.size() + 12 ? columns - text.size() - 4 : 8;
  return progress_bar(share, std::min<size_t>(room, 40)) + text;
}

std::string LiveTable::rate_line(double elapsed) const {
  if (setup_.interrupted && *setup_.interrupted)
    return "ending after the running candidates; a second signal ends at once";
  double compiled = 0, today_seconds = 0, best_seconds = 0;
  size_t measured = 0;
  for (const auto& [key, row] : rows_) {
    measured += row.trials - row.resumed;
    compiled += row.compile_seconds;
    if (row.gain == 0) continue;
    today_seconds += row.launches * row.today_seconds;
    best_seconds += row.launches * row.best_seconds;
  }
  const double time = std::max(elapsed, 1e-3);
  std::string text =
      str(core_text(static_cast<double>(measured) / time), " candidates/s  compiling on ",
          core_text(compiled / time), " of ", setup_.compile_threads, " cores");
  if (best_seconds > 0 && setup_.one_batch)
    text += str("  all launches ", format_seconds(today_seconds), " -> ",
                format_seconds(best_seconds), " (", gain_text(today_seconds / best_seconds), ")");
  return text;
}

std::vector<const LiveTable::Row*> LiveTable::rows_that_fit(size_t count) const {
  std::vector<const Row*> rows;
  for (const auto& [key, row] : rows_) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    if (a->finished != b->finished) return b->finished;
    return a->finished ? a->finish > b->finish : a->order < b->order;
  });
  rows.resize(std::min(rows.size(), count));
  std::sort(rows.begin(), rows.end(),
            [](const Row* a, const Row* b) { return a->order < b->order; });
  return rows;
}

std::vector<std::string> LiveTable::frame(TerminalSize size, double elapsed) const {
  const size_t width = std::max<size_t>(size.columns, 2) - 1;
  const size_t height = std::max<size_t>(size.rows, 2) - 1;
  std::vector<std::string> lines = {bar_line(elapsed, width), rate_line(elapsed)};
  if (height > kHeaderLines && !rows_.empty()) {
    const std::vector<int> shown = columns_that_fit(width, setup_.several_devices);
    std::vector<std::string> titles;
    for (const Column& column : kTable) titles.emplace_back(column.title);
    lines.push_back(table_line("kernel", titles, shown, width));
    size_t room = height - kHeaderLines;
    if (setup_.kernels > room) --room;  // for the line of the others
    const std::vector<const Row*> rows = rows_that_fit(room);
    for (const Row* row : rows) {
      const double share = row->expected > 0 ? std::min(row->cost / row->expected, 1.0) : 0;
      lines.push_back(table_line(
          row->name,
          {row->output, row->device, percent_text(row->finished ? 1 : share),
           std::to_string(row->trials), time_text(row->today_seconds), time_text(row->best_seconds),
           gain_text(row->gain), share_text(row->roofline), row->status},
          shown, width));
    }
    const size_t waiting = setup_.kernels - std::min(setup_.kernels, rows_.size());
    const size_t hidden = rows_.size() - rows.size();
    if (hidden + waiting > 0 && lines.size() < height)
      lines.push_back(str("... ", hidden > 0 ? str(hidden, " more, ") : "", waiting, " waiting"));
  }
  lines.resize(std::min(lines.size(), height));
  for (std::string& line : lines) {
    line.resize(std::min(line.size(), width));
    line.resize(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

LiveView::LiveView(const SweepSetup& setup)
    : table_(setup), drawer_([this] { draw_until_stopped(); }) {}

LiveView::~LiveView() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  drawer_.join();
}

autotune::TuneEvents LiveView::events() {
  autotune::TuneEvents events;
  events.started = events.trial = [this](const KernelResult& kernel) { update(kernel, false); };
  events.finished = [this](const KernelResult& kernel) { update(kernel, true); };
  return events;
}

void LiveView::update(const KernelResult& kernel, bool finished) {
  const std::lock_guard lock(mutex_);
  table_.update(kernel, finished);
}

void LiveView::say(const std::string& text) {
  const std::lock_guard lock(mutex_);
  said_ += printable(text) + "\n";
}

void LiveView::draw_until_stopped() {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    last = stopped_;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    const std::vector<std::string> frame = table_.frame(LiveLines::size(), elapsed.count());
    const std::string said = std::exchange(said_, "");
    lock.unlock();  // a terminal that was stopped must not stop the sweep
    if (!said.empty()) {
      lines_.clear();
      std::fwrite(said.data(), 1, said.size(), stderr);
    }
    if (!last) lines_.draw(frame);
    lock.lock();
    wake_.wait_for(lock, kRedraw, [this] { return stopped_; });
  }
}

}  // namespace tcc::tools
