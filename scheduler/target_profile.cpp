#include "scheduler/target_profile.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <system_error>

#include "executable/vulkan_targets.h"
#include "ir/suggest.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::sched {
namespace {

namespace fs = std::filesystem;

// One value of a file, for conversions whose errors say where.
struct Entry {
  std::string file;
  std::string key;
  YAML::Node value;

  [[noreturn]] void fail(const std::string& reason) const {
    fail_input(file, ":", value.Mark().line + 1, ": ", key, ": ", reason);
  }
  template <class T>
  T as(const char* what) const {
    T result;
    if (!value.IsScalar() || !YAML::convert<T>::decode(value, result)) fail(str("expected ", what));
    return result;
  }
  int64_t positive() const {
    const auto number = as<int64_t>("a positive integer");
    if (number < 1) fail("expected a positive integer");
    return number;
  }
  int small() const {
    const int64_t number = positive();
    if (number > std::numeric_limits<int>::max()) fail("too large");
    return static_cast<int>(number);
  }
  int power_of_two() const {
    const int number = small();
    if (!std::has_single_bit(static_cast<unsigned>(number)) || number > 1024)
      fail("expected a power of two up to 1024");
    return number;
  }
  double rate() const {
    const auto number = as<double>("a positive number");
    if (!std::isfinite(number) || number <= 0) fail("expected a positive number");
    return number;
  }
  bool flag() const { return as<bool>("true or false"); }
  std::string word() const { return as<std::string>("a word"); }
  std::vector<Entry> list(size_t size) const {
    if (!value.IsSequence() || value.size() != size)
      fail(str("expected a list of ", size, " integers"));
    std::vector<Entry> entries;
    for (const YAML::Node& item : value) entries.push_back({file, key, item});
    return entries;
  }
};

// In the order in which they are read: is_cpu implies what some later ones say.
struct ProfileField {
  std::string_view key;
  bool required;
  void (*read)(Target&, const Entry&);
};

// It becomes part of ids and of file names.
void read_arch(Target& target, const Entry& entry) {
  target.arch = entry.word();
  if (!is_profile_name(target.arch)) entry.fail("expected small letters, digits, - or _");
}

void read_range(Target& target, const Entry& entry) {
  const std::vector<Entry> ends = entry.list(2);
  target.subgroup_size_min = ends[0].power_of_two();
  target.subgroup_size_max = ends[1].power_of_two();
}

void read_grid(Target& target, const Entry& entry) {
  const std::vector<Entry> sizes = entry.list(3);
  for (size_t i = 0; i < 3; ++i) target.max_grid[i] = sizes[i].positive();
}

void read_matrix_units(Target& target, const Entry& entry) {
  const std::string expected = "expected a list of units, as in 'coopmat 16x16x16 f16 f16 f32 f32'";
  if (!entry.value.IsSequence()) entry.fail(expected);
  for (const YAML::Node& item : entry.value) {
    const Entry one{entry.file, entry.key, item};
    const std::optional<exec::MatrixUnit> unit = exec::parse_matrix_unit(one.word());
    if (!unit) one.fail(expected);
    target.matrix_units.push_back(*unit);
  }
  if (!target.matrix_units.empty()) target.matrix_row_bytes = exec::kVulkanMatrixRowBytes;
}

// A set of widths of floats, as FloatControls has them.
int read_widths(const Entry& entry) {
  if (!entry.value.IsSequence()) entry.fail("expected a list of 16, 32, 64");
  int widths = 0;
  for (const YAML::Node& item : entry.value) {
    const int width = Entry{entry.file, entry.key, item}.small();
    if (width != 16 && width != 32 && width != 64) entry.fail("expected a list of 16, 32, 64");
    widths |= width;
  }
  return widths;
}

constexpr ProfileField kFields[] = {
    {"vendor", true, [](Target& t, const Entry& e) { t.vendor = e.word(); }},
    {"arch", false, read_arch},
    {"subgroup_size", true, [](Target& t, const Entry& e) { t.subgroup_size = e.power_of_two(); }},
    {"subgroup_size_range", true, read_range},
    {"max_workgroup_size", true,
     [](Target& t, const Entry& e) { t.max_workgroup_size = e.small(); }},
    {"max_grid", true, read_grid},
    {"shared_bytes", true, [](Target& t, const Entry& e) { t.shared_bytes = e.positive(); }},
    {"max_buffer_bytes", true,
     [](Target& t, const Entry& e) { t.max_buffer_bytes = e.positive(); }},
    {"push_constant_bytes", true,
     [](Target& t, const Entry& e) { t.push_constant_bytes = e.positive(); }},
    {"storage16", true, [](Target& t, const Entry& e) { t.storage16 = e.flag(); }},
    {"storage8", true, [](Target& t, const Entry& e) { t.storage8 = e.flag(); }},
    {"int64", true, [](Target& t, const Entry& e) { t.int64 = e.flag(); }},
    {"float64", true, [](Target& t, const Entry& e) { t.float64 = e.flag(); }},
    {"subgroup_shuffle", true, [](Target& t, const Entry& e) { t.subgroup_shuffle = e.flag(); }},
    {"native_exp2", false, [](Target& t, const Entry& e) { t.native_exp2 = e.flag(); }},
    {"native_f16", false, [](Target& t, const Entry& e) { t.native_f16 = e.flag(); }},
    {"keep_special_floats", false,
     [](Target& t, const Entry& e) { t.float_controls.keep_special = read_widths(e); }},
    {"keep_denormals", false,
     [](Target& t, const Entry& e) { t.float_controls.keep_denormals = read_widths(e); }},
    {"round_to_even", false,
     [](Target& t, const Entry& e) { t.float_controls.round_to_even = read_widths(e); }},
    {"unified_memory", false, [](Target& t, const Entry& e) { t.unified_memory = e.flag(); }},
    {"is_cpu", false,
     [](Target& t, const Entry& e) {
       if (e.flag()) exec::set_software(t);
     }},
    {"indexed_registers", false, [](Target& t, const Entry& e) { t.indexed_registers = e.flag(); }},
    {"serial_workgroups", false, [](Target& t, const Entry& e) { t.serial_workgroups = e.flag(); }},
    {"wide_accesses", false, [](Target& t, const Entry& e) { t.wide_accesses = e.flag(); }},
    {"full_workgroup", false, [](Target& t, const Entry& e) { t.full_workgroup = e.small(); }},
    {"load_registers", false, [](Target& t, const Entry& e) { t.load_registers = e.small(); }},
    {"busy_threads", false, [](Target& t, const Entry& e) { t.busy_threads = e.small(); }},
    {"fma_lanes", false, [](Target& t, const Entry& e) { t.fma_lanes = e.small(); }},
    {"matrix_units", false, read_matrix_units},
    {"matrix_conversions", false,
     [](Target& t, const Entry& e) { t.matrix_conversions = e.flag(); }},
    {"byte_products", false, [](Target& t, const Entry& e) { t.byte_products = e.flag(); }},
    {"flops_matrix", false, [](Target& t, const Entry& e) { t.flops_matrix = e.rate(); }},
    {"max_loop_iterations", false,
     [](Target& t, const Entry& e) { t.max_loop_iterations = e.positive(); }},
    {"compute_units", true, [](Target& t, const Entry& e) { t.compute_units = e.small(); }},
    {"registers_per_unit", true,
     [](Target& t, const Entry& e) { t.registers_per_unit = e.small(); }},
    {"max_threads_per_unit", true,
     [](Target& t, const Entry& e) { t.max_threads_per_unit = e.small(); }},
    {"l2_bytes", true, [](Target& t, const Entry& e) { t.l2_bytes = e.positive(); }},
    {"bandwidth", true, [](Target& t, const Entry& e) { t.bandwidth = e.rate(); }},
    {"flops_f32", true, [](Target& t, const Entry& e) { t.flops_f32 = e.rate(); }},
};

constexpr int64_t kMaxBytes = 64 << 10;
constexpr std::string_view kExtends = "extends";
constexpr std::string_view kArch = "arch";

using Entries = std::map<std::string, Entry>;  // by key

// The keys of one file.
Entries read_entries(const std::string& text, const std::string& file) {
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    fail_input(file, ":", error.mark.line + 1, ": ", error.msg);
  }
  if (!root.IsMap()) fail_input(file, ":1: expected a map of the target's limits");
  Entries entries;
  for (const auto& item : root) {
    const int line = item.first.Mark().line + 1;
    if (!item.first.IsScalar()) fail_input(file, ":", line, ": a key must be a word");
    const std::string key = item.first.Scalar();
    const bool is_known = key == kExtends || std::any_of(std::begin(kFields), std::end(kFields),
                                                         [&](auto& f) { return f.key == key; });
    if (!is_known) fail_input(file, ":", line, ": unknown key '", key, "'");
    if (!entries.emplace(key, Entry{file, key, item.second}).second)
      fail_input(file, ":", line, ": ", key, " is given twice");
  }
  return entries;
}

// The file of the profile that an entry's file extends, which is in the same folder.
fs::path base_file(const Entry& extends) {
  const std::string name = extends.as<std::string>("a profile's name, as in 'extends: nvidia'");
  if (!is_profile_name(name))
    extends.fail("expected a profile's name: up to 64 small letters, digits, - and _");
  const fs::path folder = fs::path(extends.file).parent_path();
  const std::vector<std::string> names = profile_names(folder);
  if (std::find(names.begin(), names.end(), name) == names.end())
    extends.fail(str("there is no ", (folder / name).string(), ".yaml", ir::or_known(name, names)));
  return folder / (name + ".yaml");
}

// The keys of a file, and those that it lacks from the profiles that it extends. Only the
// architecture is each profile's own: tuning records are found by it.
Entries read_chain(const std::string& text, const std::string& file) {
  Entries entries = read_entries(text, file);
  std::set<std::string> files = {fs::path(file).filename().string()};
  for (auto extends = entries.extract(std::string(kExtends)); extends;) {
    const fs::path base = base_file(extends.mapped());
    if (!files.insert(base.filename().string()).second)
      extends.mapped().fail(str(base.stem().string(),
                                " extends this profile in turn: state the limits in one of them"));
    Entries more = read_entries(read_file(base, kMaxBytes), base.string());
    extends = more.extract(std::string(kExtends));
    more.erase(std::string(kArch));
    entries.merge(more);
  }
  return entries;
}

void check_consistent(const Target& target, const std::string& file) {
  if (target.subgroup_size < target.subgroup_size_min ||
      target.subgroup_size > target.subgroup_size_max)
    fail_input(file, ": subgroup_size ", target.subgroup_size, " is outside subgroup_size_range");
  if (target.max_workgroup_size < target.subgroup_size)
    fail_input(file, ": max_workgroup_size is below subgroup_size");
}

}  // namespace

std::vector<std::string> profile_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".yaml") names.push_back(entry->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_profile_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Target read_profile(const fs::path& file) {
  return parse_profile(read_file(file, kMaxBytes), file.string(), file.stem().string());
}

std::optional<Target> find_profile_of(const fs::path& folder, std::string_view arch) {
  for (const std::string& name : profile_names(folder)) {
    const fs::path file = folder / (name + ".yaml");
    const std::string text = read_file(file, kMaxBytes);
    if (text.find(kArch) == text.npos || text.find(arch) == text.npos) continue;
    if (Target target = parse_profile(text, file.string(), name); target.arch == arch)
      return target;
  }
  return std::nullopt;
}

Target parse_profile(const std::string& text, const std::string& file, std::string_view arch) {
  Target target;
  exec::set_vulkan_facts(target);
  target.arch = arch;
  const Entries entries = read_chain(text, file);
  for (const ProfileField& field : kFields) {
    const auto entry = entries.find(std::string(field.key));
    if (entry != entries.end())
      field.read(target, entry->second);
    else if (field.required)
      fail_input(file, ": ", field.key, " is missing");
  }
  check_consistent(target, file);
  return target;
}

}  // namespace tcc::sched
