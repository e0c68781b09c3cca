#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "autotune/record_fields.h"
#include "autotune/user_kernel/user_kernel.h"
#include "backends/backend.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/values.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/file.h"
#include "support/utf8.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;
using yaml::Item;

constexpr int64_t kKernelSchema = 1;
constexpr int64_t kMaxFileBytes = int64_t{1} << 20;  // of a kernel file or a source
constexpr size_t kMaxArguments = 16;                 // push constants: 128 bytes everywhere
constexpr size_t kMaxNames = 32;                     // parameters; dims; scalars
constexpr size_t kMaxConstraints = 128;
constexpr size_t kMaxRank = 16;
constexpr size_t kMaxPushConstants = 64;
constexpr size_t kMaxSpecializations = 64;
constexpr size_t kMaxDefines = 64;
constexpr int64_t kMaxCombinations = int64_t{1} << 22;  // before constraints

template <class Entries>
void limit(const Item& item, const Entries& entries, size_t least, size_t most) {
  if (entries.size() < least || entries.size() > most)
    item.fail(str("must have ", least, " to ", most, " entries, not ", entries.size()));
}

// Names become #defines of C++ and GLSL.
void check_define_name(const Item& item, const std::string& name) {
  const bool words =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  if (!words || name.empty() || name.size() > 64 ||
      !std::isalpha(static_cast<unsigned char>(name[0])))
    item.fail("'" + name + "' must be a letter, then letters, digits and _, at most 64");
  if (name.find("__") != std::string::npos || name.starts_with("gl_") || name.starts_with("GL_"))
    item.fail("'" + name + "' is reserved in GLSL: no '__', no beginning 'gl_'");
}

bool is_real(const std::string& text) {
  return text.find_first_not_of("0123456789+-.eE") == std::string::npos &&
         text.find_first_of(".eE") != std::string::npos &&
         !std::isalpha(static_cast<unsigned char>(text[0]));
}

class KernelReader {
 public:
  KernelReader(const std::string& file, fs::path folder) : folder_(std::move(folder)) {
    kernel_.file = file;
  }

  UserKernel read(const Item& root) {
    if (!root.is_map() || !root.has("tcc_kernel"))
      root.fail("no kernel file: 'tcc_kernel: 1' is missing");
    if (Item schema = root.at("tcc_kernel"); schema.integer() != kKernelSchema)
      schema.fail(str("only version ", kKernelSchema, " is known"));
    std::vector<std::string_view> keys = {
        "tcc_kernel",  "name",    "dims",   "inputs", "outputs", "scalars", "parameters",
        "constraints", "default", "launch", "flops",  "bytes",   "terms",   "check"};
    const std::vector<std::string_view> languages = source_keys();
    keys.insert(keys.end(), languages.begin(), languages.end());
    root.allow_keys(keys);
    kernel_.name = root.at("name").text();
    check_define_name(root.at("name"), kernel_.name);
    if (root.has("dims")) read_dims(root.at("dims"));
    kernel_.inputs = read_arguments(root.at("inputs"), true);
    kernel_.outputs = read_arguments(root.at("outputs"), false);
    if (kernel_.inputs.size() + kernel_.outputs.size() > kMaxArguments)
      root.at("outputs").fail(str("more than ", kMaxArguments, " inputs and outputs together"));
    if (root.has("flops")) kernel_.flops = expression(root.at("flops"));
    if (root.has("bytes")) kernel_.bytes = expression(root.at("bytes"));
    if (root.has("terms")) kernel_.terms = expression(root.at("terms"));
    if (root.has("scalars")) read_scalars(root.at("scalars"));
    read_parameters(root.at("parameters"));
    if (root.has("constraints")) read_constraints(root.at("constraints"));
    kernel_.default_config = config(root.at("default"));
    read_launch(root.at("launch"));
    for (const backends::Backend* backend : backends::backends())
      if (const std::string key(sched::name(backend->api()));
          backend->api() != sched::Api::null && root.has(key))
        kernel_.sources[backend->api()] = source(root.at(key), *backend);
    if (kernel_.sources.empty()) {
      std::string known;
      for (const std::string_view key : source_keys())
        known += str(known.empty() ? "'" : ", '", key, "'");
      root.fail(str("needs a source: one of the keys ", known, ", or several"));
    }
    read_check(root.at("check"));
    return std::move(kernel_);
  }

 private:
  // The APIs in whose languages kernels may be written.
  static std::vector<std::string_view> source_keys() {
    std::vector<std::string_view> keys;
    for (const backends::Backend* backend : backends::backends())
      if (backend->api() != sched::Api::null) keys.push_back(sched::name(backend->api()));
    return keys;
  }

  void define(const Item& item, const std::string& name, bool is_integer = true) {
    check_define_name(item, name);
    if (!defined_.insert(name).second) item.fail("'" + name + "' is defined twice");
    if (is_integer) integers_.insert(name);
  }

  // Over the names that were defined before it.
  Expression expression(const Item& item) const {
    Expression result =
        Expression::parse(item.text(), str(ir::to_string(item.location()), ": ", item.what()));
    for (const std::string& name : result.names())
      if (!integers_.count(name))
        item.fail("unknown name '" + name + "'" +
                  yaml::or_known(name, {integers_.begin(), integers_.end()}));
    return result;
  }

  void read_dims(const Item& item) {
    const auto entries = item.map();
    limit(item, entries, 0, kMaxNames);
    for (const auto& [name, value] : entries) {
      define(value, name);
      kernel_.dims[name] = integer_in(value, 1, kMaxDim);
    }
  }

  std::vector<KernelArgument> read_arguments(const Item& item, bool are_inputs) {
    const auto entries = item.map();
    limit(item, entries, are_inputs ? 0 : 1, kMaxArguments);
    std::vector<KernelArgument> arguments;
    for (const auto& [name, entry] : entries) {
      check_define_name(entry, name);
      if (!arguments_.insert(name).second) entry.fail("'" + name + "' is defined twice");
      if (are_inputs)
        entry.allow_keys({"dtype", "shape", "range"});
      else
        entry.allow_keys({"dtype", "shape"});
      KernelArgument& argument = arguments.emplace_back();
      argument.name = name;
      argument.dtype = yaml::dtype(entry.at("dtype"));
      const auto shape = entry.at("shape").list();
      limit(entry.at("shape"), shape, 0, kMaxRank);
      for (const Item& dim : shape) argument.shape.push_back(expression(dim));
      if (entry.has("range")) read_range(entry.at("range"), argument);
    }
    return arguments;
  }

  static void read_range(const Item& item, KernelArgument& argument) {
    if (!is_float(argument.dtype)) {
      std::tie(argument.int_low, argument.int_high) = yaml::integer_range(item, argument.dtype);
      return;
    }
    const auto bounds = item.list();
    if (bounds.size() != 2) item.fail("must be [low, high]");
    argument.low = bounds[0].number();
    argument.high = bounds[1].number();
    if (!std::isfinite(argument.low) || !std::isfinite(argument.high) ||
        argument.low >= argument.high)
      item.fail("must be finite, the first below the second");
  }

  void read_scalars(const Item& item) {
    const auto entries = item.map();
    limit(item, entries, 0, kMaxNames);
    for (const auto& [name, value] : entries) {
      if (!is_real(value.text())) {
        kernel_.scalars.push_back({name, expression(value)});
        continue;
      }
      if (!std::isfinite(value.number())) value.fail("must be finite");
      kernel_.scalars.push_back({name, real_text(value.number())});
    }
    // Scalars are over dims alone: their names become known after the last of them.
    for (const auto& [name, value] : entries) define(value, name, !is_real(value.text()));
  }

  // The text has type double in both languages where they have it, and is the same number.
  static std::string real_text(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    std::string result = text;
    if (result.find_first_of(".e") == std::string::npos) result += ".0";
    return result;
  }

  void read_parameters(const Item& item) {
    const auto entries = item.map();
    limit(item, entries, 1, kMaxNames);
    std::optional<int64_t> combinations = 1;
    for (const auto& [name, list] : entries) {
      define(list, name);
      sched::Parameter& parameter = kernel_.parameters.emplace_back();
      parameter.name = name;
      for (const Item& value : list.list())
        parameter.values.push_back(integer_in(value, -kMaxDim, kMaxDim));
      if (parameter.values.empty()) list.fail("must have at least one value");
      std::ranges::sort(parameter.values);
      if (std::ranges::adjacent_find(parameter.values) != parameter.values.end())
        list.fail("has a value twice");
      combinations = checked_mul(*combinations, static_cast<int64_t>(parameter.values.size()));
      if (!combinations || *combinations > kMaxCombinations)
        list.fail(str("more than ", kMaxCombinations, " combinations of parameters"));
    }
  }

  void read_constraints(const Item& item) {
    const auto entries = item.list();
    limit(item, entries, 0, kMaxConstraints);
    for (const Item& entry : entries) kernel_.constraints.push_back(expression(entry));
  }

  // Has exactly the parameters; whether it is legal depends on the dims and the target.
  sched::Config config(const Item& item) const {
    sched::Config result;
    for (const auto& [name, value] : item.map()) result.set(name, value.integer());
    if (std::string reason = sched::ConfigSpace{kernel_.parameters, {}}.violation(result);
        !reason.empty())
      item.fail(reason);
    return result;
  }

  std::array<Expression, 3> extents(const Item& item) const {
    const auto entries = item.list();
    limit(item, entries, 1, 3);
    std::array<Expression, 3> result{Expression(1), Expression(1), Expression(1)};
    for (size_t i = 0; i < entries.size(); ++i) result[i] = expression(entries[i]);
    return result;
  }

  void read_launch(const Item& item) {
    item.allow_keys({"grid", "workgroup", "shared"});
    kernel_.launch.grid = extents(item.at("grid"));
    kernel_.launch.workgroup = extents(item.at("workgroup"));
    if (item.has("shared")) kernel_.launch.shared = expression(item.at("shared"));
  }

  fs::path inside(const Item& item) const {
    const std::string name = item.text();
    try {
      return resolve_inside(folder_.empty() ? "." : folder_, name);
    } catch (const Error& error) { item.fail(error.what()); }
  }

  KernelSource source(const Item& item, const backends::Backend& backend) const {
    std::vector<std::string_view> keys = {"source"};
    if (backend.has_named_entries()) keys.push_back("entry");
    if (backend.has_resources())
      keys.insert(keys.end(), {"defines", "environment", "subgroup", "bindings", "push_constants",
                               "constants"});
    item.allow_keys(keys);
    KernelSource result;
    const Item file = item.at("source");
    result.file = file.text();
    if (result.file.find_first_of("\"\\") != std::string::npos)
      file.fail("no quotes and no backslashes, please: compilers print the name");
    const fs::path path = inside(file);  // its messages name the place
    result.text = text_of(file, path);
    if (backend.has_resources()) result.text = with_includes(file, path, result.text);
    result.entry = backend.entry_of(kernel_.name);
    if (item.has("entry")) {
      result.entry = item.at("entry").text();
      check_define_name(item.at("entry"), result.entry);
    }
    if (backend.has_resources()) read_resources(item, result);
    return result;
  }

  static std::string text_of(const Item& item, const fs::path& path, const std::string& file = "") {
    std::string text;
    try {
      text = without_byte_order_mark(read_file(path, kMaxFileBytes));
    } catch (const Error& error) { item.fail(error.what()); }
    if (text.find('\0') != std::string::npos) item.fail(file + "is not a text file");
    return text;
  }

  // The text with the files that it includes by "NAME", which lie in the kernel file's folder or
  // below and are looked for beside the file that includes them. Lines are numbered as in the
  // files, which #line counts: 0 is the source.
  std::string with_includes(const Item& item, const fs::path& path, const std::string& text) const {
    int files = 0;
    std::string all;
    include(item, path, text, 0, 0, files, all);
    return all;
  }

  void include(const Item& item, const fs::path& path, const std::string& text, int number,
               int depth, int& files, std::string& all) const {
    constexpr int kMostDeep = 16, kMostIncludes = 256;
    int line = 0;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      const std::string_view here(text.data() + begin, end - begin);
      begin = end;
      ++line;
      const std::string name = included(here);
      if (name.empty()) {
        all += here;
        continue;
      }
      if (depth == kMostDeep || ++files > kMostIncludes)
        item.fail(str(path.string(), ":", line, ": more than ", kMostDeep, " files deep or ",
                      kMostIncludes, " files in all are included"));
      const fs::path root = folder_.empty() ? fs::path(".") : folder_;
      fs::path found;
      try {
        found = resolve_inside(root, (fs::relative(path.parent_path(), fs::canonical(root)) / name)
                                         .lexically_normal()
                                         .string());
      } catch (const std::exception& error) {
        item.fail(str(path.string(), ":", line, ": ", error.what()));
      }
      const std::string inner = text_of(item, found, found.string() + ": ");
      all += str("#line 1 ", files, "\n");
      include(item, found, inner, files, depth + 1, files, all);
      all += str(inner.ends_with('\n') ? "" : "\n", "#line ", line + 1, " ", number, "\n");
      if (all.size() > kMaxFileBytes) item.fail("its files are larger than a source may be");
    }
  }

  // The name in a line `#include "NAME"`; "" for other lines.
  static std::string included(std::string_view line) {
    const auto skip = [&](std::string_view what) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      if (!line.starts_with(what)) return false;
      line.remove_prefix(what.size());
      return true;
    };
    if (!skip("#") || !skip("include") || !skip("\"")) return "";
    const size_t end = line.find('"');
    return end == std::string_view::npos ? "" : std::string(line.substr(0, end));
  }

  void read_resources(const Item& item, KernelSource& source) const {
    if (item.has("defines")) read_defines(item.at("defines"), source.defines.emplace());
    if (item.has("environment")) source.environment = item.at("environment").text();
    if (item.has("subgroup")) source.subgroup = expression(item.at("subgroup"));
    if (item.has("bindings")) {
      const auto names = item.at("bindings").list();
      limit(item.at("bindings"), names, 1, kMaxArguments);
      for (const Item& name : names) source.bindings.push_back(argument_number(name));
    }
    if (item.has("push_constants")) {
      const auto values = item.at("push_constants").list();
      limit(item.at("push_constants"), values, 1, kMaxPushConstants);
      for (const Item& value : values) source.push_constants.push_back(word(value));
    }
    if (!item.has("constants")) return;
    const auto entries = item.at("constants").map();
    limit(item.at("constants"), entries, 1, kMaxSpecializations);
    for (const auto& [id, value] : entries) {
      const bool is_number =
          !id.empty() && id.size() < 9 && id.find_first_not_of("0123456789") == std::string::npos;
      if (!is_number) value.fail("'" + id + "' is no id of a constant: a number from 0 on");
      source.constants.emplace(static_cast<uint32_t>(std::stoul(id)), word(value));
    }
  }

  // A word of 32 bits: an integer, or the bits of a real number, which may be a scalar's.
  Expression word(const Item& value) const {
    const auto scalar = std::ranges::find(kernel_.scalars, value.text(), &KernelScalar::name);
    const auto* text =
        scalar == kernel_.scalars.end() ? nullptr : std::get_if<std::string>(&scalar->value);
    if (!text && !is_real(value.text())) return expression(value);
    const double number = text ? std::strtod(text->c_str(), nullptr) : value.number();
    const auto rounded = static_cast<float>(number);
    if (!std::isfinite(rounded)) value.fail("must be finite as an f32");
    return Expression(std::bit_cast<uint32_t>(rounded));
  }

  int argument_number(const Item& name) const {
    int number = 0;
    for (const auto* arguments : {&kernel_.inputs, &kernel_.outputs})
      for (const KernelArgument& argument : *arguments) {
        if (argument.name == name.text()) return number;
        ++number;
      }
    name.fail("unknown name '" + name.text() + "'" +
              yaml::or_known(name.text(), {arguments_.begin(), arguments_.end()}));
  }

  // A value that is a dim's, scalar's or parameter's name is what that is.
  static void read_defines(const Item& item,
                           std::vector<std::pair<std::string, std::string>>& defines) {
    constexpr size_t kMaxOneLine = 256;
    const auto entries = item.map();
    limit(item, entries, 0, kMaxDefines);
    for (const auto& [name, value] : entries) {
      check_define_name(value, name);
      const std::string text = value.text();
      if (text.size() > kMaxOneLine || text.find_first_of("\n\r\\") != std::string::npos)
        value.fail(str("must be one line of at most ", kMaxOneLine, " characters, without '\\'"));
      defines.emplace_back(name, text);
    }
  }

  void read_check(const Item& item) {
    item.allow_keys({"graph", "kernel", "config"});
    KernelCheck& check = kernel_.check;
    check.place = str(ir::to_string(item.location()), ": ", item.what());
    if (item.has("graph") + item.has("kernel") + (item.has("config") && !item.has("kernel")) != 1)
      item.fail(
          "must be {graph: FILE}, {kernel: FILE}, {kernel: FILE, config: {...}} or {config: "
          "{...}}");
    if (item.has("graph")) {
      check.file = inside(item.at("graph"));
      return;
    }
    if (!item.has("kernel")) {
      check.kind = KernelCheck::Kind::config;
      check.config = config(item.at("config"));
      return;
    }
    check.kind = KernelCheck::Kind::kernel;
    check.file = inside(item.at("kernel"));
    if (!item.has("config")) return;
    // These are the other kernel's parameters, which are not known yet.
    check.config.emplace();
    for (const auto& [name, value] : item.at("config").map())
      check.config->set(name, value.integer());
  }

  fs::path folder_;
  UserKernel kernel_;
  std::set<std::string> defined_;    // dims, scalars and parameters
  std::set<std::string> integers_;   // of them, what expressions may name
  std::set<std::string> arguments_;  // of inputs and outputs
};

}  // namespace

UserKernel parse_user_kernel(std::string_view text, const std::string& file,
                             const fs::path& folder) {
  return KernelReader(file, folder).read(yaml::parse_document(text, file));
}

UserKernel load_user_kernel(const fs::path& path) {
  return parse_user_kernel(read_file(path, kMaxFileBytes), path.string(), path.parent_path());
}

}  // namespace tcc::autotune
