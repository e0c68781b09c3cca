#include <cctype>
#include <sstream>
#include <vector>

#include "support/error.h"
#include "support/version.h"
#include "tools/help_forms.h"

namespace tcc::tools {
namespace {

// Escapes text for roff: "-" is the ASCII one, and no line is a command by accident.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool at_start = escaped.empty() || escaped.back() == '\n';
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  return escaped;
}

using Options = std::vector<const CLI::Option*>;

// The options of a group; those without a long name are positional.
Options options_of(const CLI::App& app, const std::string& group, bool positional) {
  return app.get_options([&](const CLI::Option* option) {
    return option->get_group() == group && option->get_positional() == positional;
  });
}

void man_options(std::ostream& out, const CLI::App& app, const char* heading) {
  for (const std::string& group : app.get_groups())
    for (const bool positional : {true, false}) {
      const Options options = options_of(app, group, positional);
      if (options.empty()) continue;
      if (!positional) out << heading << " \"" << roff(group) << "\"\n";
      for (const CLI::Option* option : options)
        out << ".TP\n\\fB" << roff(option_names(*option)) << "\\fR" << roff(value_text(*option))
            << "\n"
            << roff(description_text(*option)) << "\n";
    }
}

std::string synopsis(const CLI::App& app) {
  std::string text = "[OPTIONS]";
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional()) {
      const std::string name =
          option->get_name(true) + (option->get_items_expected_max() > 1 ? "..." : "");
      text += option->get_required() ? " " + name : " [" + name + "]";
    }
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string description = app.get_description();
  std::string summary = description.substr(0, description.find('.'));
  if (!summary.empty()) summary[0] = static_cast<char>(std::tolower(summary[0]));
  std::ostringstream out;
  out << ".TH " << name << " 1 \"\" \"tcc " << build_version()
      << "\" \"tcc: tensor graphs to GPU kernels\"\n"
      << ".SH NAME\n"
      << roff(name) << " \\- " << roff(summary) << "\n.SH SYNOPSIS\n\\fB" << roff(name) << "\\fR "
      << roff(synopsis(app)) << "\n";
  for (const CLI::App* command : app.get_subcommands({}))
    out << ".br\n\\fB" << roff(name + " " + command->get_name()) << "\\fR "
        << roff(synopsis(*command)) << "\n";
  out << ".SH DESCRIPTION\n" << roff(description) << "\n.SH OPTIONS\n";
  man_options(out, app, ".SS");
  const auto commands = app.get_subcommands({});
  if (!commands.empty()) out << ".SH COMMANDS\n";
  for (const CLI::App* command : commands) {
    out << ".SS " << roff(name + " " + command->get_name()) << "\n"
        << roff(command->get_description()) << "\n";
    man_options(out, *command, ".P\n.I");
  }
  if (!app.get_footer().empty()) out << ".SH NOTES\n.nf\n" << roff(app.get_footer()) << "\n.fi\n";
  out << ".SH SEE ALSO\n";
  std::string others;
  for (const char* program : {"tcc-compile", "tcc-info", "tcc-run", "tcc-tune"})
    if (name != program)
      others += str(others.empty() ? "" : ", ", "\\fB", roff(program), "\\fR(1)");
  out << others << "\n";
  return out.str();
}

}  // namespace tcc::tools
