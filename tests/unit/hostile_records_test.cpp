// Tuning files that lie, are damaged or mean harm: a warning with file and line, the record or the
// file skipped, the rest used.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "autotune/record_file.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/unit/records_fixture.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGood = R"(tcc_tuning: 3
target: "cuda:sm_90a"
template: pointwise
environments:
  "0123456789abcdef":
    vendor: nvidia
    device: "NVIDIA H200"
    capabilities: {compute_units: 132}
    driver: "570.1"
    compiler: "nvrtc 13.0"
    tcc: "0.1.0"
records:
  - name: first
    operands: "f32[8] -> f32[8]"
    region: "00000000000000000000000000000001"
    version: 1
    family: "0000000000000000000000000000000f"
    extents: [8, 8]
    space: "01"
    environment: "0123456789abcdef"
    date: "2026-11-21"
    policy: "median of 50"
    best: {config: {threads: 32}, median: 1.5e-06, interval: [1.4e-06, 1.6e-06], samples: 9, error: 0.5}
    default: 3.0e-06
    runners_up:
      - {config: {threads: 64}, median: 1.7e-06, interval: [1.6e-06, 1.8e-06]}
  - name: second
    region: "00000000000000000000000000000002"
    version: 1
    best: {config: {threads: 32}, median: 1.5e-06}
)";

// The good file with its first `from` replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string entries(int count, const std::string& separator) {
  std::string text;
  for (int i = 0; i < count; ++i) text += str(i ? ", " : "", "p", i, separator);
  return text;
}

std::string numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += i ? ", 1" : "1";
  return text;
}

// Every line refers to the one before it twice: 2^40 nodes.
std::string alias_bomb() {
  std::string text = "a0: &a0 [1, 1]\n";
  for (int i = 1; i < 40; ++i) text += str("a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1, "]\n");
  return text;
}

struct HostileFile {
  const char* name;
  std::string text;
  size_t left;          // records that can be used
  const char* warning;  // a part of the first one
};

std::vector<HostileFile> hostile_files() {
  const std::string config = "config: {threads: 32}", region = "00000000000000000000000000000001";
  const std::string good = kGood;
  return {
      // Files that are none.
      {"empty", "", 0, "a.yaml: is empty; file skipped"},
      {"blank", "\n\n  \n", 0, "file skipped"},
      {"comment", "# nothing\n", 0, "file skipped"},
      {"text", "hello", 0, "a.yaml:1: is no tuning file; file skipped"},
      {"list", "[1, 2]", 0, "is no tuning file"},
      {"null", "~", 0, "is no tuning file"},
      {"other_yaml", "tcc: 1\nname: g\n", 0, "is no tuning file"},
      {"zero_bytes", std::string("tcc_tuning: 3\0\0", 15), 0, "not a text file"},
      {"binary", "\x7f\x45\x4c\x46\x02\x01\x01\xff\xfe\x80", 0, "file skipped"},
      {"gzip", "\x1f\x8b\x08\x03\x80\xff", 0, "file skipped"},
      {"invalid_utf8", with("first", "\"\xc3\x28\xff\""), 1, ""},
      {"two_documents", good + "---\n" + good, 0, "more than one document"},
      {"open_brace", "{", 0, "file skipped"},
      {"open_quote", "tcc_tuning: \"3", 0, "file skipped"},
      {"tabs", "tcc_tuning:\t3\n\ttarget: x\n", 0, "file skipped"},
      {"bad_indentation", with("  - name: first", " - name: first\n   x"), 0, "file skipped"},
      {"conflict_markers", "<<<<<<< HEAD\n" + good, 0, "file skipped"},
      {"deep_lists", "tcc_tuning: " + std::string(100000, '['), 0, "file skipped"},
      {"deep_maps", "tcc_tuning: " + std::string(1000, '{'), 0, "file skipped"},
      {"alias_bomb", alias_bomb(), 0, "nodes once aliases are followed"},
      {"own_alias", "a: &a [*a]", 0, "file skipped"},
      {"unknown_alias", "tcc_tuning: *x", 0, "file skipped"},
      {"too_large", std::string((16 << 20) + 1, '#'), 0, "larger than 16 MiB"},
      // Heads.
      {"schema_1", with("tcc_tuning: 3", "tcc_tuning: 1"), 0,
       "a.yaml:1: key 'tcc_tuning': only schema 3 can be read; file skipped"},
      {"schema_2", with("tcc_tuning: 3", "tcc_tuning: 2"), 0,
       "a.yaml:1: key 'tcc_tuning': schema 2 is an earlier tcc's; to carry the records over: "
       "tcc-tune migrate a.yaml; file skipped"},
      {"schema_4", with("tcc_tuning: 3", "tcc_tuning: 4"), 0, "only schema 3"},
      {"schema_text", with("tcc_tuning: 3", "tcc_tuning: two"), 0, "must be an integer"},
      {"schema_huge", with("tcc_tuning: 3", "tcc_tuning: 99999999999999999999"), 0, "integer"},
      {"schema_map", with("tcc_tuning: 3", "tcc_tuning: {a: 1}"), 0, "must be an integer"},
      {"schema_twice", with("tcc_tuning: 3", "tcc_tuning: 3\ntcc_tuning: 3"), 0, "duplicate key"},
      {"no_target", with("target: \"cuda:sm_90a\"\n", ""), 0, "missing key 'target'"},
      {"target_path", with("cuda:sm_90a", "../../etc"), 0, "a.yaml:2: key 'target': must be"},
      {"target_empty", with("cuda:sm_90a", ""), 0, "must be 1 to 128"},
      {"target_long", with("cuda:sm_90a", std::string(5000, 't')), 0, "key 'target'"},
      {"template_path", with("template: pointwise", "template: a/b"), 0, "key 'template'"},
      {"template_list", with("template: pointwise", "template: [a]"), 0, "must be text"},
      {"unknown_head_key", with("template:", "colour: red\ntemplate:"), 0, "unknown key 'colour'"},
      {"no_records", "tcc_tuning: 3\ntarget: d\ntemplate: t\n", 0, "missing key 'records'"},
      {"records_map", "tcc_tuning: 3\ntarget: d\ntemplate: t\nrecords: {a: 1}\n", 0,
       "must be a list"},
      {"too_many_records",
       "tcc_tuning: 3\ntarget: d\ntemplate: t\nrecords: [" + numbers(20001) + "]\n", 0,
       "has more than 20000 records"},
      // Environments.
      {"environments_list", with("  \"0123456789abcdef\":\n", "  - x\n  - "), 0, "file skipped"},
      {"environment_text", with("compiler: \"nvrtc 13.0\"", "compiler: [1]"), 1,
       "a.yaml:10: key 'compiler': must be text; records of environment '0123456789abcdef' are"},
      {"environment_key", with("vendor:", "vender:"), 1, "unknown key 'vender'"},
      {"capability_text", with("compute_units: 132", "compute_units: many"), 1, "an integer"},
      {"capability_huge", with("compute_units: 132", "compute_units: 9000000000000"), 1, "not in"},
      {"capability_name", with("compute_units: 132", "\"a b\": 1"), 1, "a name is of letters"},
      {"capabilities_many", with("compute_units: 132", entries(33, ": 1")), 1, "more than 32"},
      {"environment_missing", with("environment: \"0123456789abcdef\"", "environment: \"1\""), 1,
       "no such entry in 'environments'"},
      {"environment_map", with("environment: \"0123456789abcdef\"", "environment: {}"), 1, "text"},
      // Records.
      {"record_number", with("  - name: second", "  - 7\n  - name: second"), 2,
       "a.yaml:27: key 'records': must be a map; record skipped"},
      {"record_null", with("  - name: second", "  - ~\n  - name: second"), 2, "record skipped"},
      {"unknown_key", with("version: 1", "version: 1\n    speed: 9"), 1,
       "a.yaml:17: unknown key 'speed'"},
      {"duplicate_key", with("version: 1", "version: 1\n    version: 1"), 1,
       "duplicate key 'version'"},
      {"region_missing", with("region: \"" + region + "\"\n    ", ""), 1, "missing key 'region'"},
      {"region_short", with(region, "1234"), 1, "must be 32 hexadecimal digits"},
      {"region_upper", with(region, std::string(32, 'A')), 1, "must be 32 hexadecimal digits"},
      {"region_long", with(region, std::string(4000, 'a')), 1, "must be 32 hexadecimal digits"},
      {"version_negative", with("version: 1", "version: -1"), 1, "-1 is not in [0, 1000000]"},
      {"version_huge", with("version: 1", "version: 99999999999"), 1, "is not in"},
      {"version_fraction", with("version: 1", "version: 1.5"), 1, "must be an integer"},
      {"name_long", with("first", std::string(2000, 'n')), 1, "is longer than 1024 characters"},
      {"name_control", with("first", "\"a\\nb\""), 1, "has a control character"},
      {"name_list", with("name: first", "name: [a]"), 1, "must be text"},
      {"family_short", with("0000000000000000000000000000000f", "f"), 1, "32 hexadecimal digits"},
      {"extents_text", with("extents: [8, 8]", "extents: all"), 1, "must be a list"},
      {"extents_negative", with("extents: [8, 8]", "extents: [-8]"), 1, "-8 is not in"},
      {"extents_many", with("extents: [8, 8]", "extents: [" + numbers(1025) + "]"), 1,
       "has more than 1024 entries"},
      {"date_text", with("2026-11-21", "yesterday"), 1, "must be YYYY-MM-DD"},
      {"best_missing", with("best: {" + config, "beste: {" + config), 1, "unknown key 'beste'"},
      {"best_list", with("best: {" + config, "best: [1]\n    default: {" + config), 1, "skipped"},
      {"config_missing", with(config + ", ", ""), 1, "missing key 'config'"},
      {"config_empty", with(config, "config: {}"), 1, "has no parameters"},
      {"config_list", with(config, "config: [32]"), 1, "must be a map"},
      {"config_text", with(config, "config: {threads: many}"), 1, "must be an integer"},
      {"config_exponent", with(config, "config: {threads: 9e99}"), 1, "must be an integer"},
      {"config_huge", with(config, "config: {threads: 9223372036854775807}"), 1, "is not in"},
      {"config_overflow", with(config, "config: {threads: 9223372036854775808}"), 1, "an integer"},
      {"config_nested", with(config, "config: {threads: {a: 1}}"), 1, "must be an integer"},
      {"config_name", with(config, "config: {\"a b\": 1}"), 1, "a name is of letters"},
      {"config_twice", with(config, "config: {threads: 1, threads: 2}"), 1, "duplicate key"},
      {"config_many", with(config, "config: {" + entries(33, ": 1") + "}"), 1, "more than 32"},
      {"median_zero", with("median: 1.5e-06", "median: 0"), 1, "a.yaml:23: key 'median': 0 is not"},
      {"median_negative", with("median: 1.5e-06", "median: -1"), 1, "-1 is not in"},
      {"median_nan", with("median: 1.5e-06", "median: .nan"), 1, "nan is not in"},
      {"median_infinite", with("median: 1.5e-06", "median: .inf"), 1, "inf is not in"},
      {"median_overflow", with("median: 1.5e-06", "median: 1e999"), 1, "must be a number"},
      {"median_text", with("median: 1.5e-06", "median: fast"), 1, "must be a number"},
      {"interval_turned", with("[1.4e-06, 1.6e-06]", "[1.6e-06, 1.4e-06]"), 1, "[low, high]"},
      {"interval_one", with("[1.4e-06, 1.6e-06]", "[1.6e-06]"), 1, "must be [low, high]"},
      {"interval_nan", with("[1.4e-06, 1.6e-06]", "[.nan, .nan]"), 1, "nan is not in"},
      {"samples_huge", with("samples: 9", "samples: 9999999999"), 1, "is not in"},
      {"error_large", with("error: 0.5", "error: 1.5"), 1, "1.5 is not in [0, 1]"},
      {"error_nan", with("error: 0.5", "error: .nan"), 1, "nan is not in"},
      {"default_negative", with("default: 3.0e-06", "default: -3"), 1, "is not in"},
      {"runners_text", with("threads: 64", "threads: x"), 1, "must be an integer"},
      {"runners_many", with("    runners_up:\n", "    runners_up: [1, 1, 1, 1, 1]\n    policy:\n"),
       1, "skipped"},
      {"same_kernel_twice", with("00000000000000000000000000000002", region), 1,
       "a.yaml:27: a second record of this kernel"},
  };
}

class HostileRecords : public RecordsTest {};

TEST_F(HostileRecords, TheGoodFileIsGood) {
  EXPECT_EQ(parse(kGood).records().size(), 2u);
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(HostileRecords, AreWarnedAboutAndTheRestIsUsed) {
  std::vector<HostileFile> files = hostile_files();
  EXPECT_GE(files.size(), 60u);
  for (const HostileFile& file : files) {
    SCOPED_TRACE(file.name);
    RecordStore store = parse(file.text);
    if (std::string_view(file.name) == "invalid_utf8") continue;  // only must not crash
    EXPECT_EQ(store.records().size(), file.left);
    ASSERT_FALSE(warnings_.empty());
    EXPECT_NE(warnings_[0].find(file.warning), std::string::npos) << warnings_[0];
    for (const std::string& warning : warnings_) {
      EXPECT_TRUE(warning.starts_with("a.yaml:")) << warning;
      EXPECT_EQ(warning.find('\n'), std::string::npos) << warning;
      EXPECT_LT(warning.size(), 1500u);
    }
  }
}

// Cut anywhere: never a crash, and never more than there was.
TEST_F(HostileRecords, TruncatedFiles) {
  const std::string good = kGood;
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_LE(parse(good.substr(0, size)).records().size(), 2u);
}

TEST_F(HostileRecords, FilesThatCannotBeRead) {
  std::ofstream(folder_ / "good.yaml") << kGood;
  fs::create_symlink(folder_ / "nowhere", folder_ / "dangling.yaml");
  fs::create_symlink(folder_ / "loop.yaml", folder_ / "loop.yaml");
  fs::create_symlink("/dev/zero", folder_ / "zero.yaml");
  fs::create_directory(folder_ / "folder.yaml");
  ASSERT_EQ(::mkfifo((folder_ / "pipe.yaml").c_str(), 0600), 0);
  std::ofstream(folder_ / ".hidden.yaml") << "half a fi";
  std::ofstream(folder_ / "notes.txt") << "no tuning file";
  fs::resize_file(folder_ / "notes.txt", 1);
  std::ofstream(folder_ / "huge.yaml");
  fs::resize_file(folder_ / "huge.yaml", int64_t{1} << 40);  // sparse
  RecordStore store = load({folder_});
  EXPECT_EQ(store.records().size(), 2u);
  EXPECT_EQ(warnings_.size(), 6u);
  for (const std::string& warning : warnings_)
    EXPECT_TRUE(warning.ends_with("; file skipped")) << warning;
}

TEST_F(HostileRecords, AFileWithoutPermission) {
  std::ofstream(folder_ / "good.yaml") << kGood;
  fs::permissions(folder_ / "good.yaml", fs::perms::none);
  if (::access((folder_ / "good.yaml").c_str(), R_OK) == 0) GTEST_SKIP() << "root reads everything";
  EXPECT_TRUE(load({folder_ / "good.yaml"}).records().empty());
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(HostileRecords, WhatReadsWritesAndReadsAgain) {
  RecordStore store = parse(kGood);
  fs::path file = save_records(store, folder_ / "out")[0];
  RecordStore again = load({file});
  EXPECT_TRUE(warnings_.empty());
  EXPECT_EQ(again.records(), store.records());
}

}  // namespace
}  // namespace tcc::autotune
