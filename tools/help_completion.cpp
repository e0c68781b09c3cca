#include <map>
#include <sstream>
#include <vector>

#include "support/error.h"
#include "tools/help_forms.h"

namespace tcc::tools {
namespace {

// An option's value is completed by words, by files, or by nothing.
struct Completion {
  std::vector<std::string> words;
  bool is_file = false, has_value = false;
};
Completion completion_of(const CLI::Option& option) {
  Completion completion;
  completion.has_value = option.get_items_expected_max() > 0;
  const std::string value = value_name(option);
  if (value.find('|') != std::string::npos) {
    std::istringstream alternatives(value);
    for (std::string word; std::getline(alternatives, word, '|');) completion.words.push_back(word);
  }
  for (const char* kind : {"FILE", "DIR", "PATH", "LOG"})
    completion.is_file |= value.find(kind) != std::string::npos;
  return completion;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string function_name(const CLI::App& app) {
  std::string name = "_" + app.get_name();
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

// Values are the same for an option of one name, whichever command it is of.
std::map<std::string, Completion> values_of(const CLI::App& app) {
  std::map<std::string, Completion> values;
  for (const CLI::Option* option : app.get_options()) {
    const Completion completion = completion_of(*option);
    if (!completion.has_value) continue;
    for (const std::string& name : option->get_lnames()) values["--" + name] = completion;
    for (const std::string& name : option->get_snames()) values["-" + name] = completion;
  }
  for (const CLI::App* command : app.get_subcommands({})) values.merge(values_of(*command));
  return values;
}

// `text` between single quotes of a shell, in which the characters of `escaped` get a backslash.
std::string quoted(const std::string& text, std::string_view escaped, const char* quote) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += quote;
    else if (escaped.find(c) != std::string_view::npos)
      result += std::string("\\") + c;
    else
      result += c;
  }
  return result + "'";
}

void zsh_arguments(std::ostream& out, const CLI::App& app, const char* rest) {
  out << "_arguments";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    const Completion value = completion_of(*option);
    const bool again = option->get_items_expected_max() > 1;
    for (const std::string& name : option->get_lnames()) {
      std::string spec = (again ? "*--" : "--") + name + "[" +
                         quoted(option->get_description(), "[]:\\", "'\\''").substr(1);
      spec.back() = ']';
      if (value.has_value)
        spec += str(option->get_items_expected_min() == 0 ? "::" : ":", "value:",
                    value.is_file         ? "_files"
                    : value.words.empty() ? " "
                                          : "(" + joined(value.words) + ")");
      out << " \\\n    '" << spec << "'";
    }
  }
  out << " \\\n    " << rest << "\n";
}

void fish_options(std::ostream& out, const CLI::App& app, const std::string& program,
                  const std::string& condition) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    const Completion value = completion_of(*option);
    for (const std::string& name : option->get_lnames()) {
      out << "complete -c " << program << condition << " -l " << name;
      if (value.has_value) out << (value.is_file ? " -rF" : " -x");
      if (!value.words.empty()) out << " -a '" << joined(value.words) << "'";
      out << " -d " << quoted(option->get_description(), "\\", "\\'") << "\n";
    }
  }
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  const std::string function = function_name(app);
  const auto commands = app.get_subcommands({});
  std::ostringstream out;
  out << function << "() {\n"
      << "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options i\n"
      << "  COMPREPLY=()\n"
      << "  case $before in\n";
  std::string no_words;
  for (const auto& [name, value] : values_of(app)) {
    if (!value.words.empty())
      out << "    " << name << ") COMPREPLY=($(compgen -W '" << joined(value.words)
          << "' -- \"$word\")); return ;;\n";
    else if (!value.is_file)
      no_words += (no_words.empty() ? "" : "|") + name;
  }
  if (!no_words.empty()) out << "    " << no_words << ") return ;;\n";
  out << "  esac\n  options='" << joined(flags_of(app)) << "'\n";
  if (!commands.empty()) {
    out << "  for ((i = 1; i < COMP_CWORD; i++)); do\n    case ${COMP_WORDS[i]} in\n";
    for (const CLI::App* command : commands)
      out << "      " << command->get_name() << ") options='" << joined(flags_of(*command))
          << "' ;;\n";
    out << "    esac\n  done\n";
  }
  out << "  case $word in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); return ;;\n"
      << "  esac\n";
  if (!commands.empty())
    out << "  [ \"$COMP_CWORD\" != 1 ] || COMPREPLY=($(compgen -W '" << joined(names_of(commands))
        << "' -- \"$word\"))\n";
  out << "  COMPREPLY+=($(compgen -f -- \"$word\"))\n}\n"
      << "complete -o filenames -F " << function << " " << app.get_name() << "\n";
  return out.str();
}

std::string zsh_completion(const CLI::App& app) {
  const auto commands = app.get_subcommands({});
  std::ostringstream out;
  out << "#compdef " << app.get_name() << "\n";
  if (!commands.empty()) {
    out << "case $words[2] in\n";
    for (const CLI::App* command : commands) {
      out << "  " << command->get_name() << ") ";
      zsh_arguments(out, *command, "'*:file:_files' && return ;;");
    }
    out << "esac\n";
  }
  zsh_arguments(out, app,
                commands.empty()
                    ? "'*:file:_files'"
                    : ("'1:command or graph:{_alternative \"commands:command:(" +
                       joined(names_of(commands)) + ")\" \"files:graph:_files\"}' '*:graph:_files'")
                          .c_str());
  return out.str();
}

std::string fish_completion(const CLI::App& app) {
  const auto commands = app.get_subcommands({});
  const std::string names = joined(names_of(commands));
  std::ostringstream out;
  fish_options(out, app, app.get_name(),
               names.empty() ? "" : " -n 'not __fish_seen_subcommand_from " + names + "'");
  for (const CLI::App* command : commands) {
    out << "complete -c " << app.get_name() << " -n __fish_use_subcommand -a "
        << command->get_name() << " -d " << quoted(command->get_description(), "\\", "\\'") << "\n";
    fish_options(out, *command, app.get_name(),
                 " -n '__fish_seen_subcommand_from " + command->get_name() + "'");
  }
  return out.str();
}

}  // namespace tcc::tools
