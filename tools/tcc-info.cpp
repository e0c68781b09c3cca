// tcc-info: what tcc finds on this machine: devices, compilers, folders; and what it misses, and
// why.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

#include "autotune/records.h"
#include "backends/backend.h"
#include "backends/compile/kernel_cache.h"
#include "executable/quirks.h"
#include "runtime/device.h"
#include "scheduler/source_compiler.h"
#include "scheduler/target_profile.h"
#include "support/config_folder.h"
#include "support/error.h"
#include "support/json_writer.h"
#include "support/plural.h"
#include "tools/help.h"
#include "tools/program.h"
#include "tools/self_test.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

struct Device {
  runtime::DeviceEntry entry;
  std::optional<sched::Target> target;  // absent when it cannot be opened
  int64_t memory_bytes = 0;
  std::string error;
  bool compiles_alone = false;  // nothing runs on it
};

struct Compiler {
  std::string api, id, missing;  // either an id or why it is missing
};

struct Folder {
  std::string what, path, note;
};

struct Feature {
  const char* name;
  bool present;
  const char* without;  // what its absence means
};

std::vector<Feature> features(const sched::Target& t) {
  std::vector<Feature> all = {
      {"storage16", t.storage16, "f16 and bf16 buffers are accessed as words"},
      {"storage8", t.storage8, "8-bit and bool buffers are accessed as words"},
      {"int64", t.int64, "no i64 and u64 tensors"},
      {"float64", t.float64, "no f64 tensors"},
      {"subgroup_shuffle", t.subgroup_shuffle, "reductions go through shared memory"},
      {"byte_products", t.byte_products, "products of bytes are multiplied one by one"},
      {"matrix_units", !t.matrix_units.empty(), "matrix products are made of FMAs"}};
  if (t.api == sched::Api::vulkan && !t.matrix_units.empty())
    all.push_back({"matrix_conversions", t.matrix_conversions,
                   "weights of attention pass through shared memory"});
  if (t.api == sched::Api::cuda) {
    all.push_back({"clusters", t.max_cluster > 1, "a row is reduced by one workgroup"});
    all.push_back({"box_copies", t.box_copies, "tiles are copied by threads"});
    all.push_back({"overlapping_launches", t.overlapping_launches,
                   "a kernel begins when the one before it has ended"});
    all.push_back({"cooperative_launches", t.cooperative_launches,
                   "each step of a large recurrent layer is a launch"});
  }
  return all;
}

// Units that no kernel can use here, and why.
std::vector<std::string> unused_units(const sched::Target& t) {
  std::vector<std::string> unused;
  const auto is_lacking = [&](const char* units, const char* extension) {
    const std::string reason = sched::lacking_extension(t.api, extension);
    if (!reason.empty()) unused.push_back(str(units, ": ", reason));
    return !reason.empty();
  };
  const bool bf16 = t.multiplies("coopmat", DType::bf16, DType::bf16, DType::f32);
  if (t.has_matrix_unit("coopmat") && !is_lacking("matrix units", "GL_KHR_cooperative_matrix") &&
      bf16)
    is_lacking("matrix units of bf16", "GL_EXT_bfloat16");
  return unused;
}

// The device that a list left out because its driver compiles kernels and runs none.
std::optional<Device> compiling_device(const std::string& missing) try {
  const std::string name = missing.substr(0, missing.find(' '));
  if (name.find(':') == name.npos || name.ends_with(':')) return std::nullopt;
  const auto opened = runtime::open_device(name);
  if (!opened->compiles_alone()) return std::nullopt;
  const sched::Target& target = opened->target();
  return Device{{name, target.device, target}, target, 0, "", true};
} catch (const Error&) { return std::nullopt; }

// Takes the devices that only compile out of the reasons why others are missing.
std::vector<Device> find_devices(runtime::DeviceList& list) {
  std::vector<Device> devices;
  for (const runtime::DeviceEntry& entry : list.devices) {
    Device device{.entry = entry, .target = std::nullopt, .error = ""};
    try {
      auto opened = runtime::open_device(entry.name);
      device.target = opened->target();
      device.memory_bytes = opened->memory_bytes();
    } catch (const Error& error) { device.error = error.what(); }
    devices.push_back(std::move(device));
  }
  std::erase_if(list.missing, [&](const std::string& missing) {
    std::optional<Device> device = compiling_device(missing);
    if (device) devices.push_back(*std::move(device));
    return device.has_value();
  });
  return devices;
}

std::vector<Compiler> find_compilers() {
  std::vector<Compiler> compilers;
  for (const backends::Backend* backend : backends::backends()) {
    if (backend->api() == sched::Api::null) continue;  // it compiles nothing
    Compiler compiler{std::string(sched::name(backend->api())), "", backend->compiler_missing()};
    if (compiler.missing.empty()) compiler.id = backend->compiler_id();
    compilers.push_back(std::move(compiler));
  }
  return compilers;
}

std::vector<Folder> find_folders() {
  std::vector<Folder> folders;
  std::error_code error;
  fs::path configs = config_folder();
  folders.push_back(
      {"configs", configs.string(), configs.empty() ? "not found: set TCC_CONFIG_DIR" : ""});
  fs::path cache = default_cache_folder();
  std::string note = cache.empty()              ? "none: set TCC_CACHE_DIR or HOME"
                     : fs::exists(cache, error) ? ""
                                                : "made on first use";
  folders.push_back({"kernel cache", cache.string(), note});
  const auto missing = [&](const char* kind) {
    return [&folders, kind](const std::string& text) { folders.push_back({kind, "", text}); };
  };
  for (const fs::path& path : autotune::default_tuning_folders(missing("tuning")))
    folders.push_back({"tuning", path.string(), ""});
  if (!std::getenv("TCC_TUNING_PATH"))
    folders.push_back({"tuning", "", "TCC_TUNING_PATH is not set"});
  for (const fs::path& file : exec::quirk_files(missing("quirks")))
    folders.push_back({"quirks", file.string(), ""});
  if (exec::quirks_are_off()) folders.push_back({"quirks", "", "TCC_QUIRKS is 'none'"});
  return folders;
}

std::string range(int low, int high) {
  return low == high ? std::to_string(low) : str(low, "-", high);
}

void print_devices(const std::vector<Device>& devices, const std::vector<std::string>& missing) {
  std::vector<std::vector<std::string>> rows;
  for (const Device& device : devices) {
    if (!device.target) {
      rows.push_back({device.entry.name, device.entry.description, "cannot be opened"});
      continue;
    }
    const sched::Target& t = *device.target;
    rows.push_back(
        {device.entry.name, t.id(), str("", t.compute_units),
         range(t.subgroup_size_min, t.subgroup_size_max), std::to_string(t.max_workgroup_size),
         format_bytes(static_cast<double>(t.shared_bytes)),
         device.compiles_alone ? "none" : format_bytes(static_cast<double>(device.memory_bytes)),
         format_bytes(static_cast<double>(t.max_buffer_bytes))});
  }
  std::cout << "Devices\n";
  if (!rows.empty())
    std::cout << format_table({"name", "target", "compute", "subgroup", "workgroup", "shared",
                               "memory", "largest buffer"},
                              rows);
  for (const Device& device : devices) {
    std::cout << "\n" << device.entry.name << ": " << device.entry.description << "\n";
    if (!device.target) {
      std::cout << "  cannot be opened: " << device.error << "\n";
      continue;
    }
    const sched::Target& t = *device.target;
    std::cout << "  driver       " << t.driver << "\n";
    if (device.compiles_alone)
      std::cout
          << "  compiles     kernels, and runs none: there is no such device, only its driver. "
             "tcc-tune --device "
          << device.entry.name << " ranks configs by estimates\n";
    std::string present, units;
    for (const Feature& feature : features(t))
      if (feature.present) present += std::string(present.empty() ? "" : ", ") + feature.name;
    for (const std::string& kind : exec::kinds_of(t.matrix_units))
      units += (units.empty() ? "" : ", ") + kind;
    std::cout << "  features     " << present << (units.empty() ? "" : " (" + units + ")") << "\n";
    for (const Feature& feature : features(t))
      if (!feature.present)
        std::cout << "  missing      " << feature.name << ": " << feature.without << "\n";
    for (const exec::SwitchedOff& off : t.switched_off)
      std::cout << "  off          " << off.what << ": " << off.text() << "\n";
    if (!device.compiles_alone && !exec::is_tested(t, exec::quirks()))
      std::cout << "  untested     this driver: tcc-info --self-test --device " << device.entry.name
                << "\n";
    for (const std::string& reason : unused_units(t))
      std::cout << "  unused       " << reason << "\n";
    if (t.max_cluster > 1) {
      std::cout << "  at once     ";
      for (int size = 2; size <= t.max_cluster; size *= 2)
        std::cout << (size > 2 ? ", " : " ") << counted(t.concurrent_clusters(size), "cluster")
                  << " of " << size;
      std::cout << "\n";
    }
    if (t.is_cpu) std::cout << "  software     its times say nothing about GPUs\n";
  }
  for (const std::string& reason : missing) std::cout << "missing: " << reason << "\n";
}

void print_info_json(const std::vector<Device>& devices, const std::vector<std::string>& missing,
                     const std::vector<Compiler>& compilers, const std::vector<Folder>& folders) {
  JsonWriter json(JsonWriter::Style::indented);
  json.begin_object().key("devices").begin_array();
  for (const Device& device : devices) {
    json.begin_object()
        .member("name", device.entry.name)
        .member("description", device.entry.description);
    if (!device.error.empty()) json.member("error", device.error);
    if (device.target) {
      const sched::Target& t = *device.target;
      json.member("target", t.id())
          .member("vendor", t.vendor)
          .member("device", t.device)
          .member("arch", t.arch)
          .member("driver", t.driver);
      json.member("memory_bytes", device.memory_bytes)
          .member("max_buffer_bytes", t.max_buffer_bytes);
      json.member("compute_units", t.compute_units).member("subgroup_size", t.subgroup_size);
      json.member("subgroup_size_min", t.subgroup_size_min)
          .member("subgroup_size_max", t.subgroup_size_max);
      json.member("max_workgroup_size", t.max_workgroup_size)
          .member("shared_bytes", t.shared_bytes);
      json.key("max_grid").begin_array();
      for (int64_t limit : t.max_grid) json.value(limit);
      json.end_array()
          .member("push_constant_bytes", t.push_constant_bytes)
          .member("l2_bytes", t.l2_bytes);
      json.member("bandwidth", t.bandwidth).member("flops_f32", t.flops_f32);
      json.member("unified_memory", t.unified_memory).member("is_cpu", t.is_cpu);
      json.member("runs_kernels", !device.compiles_alone);
      json.key("features").begin_object();
      for (const Feature& feature : features(t)) json.member(feature.name, feature.present);
      json.end_object().key("matrix_units").begin_array();
      for (const std::string& kind : exec::kinds_of(t.matrix_units)) json.value(kind);
      json.end_array().key("matrix_shapes").begin_array();
      for (const exec::MatrixUnit& unit : t.matrix_units) json.value(exec::to_string(unit));
      json.end_array().key("switched_off").begin_array();
      for (const exec::SwitchedOff& off : t.switched_off)
        json.begin_object()
            .member("what", off.what)
            .member("quirk", off.source)
            .member("reason", off.reason)
            .end_object();
      json.end_array().member("driver_tested", exec::is_tested(t, exec::quirks()));
    }
    json.end_object();
  }
  json.end_array().key("missing").begin_array();
  for (const std::string& reason : missing) json.value(reason);
  json.end_array().key("compilers").begin_array();
  for (const Compiler& compiler : compilers) {
    json.begin_object().member("api", compiler.api);
    json.member(compiler.missing.empty() ? "compiler" : "missing",
                compiler.missing.empty() ? compiler.id : compiler.missing)
        .end_object();
  }
  json.end_array().key("folders").begin_array();
  for (const Folder& folder : folders) {
    json.begin_object().member("what", folder.what).member("path", folder.path);
    if (!folder.note.empty()) json.member("note", folder.note);
    json.end_object();
  }
  json.end_array().end_object();
  std::cout << json.text() << "\n";
}

int print_info(bool as_json) {
  runtime::DeviceList list = runtime::list_devices();
  std::vector<Device> devices = find_devices(list);
  std::vector<Compiler> compilers = find_compilers();
  std::vector<Folder> folders = find_folders();
  if (as_json) {
    print_info_json(devices, list.missing, compilers, folders);
    return 0;
  }
  print_devices(devices, list.missing);
  std::vector<std::vector<std::string>> rows;
  for (const Compiler& compiler : compilers)
    rows.push_back(
        {compiler.api, compiler.missing.empty() ? compiler.id : "missing: " + compiler.missing});
  std::cout << "\nCompilers\n" << format_table({"for", "compiler"}, rows);
  rows.clear();
  for (const Folder& folder : folders)
    rows.push_back(
        {folder.what, folder.path + (folder.note.empty() ? ""
                                                         : (folder.path.empty() ? "" : "  ") +
                                                               ("(" + folder.note + ")"))});
  std::cout << "\nFolders\n" << format_table({"for", "path"}, rows);
  return 0;
}

}  // namespace

int info_main(int argc, char** argv) {
  CLI::App app("Lists devices, compilers and folders, and what is missing and why.", "tcc-info");
  bool as_json = false;
  app.add_flag("--json", as_json, "print one JSON object");
  SelfTestRequest test;
  bool is_test = false;
  auto* self_test = app.add_flag("--self-test", is_test,
                                 "test a device's units, features and kernel templates, and switch "
                                 "off what fails, by a quirk file");
  app.add_option("--device", test.device, "that is tested: auto, cuda:N or vulkan:N")
      ->capture_default_str()
      ->needs(self_test);
  app.add_option("--time-limit", test.limit_seconds, "of the test, in seconds from 5 to 3600")
      ->capture_default_str()
      ->check(number_in(5.0, 3600.0))
      ->needs(self_test);
  app.add_option("--filter", test.filter, "samples whose names contain the word")->needs(self_test);
  app.add_option(
         "--output", test.output,
         "folder of self-test.quirks, which is updated (default: the user's folder of quirks)")
      ->needs(self_test);
  add_examples(app, {{"tcc-info", "which GPUs can be used, and what is missing for the others"},
                     {"tcc-info --self-test --device vulkan:0",
                      "whether everything of a GPU and its driver works, within half a minute"}});
  return run_program(app, argc, argv, [&] {
    test.json = as_json;
    return is_test ? run_self_test(test) : print_info(as_json);
  });
}

}  // namespace tcc::tools
