#include "backends/emit/emit.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "backends/device_source.h"
#include "backends/emit/dialect.h"
#include "backends/emit/library.h"
#include "backends/emit/printer.h"
#include "backends/emit/scalar_table.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

using sched::Argument;
using sched::Hook;
using sched::Kernel;

class Unit {
 public:
  Unit(const Kernel& kernel, const sched::Target& target, const EmitOptions& options)
      : kernel_(kernel), target_(target), options_(options), d_(dialect_for(target.api)) {
    auto bytes = static_cast<int64_t>(kernel.arguments.size()) * 8;
    table_ = !d_.table_block.empty() && bytes > target.push_constant_bytes;
    for (const Argument& argument : kernel.arguments)
      alignments_.push_back(
          std::max(size_bytes(argument.dtype), static_cast<int>(argument.needed)));
  }

  EmittedKernel run() {
    std::string code = kernel_.is_generated() ? generated() : from_device_source();
    std::string library = library_sections(sections_used(code));
    std::string types = buffer_types();
    std::string text = head(code + library + types);
    if (options_.library && target_.native_exp2) text += d_.native_exp2;
    if (options_.library) text += device_source(d_.prelude) + library + "\n";
    text += types;
    text += code;
    return {comment(), text, table_, waits(), alignments_};
  }

 private:
  std::string comment() const {
    std::istringstream lines(kernel_.comment);
    std::string text, line;
    while (std::getline(lines, line)) text += "// " + line + "\n";
    return text;
  }

  std::string head(const std::string& code) const {
    std::set<std::string> wanted;
    if (kernel_.uses_lanes) wanted.insert("lanes");
    if (table_) wanted.insert("table");
    for (const Argument& argument : kernel_.arguments) {
      if (size_bytes(argument.dtype) == 2) wanted.insert("storage16");
      if (size_bytes(argument.dtype) == 1) wanted.insert("storage8");
    }
    std::string extensions;
    for (const std::string& name : wanted)
      if (auto found = d_.extensions.find(name); found != d_.extensions.end())
        extensions += found->second;
    std::string text = fill(d_.header, {{"extensions", extensions}});
    bool wide = kernel_.wide_index || uses_word(code, "i64") || uses_word(code, "u64");
    return wide ? text + d_.wide_header : text;
  }

  static bool uses_word(const std::string& text, std::string_view word) {
    auto part_of_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      bool begins = at == 0 || !part_of_name(text[at - 1]);
      bool ends = at + word.size() == text.size() || !part_of_name(text[at + word.size()]);
      if (begins && ends) return true;
    }
    return false;
  }

  // One type per dtype and access, and one per vector width.
  std::string buffer_types() const {
    std::string text;
    std::set<std::string> done;
    for (const Argument& argument : kernel_.arguments) {
      if (!done.insert(buffer_type(argument)).second) continue;
      text += fill(d_.buffer_type, {{"type", buffer_type(argument)},
                                    {"storage", d_.storage.at(argument.dtype)},
                                    {"access", argument.written ? "writeonly " : "readonly "},
                                    {"bytes", std::to_string(size_bytes(argument.dtype))}});
    }
    for (int words : vector_words_)
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
              fill(d_.buffer_parameter, {{"const", argument.written ? "" : "const "},
                                         {"storage", d_.storage.at(argument.dtype)},
                                         {"type", buffer_type(argument)},
                                         {"name", buffer_name(static_cast<int>(i))}});
    }
    return text;
  }

  std::string argument_block() const {
    if (!table_) return fill(d_.argument_block, {{"parameters", parameters()}});
    std::string text = d_.table_block;
    for (size_t i = 0; i < kernel_.arguments.size(); ++i)
      text += fill(d_.table_entry, {{"type", buffer_type(kernel_.arguments[i])},
                                    {"name", buffer_name(static_cast<int>(i))},
                                    {"number", std::to_string(i)}});
    return text;
  }

  // The buffers, then the tensor maps.
  std::string entry_parameters() const {
    std::string text = parameters();
    for (const sched::TensorMap& map : kernel_.maps) {
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

  bool waits() const {
    return target_.overlapping_launches && !kernel_.begins_alone && !d_.wait.empty();
  }
  std::vector<std::string> beginning() const {
    std::vector<std::string> lines;
    if (target_.overlapping_launches && !d_.release.empty()) lines.push_back(d_.release);
    if (waits()) lines.push_back(d_.wait);
    return lines;
  }

  std::string shared_arrays() const {
    std::string text;
    for (const sched::Array& a : kernel_.shared)
      text += fill(d_.shared, {{"type", compute_type(a.dtype)},
                               {"name", a.name},
                               {"count", std::to_string(a.elements)}}) +
              "\n";
    return text;
  }

  std::string thread_index() const {
    return kernel_.uses_lanes ? d_.lane_thread_index : d_.thread_index;
  }

  std::string generated() {
    Printer printer(kernel_, d_, 1);
    for (const std::string& line : beginning()) printer.line(line);
    std::string type = printer.index_type();
    if (kernel_.grid > 1) printer.line(type + " block = " + type + "(" + d_.block_index + ");");
    if (kernel_.workgroup > 1)
      printer.line(type + " thread = " + type + "(" + thread_index() + ");");
    // A grid that was split over two dimensions may have more workgroups than there is work.
    if (kernel_.grid > 65535)
      printer.line("if (block >= " + std::to_string(kernel_.grid) + ") return;");
    printer.block(kernel_.body);
    note_vectors(printer);
    return argument_block() + shared_arrays() + entry_prefix() + "\n" + entry() + " {\n" +
           printer.text() + "}\n";
  }

  std::string hook(const Hook& hook) {
    std::string parameters;
    auto add = [&](const std::string& text) {
      parameters += (parameters.empty() ? "" : ", ") + text;
    };
    if (!d_.hook_buffers.empty()) add(this->parameters());
    Printer printer(kernel_, d_, 1);
    for (const Hook::Parameter& p : hook.parameters) {
      if (p.is_index)
        add(printer.index_type() + " " + p.name);
      else if (p.elements > 0)
        add(fill(p.written ? d_.array_inout : d_.array_in,
                 {{"type", compute_type(p.dtype)},
                  {"name", p.name},
                  {"count", std::to_string(p.elements)}}));
      else
        add(compute_type(p.dtype) + " " + p.name);
    }
    printer.block(hook.body);
    note_vectors(printer);
    std::string result = hook.returns ? compute_type(hook.result) : "void";
    return fill(d_.hook, {{"result", result}, {"name", hook.name}, {"parameters", parameters}}) +
           " {\n" + printer.text() + "}\n";
  }

  void note_vectors(const Printer& printer) {
    for (const auto& [buffer, words] : printer.vectors()) {
      vector_words_.insert(words);
      int& alignment = alignments_[static_cast<size_t>(buffer)];
      alignment = std::max(alignment, 4 * words);
    }
  }

  // The header of the parameters' struct, and a constant of it.
  std::string parameters_text() const {
    const sched::Parameters& parameters = kernel_.parameters;
    if (parameters.header.empty()) return "";
    const std::string type = "tcc::kernels::" + parameters.type;
    std::string text = "#include \"backends/device/" + parameters.header + "\"\n" + "constexpr " +
                       type + " tcc_parameters() {\n  using namespace tcc::kernels;\n  " +
                       parameters.type + " p;\n";
    for (const auto& [name, value] : parameters.fields)
      text += "  p." + name + " = " + value + ";\n";
    return text + "  return p;\n}\nconstexpr " + type + " params = tcc_parameters();\n";
  }

  std::string from_device_source() {
    std::string text = parameters_text();
    for (const auto& [name, value] : kernel_.defines)
      text += "#define " + name + " " + value + "\n";
    text += "#define WORKGROUP " + std::to_string(kernel_.workgroup) + "\n";
    text += "#define GRID " + std::to_string(kernel_.grid) + "\n";
    text += std::string("#define INDEX ") + (kernel_.wide_index ? "i64" : "i32") + "\n";
    text += "#define TCC_ENTRY " + entry() + "\n";
    if (!d_.wait.empty()) {
      text += "#define TCC_BEGIN";
      for (const std::string& line : beginning()) text += " " + line;
      text += "\n";
    }
    text += "#define TCC_BLOCK (" + d_.block_index + ")\n";
    text += "#define TCC_THREAD (" + thread_index() + ")\n";
    std::string buffers;
    if (!d_.hook_buffers.empty())
      for (size_t i = 0; i < kernel_.arguments.size(); ++i)
        buffers += buffer_name(static_cast<int>(i)) + ", ";
    text += "#define TCC_BUFFERS " + buffers + "\n";
    if (!kernel_.parameters.header.empty()) {
      text += "#define TCC_MAPS";
      for (const sched::TensorMap& map : kernel_.maps) text += " &" + map.name + ",";
      text += "\n";
    }
    text += argument_block() + entry_prefix();
    for (const Hook& h : kernel_.hooks) text += "\n" + hook(h);
    return resolve_device_includes(
        text + "\n" + device_source(d_.name + "/" + kernel_.source + d_.source_ending),
        d_.name + "/");
  }

  const Kernel& kernel_;
  const sched::Target& target_;
  EmitOptions options_;
  const Dialect& d_;
  bool table_ = false;
  std::set<int> vector_words_;
  std::vector<int> alignments_;
};

}  // namespace

EmittedKernel emit(const Kernel& kernel, const sched::Target& target, const EmitOptions& options) {
  return Unit(kernel, target, options).run();
}

}  // namespace tcc::backends
