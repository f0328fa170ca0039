#include <algorithm>

#include "cli/reference/completion.h"

namespace hocket {
namespace {

constexpr const char* kFishFunctions = R"script(
# Prints the verb of the line so far, such as "studies rm"; nothing behind "--".
function __hocket_verb
    set -l path
    set -l is_value no
    for word in (commandline -opc)[2..]
        if test $is_value = yes
            set is_value no
        else if test "$word" = --
            return
        else if string match -q -- '-*' $word
            contains -- "$path $word" $__hocket_valued; and set is_value yes
        else if contains -- (string trim -- "$path $word") $__hocket_verbs
            set path (string trim -- "$path $word")
        end
    end
    echo "$path"
end

# Succeeds where the line so far is of the verb in the arguments.
function __hocket_at
    contains -- -- (commandline -opc); and return 1
    test (__hocket_verb) = "$argv"
end

# Succeeds behind "--".
function __hocket_in_command
    contains -- -- (commandline -opc)
end

# Prints the completions of the command behind "--".
function __hocket_command
    set -l words (commandline -opc)
    set -l begin (contains -i -- -- $words)
    set -l rest (string escape -- $words[(math $begin + 1)..])
    complete -C (string join -- ' ' $rest (commandline -ct))
end

complete -c hocket -f
complete -c hocket -n __hocket_in_command -a '(__hocket_command)'
)script";

/// Quotes as fish does: within single quotes only these two characters are special.
std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + "'";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Returns the part of `complete` that says what a value can be.
std::string fish_value(const DescribedOption& option) {
  switch (option.kind) {
    case ValueKind::none:
      return "";
    case ValueKind::text:
      return " -x";
    case ValueKind::file:
      return " -r -F";
    case ValueKind::folder:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::words:
    case ValueKind::settings:
      return " -x -a " + fish_quoted(joined(option.words));
  }
  return "";
}

std::string fish_option(const std::string& condition, const DescribedOption& option) {
  std::string line = "complete -c hocket -n " + condition;
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return line + fish_value(option) + " -d " + fish_quoted(option.description) + "\n";
}

void write_fish_verb(const DescribedVerb& verb, const std::string& path, std::string& script) {
  const std::string condition =
      fish_quoted(path.empty() ? "__hocket_at ''" : "__hocket_at " + path);
  for (const DescribedOption& option : verb.options) script += fish_option(condition, option);
  const auto takes_file = [](const DescribedOption& option) {
    return option.kind == ValueKind::file;
  };
  if (std::ranges::any_of(verb.positionals, takes_file)) {
    script += "complete -c hocket -n " + condition + " -F\n";
  }
  for (const DescribedOption& positional : verb.positionals) {
    if (positional.words.empty()) continue;
    script += "complete -c hocket -n " + condition + " -a " +
              fish_quoted(joined(positional.words)) + "\n";
  }
  for (const DescribedVerb& one : verb.verbs) {
    script += "complete -c hocket -n " + condition + " -a " + one.name + " -d " +
              fish_quoted(one.description) + "\n";
  }
  for (const DescribedVerb& one : verb.verbs) {
    write_fish_verb(one, path.empty() ? one.name : path + " " + one.name, script);
  }
}

/// Lists the verbs by their paths, and the options that take a value: "studies rm --store".
void list_names(const DescribedVerb& verb, const std::string& path, std::string& verbs,
                std::string& valued) {
  for (const DescribedOption& option : verb.options) {
    if (option.kind == ValueKind::none) continue;
    for (const std::string& name : option.names) valued += " '" + path + " " + name + "'";
  }
  for (const DescribedVerb& one : verb.verbs) {
    const std::string inner = path.empty() ? one.name : path + " " + one.name;
    verbs += " '" + inner + "'";
    list_names(one, inner, verbs, valued);
  }
}

}  // namespace

std::string fish_completion(const DescribedVerb& program) {
  std::string verbs, valued;
  list_names(program, "", verbs, valued);
  std::string script =
      "# Completion of hocket's command lines for fish, made by `hocket completion fish`.\n\n"
      "set -g __hocket_verbs" +
      verbs + "\nset -g __hocket_valued" + valued + "\n" + kFishFunctions;
  write_fish_verb(program, "", script);
  return script;
}

}  // namespace hocket
