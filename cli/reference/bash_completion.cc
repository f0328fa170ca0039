#include "cli/reference/completion.h"
#include "core/base/text.h"

namespace hocket {
namespace {

// __hocket_verb sets what a verb has, __hocket_value what the value of an option or of the argument
// at a position is.
constexpr const char* kBashFunctions = R"script(
# Completes the command behind "--", which begins at word $1 of the line.
__hocket_command() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)); then
    COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
  fi
}

# Completes a value that begins with $1, of the kind in `kind` and `values`.
__hocket_offer() {
  local IFS=$' \t\n'
  case $kind in
    file | folder)
      local flag=-f
      [[ $kind == folder ]] && flag=-d
      compopt -o filenames 2>/dev/null
      IFS=$'\n'
      COMPREPLY=($(compgen $flag -- "$1"))
      ;;
    words) COMPREPLY=($(compgen -W "$values" -- "$1")) ;;
    settings)
      compopt -o nospace 2>/dev/null
      COMPREPLY=($(compgen -W "$values" -- "$1"))
      ;;
  esac
}

_hocket() {
  local IFS=$' \t\n' words=() word i at=0 path=hocket option= kind= values= verbs= options=
  COMPREPLY=()
  # Bash may take --name=value apart.
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]} > 0)) && [[ $word == = || ${COMP_WORDS[i - 1]} == = ]]; then
      words[-1]+=$word
    else
      words+=("$word")
      if [[ $word == -- ]] && ((i < COMP_CWORD)); then
        __hocket_command $((i + 1))
        return
      fi
    fi
  done
  local cur=${words[-1]}
  unset 'words[-1]'
  __hocket_verb "$path"
  for word in "${words[@]}"; do
    if [[ -n $option ]]; then
      option=
    elif [[ $word == -* ]]; then
      if [[ $word != *=* ]]; then
        kind=
        __hocket_value "$path" "$word"
        [[ -n $kind ]] && option=$word
      fi
    elif [[ " $verbs " == *" $word "* ]]; then
      path+=" $word"
      __hocket_verb "$path"
    else
      ((++at))
    fi
  done
  kind=
  if [[ -n $option ]]; then
    __hocket_value "$path" "$option"
    __hocket_offer "$cur"
  elif [[ $cur == --*=* ]]; then
    __hocket_value "$path" "${cur%%=*}"
    __hocket_offer "${cur#*=}"
    [[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${COMPREPLY[@]/#/${cur%%=*}=}")
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $verbs ]] && ((at == 0)); then
    COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
  else
    __hocket_value "$path" "$at"
    __hocket_offer "$cur"
  fi
}

complete -F _hocket hocket
)script";

const char* bash_kind(ValueKind kind) {
  switch (kind) {
    case ValueKind::none:
      return "";
    case ValueKind::text:
      return "text";
    case ValueKind::file:
      return "file";
    case ValueKind::folder:
      return "folder";
    case ValueKind::words:
      return "words";
    case ValueKind::settings:
      return "settings";
  }
  return "";
}

std::string bash_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return shell_quoted(text);
}

std::string verb_names(const DescribedVerb& verb) {
  std::vector<std::string> names;
  for (const DescribedVerb& one : verb.verbs) names.push_back(one.name);
  return bash_words(names);
}

std::string option_names(const DescribedVerb& verb) {
  std::vector<std::string> names;
  for (const DescribedOption& option : verb.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return bash_words(names);
}

void write_verb_cases(const DescribedVerb& verb, const std::string& path, std::string& script) {
  script +=
      "    '" + path + "') verbs=" + verb_names(verb) + " options=" + option_names(verb) + " ;;\n";
  for (const DescribedVerb& one : verb.verbs) write_verb_cases(one, path + " " + one.name, script);
}

void write_value(const std::string& patterns, const DescribedOption& option, std::string& script) {
  if (option.kind == ValueKind::none) return;
  script += "    " + patterns + ") kind=" + bash_kind(option.kind);
  if (!option.words.empty()) script += " values=" + bash_words(option.words);
  script += " ;;\n";
}

/// Writes what the values of the verb's options are, and of its positions: the last one may be
/// repeated.
void write_value_cases(const DescribedVerb& verb, const std::string& path, std::string& script) {
  for (const DescribedOption& option : verb.options) {
    std::string patterns;
    for (const std::string& name : option.names) {
      patterns += (patterns.empty() ? "'" : " | '") + path + " " + name + "'";
    }
    write_value(patterns, option, script);
  }
  for (std::size_t at = 0; at < verb.positionals.size(); ++at) {
    const DescribedOption& positional = verb.positionals[at];
    const std::string position = positional.is_repeated ? "[0-9]*" : std::to_string(at);
    write_value("'" + path + " '" + position, positional, script);
  }
  for (const DescribedVerb& one : verb.verbs) write_value_cases(one, path + " " + one.name, script);
}

}  // namespace

std::string bash_completion(const DescribedVerb& program) {
  std::string script =
      "# Completion of hocket's command lines for bash, made by `hocket completion bash`.\n\n"
      "# Sets `verbs` and `options`, the names that the verb $1 has.\n"
      "__hocket_verb() {\n"
      "  case $1 in\n";
  write_verb_cases(program, program.name, script);
  script +=
      "  esac\n"
      "}\n\n"
      "# Sets `kind` and `values` for the option, or the position, $2 of the verb $1.\n"
      "__hocket_value() {\n"
      "  case \"$1 $2\" in\n";
  write_value_cases(program, program.name, script);
  script +=
      "  esac\n"
      "}\n";
  return script + kBashFunctions;
}

}  // namespace hocket
