// tcc-tune merge, show, why and prune, from the command line on.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "autotune/record_file.h"
#include "autotune/records.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/unit/records_fixture.h"
#include "tools/tune/commands.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;
using autotune::example_record;
using autotune::Record;
using autotune::save_records;
using autotune::store_of;

// What is written to `stream` goes elsewhere for a while.
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
  // What `tcc-tune ARGUMENTS` prints. It must end with 0; errors are thrown.
  std::string run(std::vector<std::string> arguments) {
    CLI::App program("", "tcc-tune");
    const Command commands[] = {add_merge(program), add_show(program), add_why(program),
                                add_prune(program)};
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    program.parse(arguments);
    std::ostringstream out, errors;
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

  std::string errors_;
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
    EXPECT_TRUE(contains(run({"show", folder_ / "a", "--device", device}), "1 records")) << device;
  EXPECT_TRUE(contains(run({"show", folder_ / "a", "--template", "scan"}), "llvmpipe"));
  EXPECT_EQ(run({"show", folder_ / "a", "--device", "sm_90"}), "no records\n");
  EXPECT_EQ(run({"show"}), "no records\n");  // of the default folders
}

TEST_F(RecordCommands, WhyNamesTheTierAndTheReasons) {
  std::string text = run({"why", graph_file(), "--target", "cuda:sm_90a", "--dim", "N=32"});
  EXPECT_TRUE(contains(text, "relu [pointwise] f32[32] -> f32[32]\n  default: ")) << text;
  EXPECT_TRUE(contains(text, "not exact: no record of this kernel for cuda:sm_90a")) << text;
  EXPECT_TRUE(contains(text, "not device: ")) << text;
  EXPECT_TRUE(contains(text, "kernels of cuda:sm_90a: 1 default")) << text;
  EXPECT_THROW(run({"why", "--target", "cuda:sm_90a"}), Error);
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
  const std::string newer = "tcc_tuning: 3\nrecords: []\n";
  std::ofstream(folder_ / "newer.yaml") << newer;
  EXPECT_TRUE(contains(run({"prune", folder_}), "dropped 1 of 2 records"));
  EXPECT_TRUE(contains(errors_, "record skipped")) << errors_;
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

}  // namespace
}  // namespace tcc::tools
