// tcc-tune: measures configs of a graph's kernels on a device and records the best.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "autotune/tune.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "support/parallel.h"
#include "tools/program.h"
#include "tools/progress.h"

namespace tcc::tools {
namespace {

using autotune::KernelResult;
using Dims = std::map<std::string, int64_t, std::less<>>;
using Clock = std::chrono::steady_clock;

std::atomic<bool> interrupted = false;

// The first one ends the search after the running candidate; the second one ends the program.
void on_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

struct Options {
  std::vector<std::string> graphs, dims;
  std::string device = "auto", dtype, output = "tuned";
  int64_t trials = 64;
  double budget = 0;
  int jobs = 0;
  uint64_t seed = 0;
  bool no_cache = false;
};

// "B=1,8,32" and "T=128" as bindings: every combination.
std::vector<Dims> parse_dim_lists(const std::vector<std::string>& texts) {
  constexpr size_t kMost = 1024;
  std::vector<Dims> all = {{}};
  for (const std::string& text : texts) {
    size_t equal = std::min(text.find('='), text.size());
    std::string name = text.substr(0, equal),
                values = text.substr(std::min(equal + 1, text.size()));
    std::vector<Dims> grown;
    for (size_t begin = 0, end; begin <= values.size(); begin = end + 1) {
      end = std::min(values.find(',', begin), values.size());
      Dims one = parse_dims({name + "=" + values.substr(begin, end - begin)});
      for (Dims dims : all) {
        if (!dims.insert(*one.begin()).second) fail_input("--dim ", text, ": given twice");
        grown.push_back(std::move(dims));
      }
      if (grown.size() > kMost) fail_input("--dim ", text, ": more than ", kMost, " combinations");
    }
    all = std::move(grown);
  }
  return all;
}

std::string ratio(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", value);
  return text;
}

class Tune {
 public:
  explicit Tune(const Options& options) : options_(options) {}

  int run() {
    device_ = runtime::open_device(options_.device);
    autotune::prepare_record_folder(options_.output);
    schedule_graphs();
    tasks_ = autotune::tuning_tasks(graphs_, device_->target());
    say(str(device_->name(), " (", device_->target().device, "): ", tasks_.size(), " kernels of ",
            graphs_.size(), graphs_.size() == 1 ? " graph" : " graphs"));
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    start_ = Clock::now();
    for (size_t i = 0; i < tasks_.size() && !interrupted && !lost_; ++i) tune(i);
    progress_.clear();
    return finish();
  }

 private:
  void say(const std::string& text) {
    progress_.clear();
    std::cout << text << std::endl;
  }

  // Of every graph, each different binding of its own dims.
  void schedule_graphs() {
    if (!options_.dtype.empty()) compile_.dtype = parse_dtype_option(options_.dtype);
    std::vector<Dims> combinations = parse_dim_lists(options_.dims);
    std::map<std::string, bool> used;
    for (const auto& [name, value] : combinations[0]) used[name] = false;
    for (const std::string& path : options_.graphs) {
      ir::Graph graph = load_graph(path);
      std::vector<Dims> done;
      for (Dims dims : combinations) {
        std::erase_if(dims, [&](const auto& dim) { return !graph.dims.count(dim.first); });
        for (const auto& [name, value] : dims) used[name] = true;
        if (std::find(done.begin(), done.end(), dims) != done.end()) continue;
        done.push_back(dims);
        progress_.draw("scheduling " + path, true);
        compile_.dims = dims;
        graphs_.push_back(backends::schedule(graph, device_->target(), compile_));
      }
    }
    for (const auto& [name, is_used] : used)
      if (!is_used) fail_input("--dim ", name, ": no graph has such a dim");
  }

  // What is left of the budget is shared by the kernels that are left.
  Clock::time_point deadline(size_t kernels_left) const {
    if (options_.budget <= 0) return Clock::time_point::max();
    double left = options_.budget - std::chrono::duration<double>(Clock::now() - start_).count();
    auto share =
        std::chrono::duration<double>(std::max(left, 0.0) / static_cast<double>(kernels_left));
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(share);
  }

  void tune(size_t i) {
    const autotune::TuningTask& task = tasks_[i];
    autotune::TuneOptions tune;
    tune.trials = static_cast<size_t>(options_.trials);
    tune.jobs = options_.jobs;
    tune.seed = options_.seed;
    tune.deadline = deadline(tasks_.size() - i);
    tune.compile = compile_;
    tune.compile.cache = options_.no_cache ? nullptr : &cache_;
    tune.interrupted = &interrupted;
    std::string name = task.region->name();
    auto draw = [&](double share, const std::string& more) {
      progress_.draw_bar((static_cast<double>(i) + share) / static_cast<double>(tasks_.size()),
                         str("kernel ", i + 1, "/", tasks_.size(), " ", name, more));
    };
    tune.progress = [&](const KernelResult& result) {
      draw(static_cast<double>(result.tried) / static_cast<double>(result.planned),
           str("  ", result.tried, "/", result.planned, "  best ",
               format_seconds(result.best_seconds), ", ",
               ratio(result.default_seconds / result.best_seconds)));
    };
    draw(0, "");
    results_.push_back(autotune::tune_kernel(device_, task, tune));
    const KernelResult& result = results_.back();
    if (result.record) store_.add(*result.record);
    lost_ = result.device_lost;
    if (!progress_.on_terminal() || !result.error.empty()) say(line(i));
  }

  std::string line(size_t i) const {
    const KernelResult& result = results_[i];
    std::string text = str("[", i + 1, "/", tasks_.size(), "] ", tasks_[i].region->name(), " ",
                           ir::to_string(tasks_[i].region->outputs[0]->type), ": ");
    if (result.record)
      text +=
          str(format_seconds(result.default_seconds), " -> ", format_seconds(result.best_seconds),
              " (", ratio(result.default_seconds / result.best_seconds), "), ", counts(result));
    if (!result.error.empty()) text += (result.record ? "; error: " : "error: ") + result.error;
    return text;
  }

  static std::string counts(const KernelResult& result) {
    return str(result.tried, " of ", result.planned, " candidates, ", result.failed, " failed, ",
               result.wrong, " wrong, ", result.slow, " slow");
  }

  int finish() {
    std::vector<std::vector<std::string>> rows;
    KernelResult sum;
    double default_seconds = 0, best_seconds = 0;
    bool any_error = false;
    for (size_t i = 0; i < results_.size(); ++i) {
      const KernelResult& r = results_[i];
      any_error |= !r.error.empty();
      sum.planned += r.planned;
      sum.tried += r.tried;
      sum.failed += r.failed;
      sum.wrong += r.wrong;
      sum.slow += r.slow;
      if (!r.record) continue;
      default_seconds += tasks_[i].launches * r.default_seconds;
      best_seconds += tasks_[i].launches * r.best_seconds;
      std::string type = ir::to_string(tasks_[i].region->outputs[0]->type);
      rows.push_back({tasks_[i].region->name(), type, r.record->key.kernel_template,
                      format_seconds(r.default_seconds), format_seconds(r.best_seconds),
                      ratio(r.default_seconds / r.best_seconds), r.record->best.to_string()});
    }
    if (!rows.empty()) {
      std::cout << format_table(
                       {"kernel", "output", "template", "default", "best", "gain", "config"}, rows)
                << "all launches: " << format_seconds(default_seconds) << " -> "
                << format_seconds(best_seconds) << " (" << ratio(default_seconds / best_seconds)
                << "); " << counts(sum) << "\n";
    }
    report_rejected();
    if (!store_.records().empty())
      for (const auto& path : autotune::save_records(store_, options_.output))
        std::cout << "wrote " << path.string() << "\n";
    if (interrupted) {
      std::cerr << "tcc-tune: interrupted after " << results_.size() << " of " << tasks_.size()
                << " kernels\n";
      return 128 + SIGINT;
    }
    if (lost_)
      fail_device("the device was lost after ", results_.size(), " of ", tasks_.size(), " kernels");
    return any_error ? static_cast<int>(ErrorKind::device) : 0;
  }

  // A candidate that fails or is wrong is a bug of a template or of a driver: it must be seen.
  void report_rejected() const {
    for (size_t i = 0; i < results_.size(); ++i) {
      const KernelResult& r = results_[i];
      std::string name = tasks_[i].region->name() + " [" + tasks_[i].key.kernel_template + "] ";
      if (r.failed)
        std::cerr << "tcc-tune: " << name << r.failed << " failed, first " << r.first_failure
                  << "\n";
      if (r.wrong)
        std::cerr << "tcc-tune: " << name << r.wrong << " wrong, first " << r.first_wrong << "\n";
    }
  }

  const Options& options_;
  ProgressLine progress_;
  std::shared_ptr<runtime::Device> device_;
  backends::CompileOptions compile_;
  backends::KernelCache cache_;
  std::vector<backends::Scheduled> graphs_;
  std::vector<autotune::TuningTask> tasks_;
  std::vector<KernelResult> results_;
  autotune::RecordStore store_;
  Clock::time_point start_;
  bool lost_ = false;
};

}  // namespace
}  // namespace tcc::tools

int main(int argc, char** argv) {
  using namespace tcc::tools;
  CLI::App app("Finds the best configs of graphs' kernels on a device.", "tcc-tune");
  Options options;
  app.add_option("GRAPH", options.graphs, "graph files (.yaml)")->required();
  app.add_option("--device", options.device, "auto, cuda:N or vulkan:N");
  app.add_option("--dim", options.dims,
                 "values of a symbolic dim, NAME=1,8,32; several: every combination")
      ->allow_extra_args(false);
  app.add_option("--dtype", options.dtype, "f32, f16 or bf16: casts the graph's floating point");
  app.add_option("--output", options.output,
                 "folder of the tuning records; updated (default: tuned)");
  app.add_option("--trials", options.trials, "candidates of each kernel (default 64)")
      ->check(CLI::Range(int64_t{0}, int64_t{1000000}));
  app.add_option("--budget", options.budget, "seconds for all kernels together")
      ->check(CLI::PositiveNumber);
  app.add_option("--jobs", options.jobs, "threads that compile (default: all cores)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--seed", options.seed, "of the sample of candidates and of the data");
  app.add_flag("--no-cache", options.no_cache, "compile every kernel, even if it is on disk");
  return run_program(app, argc, argv, [&] { return Tune(options).run(); });
}
