#include <algorithm>

#include "cli/reference/completion.h"

namespace hocket {
namespace {

/// Quotes for a shell, and escapes what _arguments would read as syntax.
std::string zsh_quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') quoted += '\\';
      quoted += c == '\n' ? ' ' : c;
    }
  }
  return quoted;
}

/// Returns the part of a specification that says what a value can be.
std::string zsh_action(const DescribedOption& option) {
  switch (option.kind) {
    case ValueKind::none:
    case ValueKind::text:
      return " ";
    case ValueKind::file:
      return "_files";
    case ValueKind::folder:
      return "_files -/";
    case ValueKind::words:
    case ValueKind::settings:
      break;
  }
  std::string words;
  for (const std::string& word : option.words) words += (words.empty() ? "" : " ") + word;
  return option.kind == ValueKind::words ? "(" + words + ")" : "{compadd -S \"\" - " + words + "}";
}

/// Returns what _arguments shall know of one name of an option.
std::string zsh_option(const DescribedOption& option, const std::string& name) {
  std::string excluded;
  if (!option.is_repeated) {
    for (const std::string& other : option.names) excluded += " " + other;
  }
  for (const std::string& other : option.excludes) excluded += " " + other;
  std::string spec = option.is_repeated ? "*" : "";
  if (!excluded.empty()) spec = "(" + excluded.substr(1) + ")" + spec;
  spec += name;
  const bool has_value = option.kind != ValueKind::none;
  if (has_value && name.starts_with("--")) spec += "=";
  spec += "[" + zsh_quoted(option.description) + "]";
  if (has_value) spec += ":" + zsh_quoted(option.value_name) + ":" + zsh_action(option);
  return " \\\n    '" + spec + "'";
}

std::string zsh_positional(const DescribedOption& positional) {
  std::string spec = positional.is_repeated ? "*:" : positional.is_required ? ":" : "::";
  spec += zsh_quoted(positional.names.front()) + ":" + zsh_action(positional);
  return " \\\n    '" + spec + "'";
}

std::string zsh_function(const std::string& path) {
  std::string name = "_" + path;
  std::ranges::replace(name, ' ', '_');
  std::ranges::replace(name, '-', '_');
  return name;
}

/// Writes the choice among a verb's verbs.
void write_zsh_choice(const DescribedVerb& verb, const std::string& path, std::string& script) {
  script += " \\\n    '1: :->verb' '*:: :->rest'\n  case $state in\n    verb)\n      verbs=(";
  for (const DescribedVerb& one : verb.verbs) {
    script += "\n        '" + one.name + ":" + zsh_quoted(one.description) + "'";
  }
  script +=
      ")\n      _describe -t verbs verb verbs\n      ;;\n    rest)\n      case $words[1] in\n";
  for (const DescribedVerb& one : verb.verbs) {
    script += "        " + one.name + ") " + zsh_function(path + " " + one.name) + " ;;\n";
  }
  script += "      esac\n      ;;\n  esac\n";
}

void write_zsh_verb(const DescribedVerb& verb, const std::string& path, std::string& script) {
  script += zsh_function(path) +
            "() {\n"
            "  local curcontext=$curcontext state line\n"
            "  local -A opt_args\n"
            "  local -a verbs\n"
            "  _arguments -C -S";
  for (const DescribedOption& option : verb.options) {
    for (const std::string& name : option.names) script += zsh_option(option, name);
  }
  for (const DescribedOption& positional : verb.positionals) script += zsh_positional(positional);
  if (verb.takes_command) script += " \\\n    '*::command: _normal'";
  if (verb.verbs.empty()) {
    script += "\n";
  } else {
    write_zsh_choice(verb, path, script);
  }
  script += "}\n\n";
  for (const DescribedVerb& one : verb.verbs) write_zsh_verb(one, path + " " + one.name, script);
}

}  // namespace

std::string zsh_completion(const DescribedVerb& program) {
  std::string script =
      "#compdef hocket\n"
      "# Completion of hocket's command lines for zsh, made by `hocket completion zsh`.\n\n";
  write_zsh_verb(program, program.name, script);
  // As a file of the fpath it is the body of the function; sourced, it registers the function.
  return script +
         "if [[ $funcstack[1] = _hocket ]]; then\n"
         "  _hocket \"$@\"\n"
         "else\n"
         "  compdef _hocket hocket\n"
         "fi\n";
}

}  // namespace hocket
