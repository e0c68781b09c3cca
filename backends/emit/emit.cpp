#include "backends/emit/emit.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "backends/backend.h"
#include "backends/device_source.h"
#include "backends/emit/library.h"
#include "backends/emit/printer.h"
#include "backends/emit/reserved_words.h"
#include "backends/emit/scalar_table.h"
#include "scheduler/legalize.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

using sched::Argument;
using sched::Hook;
using sched::Kernel;

constexpr const char* kLaunchNumber = "tcc_launch_number";

class Unit {
 public:
  Unit(const Kernel& kernel, const sched::Target& target, const EmitOptions& options)
      : kernel_(kernel), target_(target), options_(options), d_(backend_for(target.api).dialect()) {
    reserved_ = reserved_words(d_, kernel);
    const bool has_numbers = kernel.numbered || !kernel.counts.empty();
    if (has_numbers && (kernel.is_generated() || d_.number_parameter.empty()))
      fail_device(kernel.name, ": ", d_.name, " has no number of a launch here");
    TCC_CHECK(kernel.sizes.empty() ||
                  !(kernel.wide_index ? d_.size_parameter : d_.number_parameter).empty(),
              kernel.name, ": ", d_.name, " has no parameters for sizes");
    table_ = !d_.table_block.empty() && int64_t{8} * num_arguments() > target.push_constant_bytes;
  }

  exec::KernelText run() {
    const std::string types = buffer_types();
    const Code code = kernel_.is_generated() ? generated() : from_device_source();
    check_facts(types + code.printed);
    const TextFacts of_files = facts_of_text(code.rest);
    std::set<std::string> functions = required_functions();
    functions.insert(of_files.functions.begin(), of_files.functions.end());
    const LibraryText library = library_sections(functions);
    std::string text = head(kernel_.requirements.int64 || library.int64 || of_files.int64);
    if (options_.library && target_.native_exp2) text += d_.native_exp2;
    if (options_.library && target_.native_f16) text += d_.native_f16;
    if (options_.library) text += device_source(d_.prelude) + library.text + "\n";
    text += types;
    text += code.text;
    return {.entry = backend_for(target_.api).entry_of(kernel_.name),
            .comment = comment(),
            .source = text,
            .subgroup_size = kernel_.uses_lanes ? target_.subgroup_size : 0,
            .waits = waits(),
            .argument_table = table_,
            .num_arguments = num_arguments(),
            .num_maps = static_cast<int>(kernel_.maps.size()),
            .environment = kernel_.needs.environment,
            .matrix_units = unit_texts(),
            .alignments = kernel_.requirements.alignments};
  }

 private:
  std::string comment() const {
    std::istringstream lines(kernel_.comment);
    std::string text, line;
    while (std::getline(lines, line)) text += "// " + line + "\n";
    return text;
  }

  // The text behind the types of buffers. Legalize knows what is printed from IR; the rest comes
  // from files and from the dialect's entry.
  struct Code {
    std::string text, printed, rest;
  };

  int num_arguments() const {
    return static_cast<int>(kernel_.arguments.size() + kernel_.sizes.size() +
                            kernel_.counts.size()) +
           (kernel_.numbered ? 1 : 0);
  }

  // Dialects without hidden zeros have no functions for them.
  std::set<std::string> required_functions() const {
    std::set<std::string> functions = kernel_.requirements.functions;
    if (d_.hidden_zero.empty())
      for (const DType dtype : {DType::f32, DType::f64})
        functions.erase(sched::hidden_zero_function(dtype));
    return functions;
  }

  // Printed text goes no further than what legalize found in the IR.
  void check_facts(const std::string& printed) const {
    const sched::Requirements& required = kernel_.requirements;
    const TextFacts facts = facts_of_text(printed);
    TCC_CHECK(required.int64 || !facts.int64, kernel_.name,
              ": the text has 64-bit integers, which the kernel does not require");
    for (const std::string& function : facts.functions)
      TCC_CHECK(required.functions.contains(function), kernel_.name, ": the text calls ", function,
                ", which the kernel does not require");
  }

  // Checks that legalize found what the text is about to use.
  void check_extension(std::string_view name) const {
    TCC_CHECK(kernel_.requirements.extensions.contains(std::string(name)), kernel_.name,
              ": the text needs '", name, "', which the kernel does not require");
  }

  std::vector<std::string> unit_texts() const {
    std::vector<std::string> texts;
    for (const exec::MatrixUnit& unit : kernel_.needs.matrix_units)
      texts.push_back(exec::to_string(unit));
    return texts;
  }

  std::string head(bool wide) const {
    std::set<std::string> wanted = kernel_.requirements.extensions;
    if (table_) wanted.insert("table");
    std::string extensions;
    for (const std::string& name : wanted)
      if (auto found = d_.extensions.find(name); found != d_.extensions.end())
        extensions += found->second;
    for (const std::string& name : kernel_.needs.extensions) {
      if (auto found = d_.extensions.find(name); found != d_.extensions.end()) {
        extensions += found->second;
        continue;
      }
      if (d_.extension_line.empty())
        fail_input("kernel ", kernel_.name, ": ", d_.name, " has no extension ", name);
      extensions += fill(d_.extension_line, {{"name", name}});
    }
    std::string text = fill(d_.header, {{"extensions", extensions}});
    return wide ? text + d_.wide_header : text;
  }

  // Two accesses to what a kernel updates may meet.
  static bool is_updated(const Argument& argument) {
    return argument.access == Argument::Access::read_write;
  }

  std::string access_of(const Argument& argument) const {
    return is_updated(argument) ? "" : argument.is_written() ? d_.write_only : d_.read_only;
  }
  std::string restrict_of(const Argument& argument) const {
    return is_updated(argument) ? "" : d_.restrict;
  }

  // One type per dtype and access, and one per vector width.
  std::string buffer_types() const {
    std::string text;
    std::set<std::string> done;
    for (const Argument& argument : kernel_.arguments) {
      if (!done.insert(buffer_type(argument)).second) continue;
      if (const std::string_view storage = sched::storage_extension(argument.dtype);
          !storage.empty())
        check_extension(storage);
      text += fill(d_.buffer_type, {{"type", buffer_type(argument)},
                                    {"storage", d_.storage.at(argument.dtype)},
                                    {"access", access_of(argument)},
                                    {"restrict", restrict_of(argument)},
                                    {"bytes", std::to_string(size_bytes(argument.dtype))}});
    }
    for (int words : kernel_.requirements.vector_words)
      text +=
          fill(d_.vector_type,
               {{"words", std::to_string(words)},
                {"bytes", std::to_string(words * 4)},
                {"word", words == 1 ? "u32" : fill(d_.word, {{"words", std::to_string(words)}})}});
    return text;
  }

  std::string parameters() const {
    std::string text;
    for (size_t i = 0; i < kernel_.arguments.size(); ++i) {
      const Argument& argument = kernel_.arguments[i];
      text += (i ? d_.parameter_separator : "") +
              fill(d_.buffer_parameter, {{"access", access_of(argument)},
                                         {"restrict", restrict_of(argument)},
                                         {"storage", d_.storage.at(argument.dtype)},
                                         {"type", buffer_type(argument)},
                                         {"name", buffer_name(static_cast<int>(i))}});
    }
    return text;
  }

  // Buffers and sizes, which are as wide as the indices.
  std::string all_parameters() const {
    std::string text = parameters();
    const std::string& parameter = kernel_.wide_index ? d_.size_parameter : d_.number_parameter;
    for (const std::string& size : kernel_.sizes)
      text += d_.parameter_separator + fill(parameter, {{"name", sched::size_name(size)}});
    return text;
  }

  // The arguments behind the sizes, of 32 bits: counts, and the number of the launch.
  std::vector<std::string> numbers() const {
    std::vector<std::string> names;
    for (const sched::Count& count : kernel_.counts) names.push_back(count_name(count));
    if (kernel_.numbered) names.emplace_back(kLaunchNumber);
    return names;
  }
  static std::string count_name(const sched::Count& count) { return "tcc_" + count.name; }

  std::string number_parameters() const {
    std::string text;
    for (const std::string& name : numbers())
      text += d_.parameter_separator + fill(d_.number_parameter, {{"name", name}});
    return text;
  }

  std::string argument_block() const {
    if (!table_)
      return fill(d_.argument_block, {{"parameters", all_parameters() + number_parameters()}});
    std::string text = d_.table_block;
    for (size_t i = 0; i < kernel_.arguments.size(); ++i)
      text += fill(d_.table_entry, {{"type", buffer_type(kernel_.arguments[i])},
                                    {"name", buffer_name(static_cast<int>(i))},
                                    {"number", std::to_string(i)}});
    for (size_t i = 0; i < kernel_.sizes.size(); ++i)
      text += fill(kernel_.wide_index ? d_.table_size : d_.table_number,
                   {{"name", sched::size_name(kernel_.sizes[i])},
                    {"number", std::to_string(kernel_.arguments.size() + i)}});
    size_t number = kernel_.arguments.size() + kernel_.sizes.size();
    for (const std::string& name : numbers())
      text += fill(d_.table_number, {{"name", name}, {"number", std::to_string(number++)}});
    return text;
  }

  // The buffers, the sizes, the counts, the launch's number, then the tensor maps.
  std::string entry_parameters() const {
    std::string text = all_parameters() + number_parameters();
    for (const exec::TensorMap& map : kernel_.maps) {
      TCC_CHECK(!d_.map_parameter.empty(), kernel_.name, ": ", d_.name, " has no tensor maps");
      text += d_.parameter_separator + fill(d_.map_parameter, {{"name", map.name}});
    }
    return text;
  }

  std::string entry() const {
    auto asked = [](const std::string& pattern, int count, int usual) {
      return count == usual ? "" : fill(pattern, {{"count", std::to_string(count)}});
    };
    return fill(d_.entry, {{"name", kernel_.name},
                           {"workgroup", std::to_string(kernel_.workgroup)},
                           {"resident", asked(d_.resident, kernel_.resident, 0)},
                           {"cluster", asked(d_.cluster, kernel_.cluster, 1)},
                           {"parameters", entry_parameters()}});
  }

  std::string entry_prefix() const {
    return fill(d_.entry_prefix, {{"workgroup", std::to_string(kernel_.workgroup)}});
  }

  std::string entry_suffix() const {
    return fill(d_.entry_suffix, {{"name", kernel_.name}, {"parameters", entry_parameters()}});
  }

  bool waits() const {
    return target_.overlapping_launches && !kernel_.begins_alone && !d_.wait.empty();
  }
  std::string release() const { return target_.overlapping_launches ? d_.release : ""; }
  std::string wait() const { return waits() ? d_.wait : ""; }

  std::string shared_arrays(const sched::KernelNames& names) const {
    std::string text;
    for (const sched::Array& a : kernel_.shared)
      text += fill(d_.shared, {{"type", compute_type(a.variable.dtype)},
                               {"name", names.of(a.variable)},
                               {"count", std::to_string(a.elements)}}) +
              "\n";
    return text;
  }

  std::string thread_index() const {
    if (kernel_.uses_lanes) check_extension("lanes");
    return kernel_.uses_lanes ? d_.lane_thread_index : d_.thread_index;
  }

  Code generated() {
    sched::KernelNames names(kernel_, nullptr, reserved_);
    Printer printer(kernel_, d_, names);
    for (const std::string& line : {release(), wait()})
      if (!line.empty()) printer.line(line);
    const std::string type = printer.index_type();
    const auto declare = [&](const ir::SymInt& axis, const std::string& value) {
      if (!axis.is_const())
        printer.line(type + " " + names.of(*axis.as_atom()) + " = " + type + "(" + value + ");");
    };
    declare(sched::block_axis(kernel_.grid), d_.block_index);
    declare(sched::thread_axis(kernel_.workgroup), thread_index());
    printer.block(kernel_.body);
    const bool inside = !d_.shared_in_entry.empty();
    const std::string arrays = shared_arrays(names);
    const std::string before = argument_block() + (inside ? "" : arrays);
    const std::string start = entry_prefix() + "\n" + entry() + " {\n" + (inside ? arrays : ""),
                      end = "}\n" + entry_suffix();
    return {.text = before + start + printer.text() + end,
            .printed = before + all_parameters() + printer.text(),
            .rest = start + end};
  }

  std::string hook(const Hook& hook) {
    std::string parameters;
    auto add = [&](const std::string& text) {
      parameters += (parameters.empty() ? "" : ", ") + text;
    };
    if (!d_.hook_buffers.empty()) add(all_parameters());
    sched::KernelNames names(kernel_, &hook, reserved_);
    Printer printer(kernel_, d_, names);
    for (const Hook::Parameter& p : hook.parameters) {
      const std::string& mask = d_.index_mask;
      if (p.is_index() && kernel_.wide_index && !mask.empty())
        printer.line(names.of(p) + " = " + fill(mask, {{"index", names.of(p)}}) + ";");
      add(p.is_index() ? printer.index_type() + " " + names.of(p)
                       : fill(p.written ? d_.array_inout : d_.array_in,
                              {{"type", compute_type(p.array.dtype)},
                               {"name", names.of(p)},
                               {"count", std::to_string(p.elements)}}));
    }
    printer.block(hook.body);
    std::string result = hook.returns ? compute_type(hook.result) : "void";
    return fill(d_.hook, {{"result", result}, {"name", hook.name}, {"parameters", parameters}}) +
           " {\n" + printer.text() + "}\n";
  }

  // "product.a.load" and "Load::tiles" as identifiers.
  static std::string flat(std::string_view name) {
    std::string text;
    for (const char c : name)
      if (c == '.')
        text += '_';
      else if (c != ':' || !text.ends_with('_'))
        text += c == ':' ? '_' : c;
    return text;
  }
  static std::string flat_value(const std::string& value) {
    return value == "true" ? "1" : value == "false" ? "0" : flat(value);
  }

  // The parameters of a device source, as the dialect writes them.
  std::string parameters_text() const {
    const sched::Parameters& parameters = kernel_.parameters;
    if (parameters.header.empty()) return "";
    if (d_.source_parameters.empty())
      fail_device(kernel_.name, ": ", d_.name, " has no parameters of device sources");
    std::string enumerators, fields;
    for (const auto& [name, number] : parameters.enumerators)
      enumerators += fill(d_.source_enumerator,
                          {{"flat_name", flat(name)}, {"number", std::to_string(number)}});
    std::set<std::string> names;
    for (const auto& [name, value] : parameters.fields) {
      TCC_CHECK(names.insert(flat(name)).second, kernel_.name, ": two parameters ", flat(name));
      fields += fill(d_.source_parameter, {{"name", name},
                                           {"value", value},
                                           {"flat_name", flat(name)},
                                           {"flat_value", flat_value(value)}});
    }
    return fill(d_.source_parameters, {{"header", parameters.header},
                                       {"type", parameters.type},
                                       {"enumerators", enumerators},
                                       {"fields", fields}});
  }

  // A number, or an expression of the sizes.
  std::string grid_text() const {
    if (kernel_.grid.is_const()) return std::to_string(kernel_.grid.value());
    sched::KernelNames names(kernel_, nullptr, reserved_);
    return "(" + Printer(kernel_, d_, names).size(kernel_.grid) + ")";
  }

  Code from_device_source() {
    std::string text = parameters_text();
    for (const auto& [name, value] : kernel_.defines)
      text += "#define " + name + " " + value + "\n";
    text += "#define WORKGROUP " + std::to_string(kernel_.workgroup) + "\n";
    text += "#define GRID " + grid_text() + "\n";
    text += std::string("#define INDEX ") + (kernel_.wide_index ? "i64" : "i32") + "\n";
    text += "#define TCC_ENTRY " + entry() + "\n";
    if (!d_.wait.empty()) {
      text += "#define TCC_RELEASE " + release() + "\n#define TCC_WAIT " + wait() + "\n";
      text += "#define TCC_BEGIN TCC_RELEASE TCC_WAIT\n";
    }
    text += "#define TCC_BLOCK (" + d_.block_index + ")\n";
    text += "#define TCC_THREAD (" + thread_index() + ")\n";
    if (kernel_.numbered) text += str("#define TCC_LAUNCH ", kLaunchNumber, "\n");
    for (const sched::Count& count : kernel_.counts)
      text += str("#define ", count.name, " ", count_name(count), "\n");
    std::string buffers;
    if (!d_.hook_buffers.empty()) {
      for (size_t i = 0; i < kernel_.arguments.size(); ++i)
        buffers += buffer_name(static_cast<int>(i)) + ", ";
      for (const std::string& size : kernel_.sizes) buffers += sched::size_name(size) + ", ";
    }
    text += "#define TCC_BUFFERS " + buffers + "\n";
    if (!kernel_.parameters.header.empty() && !d_.map_parameter.empty()) {
      text += "#define TCC_MAPS";
      for (const sched::TensorMap& map : kernel_.maps) text += " &" + map.name + ",";
      text += "\n";
    }
    text += argument_block() + entry_prefix();
    std::string hooks;
    for (const Hook& h : kernel_.hooks) hooks += "\n" + hook(h);
    const std::string folder = d_.name + "/", path = folder + kernel_.source + d_.source_ending;
    text =
        resolve_device_includes(text + hooks + "\n" + device_source(path) + entry_suffix(), folder);
    const size_t at = text.find(hooks);
    TCC_CHECK(at != text.npos, kernel_.name, ": hooks with includes");
    return {.text = text,
            .printed = hooks,
            .rest = text.substr(0, at) + text.substr(at + hooks.size())};
  }

  const Kernel& kernel_;
  const sched::Target& target_;
  EmitOptions options_;
  const Dialect& d_;
  sched::KernelNames::Reserved reserved_;
  bool table_ = false;
};

}  // namespace

exec::KernelText emit(const Kernel& kernel, const sched::Target& target,
                      const EmitOptions& options) {
  return Unit(kernel, target, options).run();
}

}  // namespace tcc::backends
