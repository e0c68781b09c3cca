// tcc-tune merge, show, why, prune and migrate, from the command line on.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "autotune/migration.h"
#include "autotune/plan_records.h"
#include "autotune/plan_sites.h"
#include "autotune/record_file.h"
#include "autotune/records.h"
#include "autotune/schema2_keys.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/region_text.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"
#include "tests/source_dir.h"
#include "tests/unit/records_fixture.h"
#include "tools/tune/commands.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;
using autotune::example_record;
using autotune::Record;
using autotune::save_records;
using autotune::store_of;

// Sends what is written to `stream` elsewhere for a while.
class Redirected {
 public:
  Redirected(std::ostream& stream, const std::ostringstream& to)
      : stream_(stream), before_(stream.rdbuf(to.rdbuf())) {}
  ~Redirected() { stream_.rdbuf(before_); }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  std::ostream& stream_;
  std::streambuf* before_;
};

class RecordCommands : public autotune::RecordsTest {
 protected:
  // Gives what `tcc-tune ARGUMENTS` prints. It must end with 0; errors are thrown.
  std::string run(std::vector<std::string> arguments) {
    CLI::App program("", "tcc-tune");
    const Command commands[] = {add_merge(program), add_show(program), add_why(program),
                                add_prune(program), add_migrate(program)};
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    program.parse(arguments);
    std::ostringstream out, errors;
    logged_.clear();
    struct Restored {
      ~Restored() { set_log_hook({}); }
    } restored;
    set_log_hook([this](LogLevel, std::string_view channel, std::string_view text) {
      logged_.push_back(str(channel, ": ", text));
    });
    {
      Redirected to_out(std::cout, out), to_errors(std::cerr, errors);
      for (const Command& command : commands)
        if (command.app->parsed()) { EXPECT_EQ(command.main(), 0); }
    }
    errors_ = errors.str();
    return out.str();
  }

  static Record of_template(const std::string& digits, int version) {
    Record record = example_record(digits, 1e-6);
    record.name = "relu";
    record.key.version = version;
    return record;
  }
  size_t records_in(const fs::path& folder) { return load({folder}).records().size(); }

  std::string graph_file() {
    std::ofstream(folder_ / "graph.yaml")
        << "tcc: 1\nname: g\ndims: {N: 64}\ninputs: {x: {dtype: f32, shape: [N]}}\n"
           "nodes: [{out: y, op: relu, in: [x]}]\noutputs: [y]\n";
    return (folder_ / "graph.yaml").string();
  }

  std::string errors_;               // on stderr
  std::vector<std::string> logged_;  // through the log hook
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(RecordCommands, MergeJoinsWhatIsInTheOutputToo) {
  save_records(store_of({example_record("1", 1e-6), example_record("2", 2e-6)}), folder_ / "a");
  save_records(store_of({example_record("2", 1e-6)}), folder_ / "b");
  save_records(store_of({example_record("3", 1e-6)}), folder_ / "out");
  run({"merge", folder_ / "a", folder_ / "b", "--output", folder_ / "out"});
  auto records = load({folder_ / "out"}).records();
  EXPECT_EQ(records.size(), 3u);
  EXPECT_EQ(records.at(example_record("2", 0).key).seconds, 1e-6);
  EXPECT_THROW(run({"merge", folder_ / "nowhere", "--output", folder_ / "out"}), Error);
  fs::create_directory(folder_ / "empty");
  EXPECT_THROW(run({"merge", folder_ / "empty", "--output", folder_ / "out"}), Error);
}

TEST_F(RecordCommands, ShowFilters) {
  Record vulkan = example_record("2", 2e-6);
  vulkan.key.device = "vulkan:llvmpipe:sg8";
  vulkan.key.kernel_template = "scan";
  vulkan.environment.device = "llvmpipe";
  save_records(store_of({example_record("1", 1e-6), vulkan}), folder_ / "a");
  std::string all = run({"show", folder_ / "a"});
  EXPECT_TRUE(contains(all, "2 records")) << all;
  EXPECT_TRUE(contains(all, "threads=128 vector=4")) << all;
  EXPECT_TRUE(contains(all, "2.00x")) << all;
  for (const char* device : {"cuda", "cuda:sm_90a", "H200"})
    EXPECT_TRUE(contains(run({"show", folder_ / "a", "--device", device}), "1 record\n")) << device;
  EXPECT_TRUE(contains(run({"show", folder_ / "a", "--template", "scan"}), "llvmpipe"));
  EXPECT_EQ(run({"show", folder_ / "a", "--device", "sm_90"}), "no records\n");
  EXPECT_EQ(run({"show"}), "no records\n");  // of the default folders
}

TEST_F(RecordCommands, ShowSortsAndCutsNothing) {
  std::vector<Record> records;
  const auto add = [&](const char* digits, const char* kernel_template, const std::string& name,
                       const std::string& dtype, int64_t size) {
    Record& record = records.emplace_back(example_record(digits, 1e-6));
    record.key.kernel_template = kernel_template;
    record.name = name;
    record.extents = {size};
    record.operands = str(dtype, "[", size, "] -> f32[", size, "]{of many strides that take room}");
  };
  const std::string long_name = "a_" + std::string(60, 'x');
  add("1", "scan", "a_sum", "f32", 64);
  add("2", "pointwise", "relu", "f32", 1024);
  add("3", "pointwise", "relu", "f32", 64);
  add("4", "pointwise", "relu", "bf16", 4096);
  add("5", "pointwise", long_name, "f32", 64);
  autotune::RecordStore store;
  for (const Record& record : records) store.add(record);
  save_records(store, folder_ / "a");
  const std::string text = run({"show", folder_ / "a"});
  size_t at = 0;
  for (const int i : {4, 3, 2, 1, 0}) {
    const Record& record = records[static_cast<size_t>(i)];
    const size_t line = text.find(record.operands, at);
    ASSERT_NE(line, std::string::npos) << i << "\n" << text;
    at = line;
  }
  EXPECT_TRUE(contains(text, long_name)) << text;
}

TEST_F(RecordCommands, WhyNamesTheTierAndTheReasons) {
  std::string text = run({"why", graph_file(), "--target", "cuda:sm_90a", "--dim", "N=32"});
  EXPECT_TRUE(contains(text, "relu [pointwise] f32[32] -> f32[32]\n  default: ")) << text;
  EXPECT_TRUE(contains(text, "not exact: no record of this kernel for cuda:sm_90a")) << text;
  EXPECT_TRUE(contains(text, "not device: ")) << text;
  EXPECT_TRUE(contains(text, "kernels of cuda:sm_90a: 1 default")) << text;
  EXPECT_THROW(run({"why", "--target", "cuda:sm_90a"}), Error);
}

TEST_F(RecordCommands, WhyBeginsWithTheKernels) {
  const std::string mlp = (testing::source_dir() / "configs/models/mlp.yaml").string();
  const std::string text = run({"why", mlp, "--target", "cuda:sm_90a"});
  const std::string fused = "  fused by default; no plan of cuda:sm_90a says otherwise\n";
  EXPECT_TRUE(text.find("  not exact: ") < text.find(fused)) << text;
  EXPECT_TRUE(contains(text, fused)) << text;
  EXPECT_TRUE(
      contains(text, "\nwhy other neighbours are not fused: tcc-compile --explain-fusion\n"));
}

// A dim may be an expression, as for the other programs, and dims that the graph takes for equal
// are one.
TEST_F(RecordCommands, WhyTakesExpressionsOfDims) {
  write_file_atomic(folder_ / "two.yaml",
                    "tcc: 1\nname: two\ndims: {S: 8, T: 8, U: 9}\ninputs:\n"
                    "  x: {dtype: f32, shape: [S, 3]}\n  y: {dtype: f32, shape: [T, 3]}\n"
                    "  z: {dtype: f32, shape: [U, 3]}\nnodes:\n"
                    "  - {out: a, op: add, in: [x, y]}\n  - {out: b, op: exp, in: [z]}\n"
                    "outputs: [a, b]\n");
  const std::string graph = (folder_ / "two.yaml").string();
  const std::string open = run({"why", graph, "--target", "cuda:sm_90a", "--dim", "S=1..64",
                                "--dim", "T=1..32", "--dim", "U=S+1"});
  EXPECT_TRUE(contains(open, "f32[T+1, 3]")) << open;
  EXPECT_FALSE(contains(open, "f32[S")) << open;
  const std::string numbers = run({"why", graph, "--target", "cuda:sm_90a", "--dim", "S=3,5",
                                   "--dim", "T=S", "--dim", "U=S+1"});
  for (const char* shape : {"f32[4, 3]", "f32[6, 3]"})
    EXPECT_TRUE(contains(numbers, shape)) << numbers;
}

// At one size another template may be the fastest than that of the range around it.
TEST_F(RecordCommands, WhyMarksKernelsThatTheProgramDoesNotRun) {
  const std::string mlp = (testing::source_dir() / "configs/models/mlp.yaml").string();
  const std::string text = run({"why", mlp, "--target", "cuda:sm_90a", "--dim", "B=1..64"});
  const size_t table = text.find("\n  else: [");
  const size_t row = text.find("[gemv] f32[2, 784]");
  ASSERT_NE(row, std::string::npos) << text;
  EXPECT_LT(table, row) << "the program's kernels stand first";
  const size_t mark = text.find("    not chosen: at B=2 the program runs [", row);
  EXPECT_LT(mark, text.find("\n    not exact", row)) << text;
  // The last line counts the rows of the tables.
  size_t kernels = 0, counted = 0;
  std::istringstream lines(text.substr(0, row));
  for (std::string line; std::getline(lines, line);) kernels += line.find(": [") != line.npos;
  std::istringstream numbers(text.substr(text.find("kernels of cuda:sm_90a: ") + 24));
  for (std::string word; numbers >> word;) counted += std::isdigit(word[0]) ? std::stoul(word) : 0;
  EXPECT_EQ(counted, kernels) << text;
}

TEST_F(RecordCommands, WhySaysWhatIsNoSingleKernel) {
  write_file_atomic(
      folder_ / "attention.yaml",
      "tcc: 1\nname: attention\ninputs:\n"
      "  q: {dtype: f32, shape: [2, 64, 300]}\n  k: {dtype: f32, shape: [2, 64, 300]}\n"
      "  v: {dtype: f32, shape: [2, 64, 64]}\nnodes:\n"
      "  - {out: a, op: scaled_dot_product_attention, in: [q, k, v]}\noutputs: [a]\n");
  const std::string text = run({"why", folder_ / "attention.yaml", "--target", "cuda:sm_90a"});
  EXPECT_TRUE(contains(text, " is not one kernel: attention: attention of depths 300 and 64"))
      << text;
}

TEST_F(RecordCommands, WhyKnowsKernelsOfOnesOwn) {
  const std::string kernel = (testing::source_dir() / "examples/kernels/matmul.yaml").string();
  std::string text = run({"why", "--kernel", kernel, "--target", "cuda:sm_90a"});
  EXPECT_TRUE(contains(text, " [user:")) << text;
  EXPECT_TRUE(contains(text, "\n  default: ")) << text;
  EXPECT_TRUE(contains(text, "not exact: no record of this kernel for cuda:sm_90a")) << text;
}

TEST_F(RecordCommands, PruneDropsWhatNothingCanUse) {
  Record gone = of_template("3", 1), users = of_template("4", 7);
  gone.key.kernel_template = "no_such_template";
  users.key.kernel_template = "user:stencil";
  save_records(store_of({of_template("1", 1), of_template("2", 99), gone, users}), folder_ / "a");
  std::string text = run({"prune", folder_ / "a", "--dry-run"});
  EXPECT_TRUE(contains(text, "would drop 2 of 4 records")) << text;
  EXPECT_EQ(records_in(folder_ / "a"), 4u);
  text = run({"prune", folder_ / "a"});
  EXPECT_TRUE(contains(text, "version 99 of the template; it is 1")) << text;
  EXPECT_TRUE(contains(text, "there is no template 'no_such_template'")) << text;
  auto left = load({folder_ / "a"}).records();
  EXPECT_EQ(left.size(), 2u);
  EXPECT_TRUE(left.count(of_template("1", 1).key) && left.count(users.key));
  EXPECT_FALSE(fs::exists(folder_ / "a/cuda-sm_90a.no_such_template.yaml"));
}

TEST_F(RecordCommands, PruneDropsDamageButNoFileThatItCannotRead) {
  fs::path file = save_records(store_of({of_template("1", 1), of_template("2", 1)}), folder_)[0];
  std::string text = read_file(file);
  text.replace(text.find("samples: 50"), 11, "samples: -1");
  std::ofstream(file) << text;
  const std::string newer = "tcc_tuning: 4\nrecords: []\n";
  std::ofstream(folder_ / "newer.yaml") << newer;
  EXPECT_TRUE(contains(run({"prune", folder_}), "dropped 1 of 2 records"));
  const auto is_of = [](const char* part) {
    return [=](const std::string& line) {
      return line.starts_with("tuning: ") && contains(line, part);
    };
  };
  EXPECT_EQ(logged_.size(), 2u);  // each once
  EXPECT_EQ(std::ranges::count_if(logged_, is_of("record skipped")), 1);
  EXPECT_EQ(std::ranges::count_if(logged_, is_of("newer.yaml")), 1);
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(read_file(folder_ / "newer.yaml"), newer);
  EXPECT_EQ(load({file}).records().size(), 1u);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(RecordCommands, PruneStale) {
  Record here = of_template("1", 1), before = of_template("2", 1);
  here.environment = autotune::environment_of({}, sched::target_by_name("cuda:sm_90a"));
  here.tcc = autotune::tcc_version();
  before.tcc = "0.0.1";
  before.environment = here.environment;
  save_records(store_of({here, before}), folder_ / "a");
  std::string text = run({"prune", folder_ / "a", "--stale", "--target", "cuda:sm_90a"});
  EXPECT_TRUE(contains(text, "tcc '0.0.1'")) << text;
  EXPECT_EQ(load({folder_ / "a"}).records().count(here.key), 1u);
  EXPECT_EQ(records_in(folder_ / "a"), 1u);
}

TEST_F(RecordCommands, PruneFamilies) {
  Record a = of_template("1", 1), same = of_template("2", 1), other = of_template("3", 1);
  a.extents = {64}, same.extents = {128}, other.extents = {4096};
  other.best.set("threads", 256);
  save_records(store_of({a, same, other}), folder_ / "a");
  std::string text = run({"prune", folder_ / "a", "--families"});
  EXPECT_TRUE(contains(text, "dropped 1 of 3 records")) << text;
  EXPECT_EQ(load({folder_ / "a"}).records().count(other.key), 1u);
}

// A tuning file as the tcc before wrote it: a record of graph_file()'s relu of N = 32, one of a
// user's own kernel and one that is not known.
class MigrateCommand : public RecordCommands {
 protected:
  void SetUp() override {
    RecordCommands::SetUp();
    compile_.dims["N"] = 32;
    scheduled_ = backends::schedule(load_graph(graph_file()), target_, compile_);
    Record known = of_template("1", 1), own = of_template("2", 1), unknown = of_template("3", 1);
    known.key.region = autotune::schema2_key(region());
    known.best = candidate().default_config();
    own.key.kernel_template = "user:stencil";
    unknown.name = "lost_kernel";
    for (const fs::path& file : save_records(store_of({known, own, unknown}), folder_ / "old")) {
      std::string text = read_file(file);
      text.replace(text.find("tcc_tuning: 3"), 13, "tcc_tuning: 2");
      write_file_atomic(file, text);
      files_.push_back(file);
    }
  }

  const sched::Candidate& candidate() const { return scheduled_.regions.at(0).candidate(); }
  const sched::Region& region() const { return candidate().region(); }

  sched::Target target_ = sched::target_by_name("cuda:sm_90a");
  backends::CompileOptions compile_;
  backends::Scheduled scheduled_;
  std::vector<fs::path> files_;
};

TEST_F(MigrateCommand, LookUpNamesTheCommand) {
  EXPECT_TRUE(load({folder_ / "old"}).records().empty());
  ASSERT_EQ(warnings_.size(), files_.size());
  for (size_t i = 0; i < files_.size(); ++i)
    EXPECT_TRUE(contains(warnings_[i], "tcc-tune migrate " + files_[i].string())) << warnings_[i];
}

TEST_F(MigrateCommand, CarriesOverWhatTheModelHas) {
  const std::string before = read_file(files_[0]);
  const std::string text =
      run({"migrate", folder_ / "old", "--model", graph_file(), "--dim", "N=32"});
  EXPECT_TRUE(contains(text,
                       "not carried over: lost_kernel f32[8] -> f32[8]: no graph that tcc ships, "
                       "and none of --model with this --dim and --dtype, has its region "))
      << text;
  EXPECT_TRUE(contains(text, files_[0].string() + ": 1 record carried over")) << text;
  EXPECT_TRUE(contains(text, "1 record left: ")) << text;
  EXPECT_EQ(read_file(files_[0].string() + ".schema2"), before);
  const autotune::RecordStore store = load({folder_ / "old"});
  EXPECT_TRUE(warnings_.empty());
  EXPECT_EQ(store.records().size(), 2u);
  EXPECT_EQ(store.choose(candidate()).tier, sched::Tier::stale);
  const Record& record = store.records().at(autotune::key_of(candidate()));
  EXPECT_EQ(record.extents, (std::vector<int64_t>{32, 32}));
  EXPECT_EQ(record.family, sched::family_of(region()).key);
  EXPECT_EQ(record.seconds, 1e-6);
  EXPECT_TRUE(contains(run({"migrate", folder_ / "old"}), "nothing to carry over"));
}

TEST_F(MigrateCommand, FilesOfWhichNothingIsKnownStayAsTheyAre) {
  const std::string before = read_file(files_[0]);
  EXPECT_TRUE(contains(run({"migrate", files_[0]}), "no record is carried over")) << files_[0];
  EXPECT_EQ(read_file(files_[0]), before);
  EXPECT_THROW(run({"migrate", folder_ / "nowhere"}), Error);
}

TEST_F(MigrateCommand, ATableIsEnough) {
  autotune::KeyTable table, again;
  table.add(region());
  again.read(table.to_yaml(), "table.yaml");
  EXPECT_EQ(again.to_yaml(), table.to_yaml());
  const auto* keys = again.find(autotune::schema2_key(region()));
  ASSERT_NE(keys, nullptr);
  EXPECT_EQ(keys->text, sched::region_text(region()).text);
  fs::create_directories(folder_ / "configs/migrations");
  write_file_atomic(folder_ / "configs/migrations/schema2.yaml", table.to_yaml());
  EXPECT_TRUE(contains(run({"migrate", folder_ / "old"}), "1 record carried over"));
}

TEST_F(MigrateCommand, TablesAreNotTrusted) {
  autotune::KeyTable table;
  table.add(region());
  const std::string good = table.to_yaml();
  const auto error = [&](const std::string& from, const std::string& to) -> std::string {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    try {
      autotune::KeyTable().read(text, "t.yaml");
    } catch (const Error& reason) { return reason.what(); }
    return "";
  };
  EXPECT_TRUE(contains(error("tcc_keys: 2", "tcc_keys: 1"), "t.yaml:2: ")) << good;
  EXPECT_TRUE(contains(error("old: \"", "old: \"x"), "32"));
  EXPECT_TRUE(contains(error("extents: [", "extents: [-1, "), "t.yaml:6: "));
  EXPECT_TRUE(contains(error("    text:", "    text: []\n    rest:"), "t.yaml:"));
  EXPECT_TRUE(contains(error("    text:", "    more: 1\n    text:"), "more"));
}

// A matmul of which K may be split, and the plan that an invented search made of it.
class PlanCommands : public RecordCommands {
 protected:
  void SetUp() override {
    RecordCommands::SetUp();
    std::ofstream(folder_ / "split.yaml")
        << "tcc: 1\nname: g\n"
           "inputs: {x: {dtype: f32, shape: [24, 4096]}, w: {dtype: f32, shape: [40, 4096]}}\n"
           "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n";
    const autotune::SiteRecorder sites(plans_);
    backends::CompileOptions compile;
    compile.plan = &sites;
    backends::schedule(load_graph(folder_ / "split.yaml"), target_, compile);
    ASSERT_FALSE(sites.sites().empty());
    site_ = sites.sites().front();
    ASSERT_EQ(site_.kind, "split_k");
  }

  autotune::PlanRecord plan(const std::string& kind, const std::string& key, int64_t choice) {
    autotune::PlanRecord record;
    record.key = {target_.id(), kind, key};
    record.description = site_.description;
    record.choice = choice;
    record.default_choice = site_.default_choice;
    record.seconds = {{choice, 1e-5}, {site_.default_choice, 2e-5}};
    record.measured_on = "NVIDIA H200";
    record.driver = "580.1";
    record.tcc = autotune::tcc_version();
    record.date = "2026-11-21";
    return record;
  }
  fs::path save(std::initializer_list<autotune::PlanRecord> records) {
    autotune::PlanStore store;
    for (const auto& record : records) store.add(record);
    fs::remove_all(folder_ / "plans");
    return save_plans(store, folder_ / "plans").at(0);
  }
  std::string why() {
    return run(
        {"why", folder_ / "split.yaml", "--target", "cuda:sm_90a", "--tuning", folder_ / "plans"});
  }

  const sched::Target target_ = sched::target_by_name("cuda:sm_90a");
  autotune::PlanStore plans_;
  sched::PlanSite site_;
};

TEST_F(PlanCommands, WhyNamesTheChoiceAndWhereItComesFrom) {
  const int64_t other = site_.alternatives.front();
  ASSERT_NE(other, site_.default_choice);
  save({plan("split_k", site_.key, other)});
  std::string text = why();
  EXPECT_TRUE(contains(text, str(site_.description, "\n  plan: ", other, " of 1, "))) << text;
  EXPECT_TRUE(contains(text, "from NVIDIA H200, 580.1, 2026-11-21: 2.00x the default, ")) << text;
  save({plan("split_k", site_.key, 77)});
  text = why();
  EXPECT_TRUE(contains(text, str("\n  default: ", site_.default_choice))) << text;
  EXPECT_TRUE(contains(text, "the plan of cuda:sm_90a has the choice 77, which is no alternative"))
      << text;
  save({plan("fuse", site_.key, 1)});
  EXPECT_TRUE(contains(why(), "; no plan of cuda:sm_90a says otherwise\n"));
}

TEST_F(PlanCommands, PruneDropsPlansThatNothingCanUse) {
  const std::string elsewhere(32, 'e');
  autotune::PlanRecord before = plan("split_k", elsewhere, 2);
  before.tcc = "0.0.1";
  const fs::path file = save({plan("split_k", site_.key, 77), before, plan("merge", elsewhere, 1),
                              plan("fuse", elsewhere, 1)});
  std::string text = run({"prune", folder_ / "plans", "--dry-run"});
  EXPECT_TRUE(contains(text, "would drop 0 of 0 records, 1 of 4 plans")) << text;
  EXPECT_TRUE(contains(text, "there is no choice 'merge'")) << text;
  run({"prune", file});
  text = run(
      {"prune", folder_ / "plans", "--graph", folder_ / "split.yaml", "--target", "cuda:sm_90a"});
  EXPECT_TRUE(contains(text, "its choice 77 is no alternative any more")) << text;
  text = run({"prune", folder_ / "plans", "--stale", "--target", "cuda:sm_90a"});
  EXPECT_TRUE(contains(text, "tcc '0.0.1'")) << text;
  autotune::PlanStore left;
  read_plan_path(file, left, [](const std::string& warning) { ADD_FAILURE() << warning; });
  ASSERT_EQ(left.records().size(), 1u);
  EXPECT_EQ(left.records().begin()->first.kind, "fuse");
  // A damaged plan goes, the rest of its file stays.
  const fs::path again = save({plan("fuse", elsewhere, 1), plan("fuse", site_.key, 1)});
  std::string damaged = read_file(again);
  damaged.replace(damaged.find("choice: 1"), 9, "choice: x");
  std::ofstream(again) << damaged;
  EXPECT_TRUE(contains(run({"prune", again}), "1 of 2 plans"));
  EXPECT_FALSE(contains(read_file(again), "choice: x"));
}

}  // namespace
}  // namespace tcc::tools
