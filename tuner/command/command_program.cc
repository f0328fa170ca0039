#include "tuner/command/command_program.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "tuner/command/shell_commands.h"
#include "tuner/command/wrappers.h"

namespace hocket {
namespace {

using CommandWords = std::span<const std::string>;
using ProgramKind = CommandProgram::Kind;

/// Commands of a shell that prepare what the one that matters runs in.
constexpr std::string_view kPreparations =
    "cd export unset source . set ulimit umask module ml mkdir echo printf true : wait trap conda "
    "sleep rm touch ln cp mv date hostname pwd nvidia-smi";

std::string_view program_base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// "python3.11" → "python".
std::string_view without_version(std::string_view name) {
  return name.substr(0, name.find_last_not_of("0123456789.") + 1);
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  return std::ranges::all_of(word.substr(0, equals), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

/// Name of an option, as the tables have it: "--nproc_per_node=2" → "--nproc-per-node".
std::string option_name(std::string_view word) {
  std::string name(word.substr(0, word.find('=')));
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string joined_folder(const std::string& outer, const std::string& inner) {
  if (outer.empty() || inner.starts_with('/')) return inner;
  return inner.empty() ? outer : outer + "/" + inner;
}

CommandProgram read_words(CommandWords words, std::string folder, int depth);

CommandProgram found_program(ProgramKind kind, std::string text, std::string_view reader,
                             std::string folder) {
  return {kind, std::move(text), std::string(reader), std::move(folder)};
}

CommandProgram no_program(std::string_view reader) {
  return {ProgramKind::unknown, "", std::string(reader), ""};
}

/// Reads a module, which may itself run another program, or the words behind a Python's `-m`.
CommandProgram read_module(CommandWords words, std::string_view reader, std::string folder,
                           int depth);

/// A wrapper's own arguments, taken off the front of `words`.
struct OwnArguments {
  CommandWords rest;
  std::string folder;
  bool is_module = false, is_command = false;
  std::int64_t ranks = 0;  ///< 0: the arguments do not say
};

/// Returns 0 if there is none, or one that is no count ("gpu", "1:4").
std::int64_t product_of(const std::vector<std::string>& counts) {
  constexpr std::int64_t kMost = 1 << 24;
  std::int64_t product = counts.empty() ? 0 : 1;
  for (const std::string& text : counts) {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool is_count = error == std::errc() && end == text.data() + text.size() && count > 0;
    if (!is_count || count > kMost / product) return 0;
    product *= count;
  }
  return product;
}

OwnArguments take_own_arguments(const CommandWrapper& wrapper, CommandWords words) {
  OwnArguments own;
  int positionals = wrapper.positionals;
  std::vector<std::string> counts;
  while (!words.empty()) {
    const std::string& word = words.front();
    if (word == "--") {
      words = words.subspan(1);
      break;
    }
    if (is_assignment(word)) {
      words = words.subspan(1);
      continue;
    }
    if (!is_option(word)) {
      if (positionals == 0) break;
      --positionals;
      words = words.subspan(1);
      continue;
    }
    const std::string name = option_name(word);
    const bool has_value = word.find('=') != std::string::npos;
    std::size_t length = 1;
    if (!has_value && is_among(wrapper.valued, name)) length = 2;
    if (!has_value && is_among(wrapper.valued, name + "*")) length = 3;
    const std::string value = has_value                         ? word.substr(word.find('=') + 1)
                              : length == 2 && words.size() > 1 ? words[1]
                                                                : "";
    if (is_among(wrapper.folder, name) && (has_value || length == 2)) own.folder = value;
    if (is_among(wrapper.counts, name)) counts.push_back(value);
    own.is_module = own.is_module || name == "-m" || name == "--module";
    own.is_command = own.is_command || name == "--no-python";
    words = words.subspan(std::min(length, words.size()));
  }
  own.rest = words;
  own.ranks = product_of(counts);
  return own;
}

/// Reads what a wrapper runs behind its own arguments.
CommandProgram read_wrapped(const CommandWrapper& wrapper, const OwnArguments& own,
                            std::string folder, std::string_view reader, int depth) {
  if (own.rest.empty()) return no_program(reader);
  if (wrapper.runs == WrappedKind::command || own.is_command)
    return read_words(own.rest, std::move(folder), depth);
  if (own.is_module) return read_module(own.rest, "python", std::move(folder), depth);
  return found_program(ProgramKind::script, own.rest.front(), "python", std::move(folder));
}

CommandProgram read_wrapper(const CommandWrapper& wrapper, CommandWords words, std::string folder,
                            std::string_view reader, int depth) {
  const OwnArguments own = take_own_arguments(wrapper, words);
  CommandProgram program =
      read_wrapped(wrapper, own, joined_folder(folder, own.folder), reader, depth);
  // torchrun counts the ranks of all nodes, of which srun starts one torchrun each.
  if (program.ranks == 0) program.ranks = own.ranks;
  return program;
}

CommandProgram read_module(CommandWords words, std::string_view reader, std::string folder,
                           int depth) {
  const CommandWrapper* wrapper = module_wrapper(words.front());
  if (wrapper == nullptr)
    return found_program(ProgramKind::module, words.front(), reader, std::move(folder));
  words = words.subspan(1);
  if (!wrapper->subcommands.empty() && !words.empty() &&
      is_among(wrapper->subcommands, words.front())) {
    words = words.subspan(1);
  }
  return read_wrapper(*wrapper, words, std::move(folder), reader, depth);
}

bool is_expanded(const CommandProgram& program) {
  return program.text.find_first_of("$*?[~") != std::string::npos ||
         program.folder.find_first_of("$*?[~") != std::string::npos;
}

/// Reads a shell's text: the one command that matters, or the text itself.
CommandProgram read_shell(const std::string& text, std::string_view shell, std::string folder,
                          int depth) {
  const CommandProgram whole = found_program(ProgramKind::code, text, shell, folder);
  const auto commands = shell_commands(text);
  if (!commands) return whole;
  std::optional<CommandWords> only;
  for (const auto& words : *commands) {
    CommandWords rest = words;
    while (!rest.empty() && is_assignment(rest.front())) rest = rest.subspan(1);
    if (rest.empty()) continue;
    if (rest.front() == "cd" && rest.size() == 2) {
      if (!only) folder = joined_folder(folder, rest[1]);
      continue;
    }
    if (is_among(kPreparations, rest.front())) continue;
    if (only) return whole;
    only = rest;
  }
  if (!only) return whole;
  CommandProgram program = read_words(*only, std::move(folder), depth);
  return program.kind == ProgramKind::unknown || is_expanded(program) ? whole : program;
}

/// Reads an interpreter's arguments.
CommandProgram read_interpreter(const ScriptInterpreter& interpreter, CommandWords words,
                                std::string folder, std::string_view reader, int depth) {
  bool is_text = false;  // a shell's text comes behind all options
  while (!words.empty() && is_option(words.front())) {
    const std::string word = words.front();
    words = words.subspan(1);
    if (word == "--") break;
    if (word.starts_with("--")) {
      const bool has_value = word.find('=') != std::string::npos;
      const std::string name = word.substr(0, word.find('='));
      if (is_among(interpreter.code_long, name)) {
        if (has_value)
          return found_program(ProgramKind::code, word.substr(name.size() + 1), reader, folder);
        if (words.empty()) return no_program(reader);
        return found_program(ProgramKind::code, words.front(), reader, folder);
      }
      if (!has_value && is_among(interpreter.valued_long, name) && !words.empty())
        words = words.subspan(1);
      continue;
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
      const char letter = word[i];
      const bool is_code = interpreter.code.find(letter) != std::string_view::npos;
      const bool is_module = interpreter.module.find(letter) != std::string_view::npos;
      const bool is_valued = interpreter.valued.find(letter) != std::string_view::npos;
      if (is_code && interpreter.is_shell) is_text = true;
      if (interpreter.is_shell ? !is_valued : !is_code && !is_module && !is_valued) continue;
      std::vector<std::string> value_and_rest(words.begin(), words.end());
      if (i + 1 < word.size()) {
        value_and_rest.insert(value_and_rest.begin(), word.substr(i + 1));
      } else if (!words.empty()) {
        words = words.subspan(1);
      }
      if (value_and_rest.empty()) return no_program(reader);
      if (is_module) return read_module(value_and_rest, reader, std::move(folder), depth);
      if (is_code && !interpreter.is_shell)
        return found_program(ProgramKind::code, value_and_rest.front(), reader, std::move(folder));
      break;
    }
  }
  if (words.empty()) return no_program(reader);
  if (is_text) return read_shell(words.front(), reader, std::move(folder), depth);
  return found_program(ProgramKind::script, words.front(), reader, std::move(folder));
}

CommandProgram read_words(CommandWords words, std::string folder, int depth) {
  constexpr int kDeepest = 16;
  while (!words.empty() && is_assignment(words.front())) words = words.subspan(1);
  if (words.empty() || words.front().empty()) return no_program("");
  const std::string& word = words.front();
  const std::string_view name = program_base_name(word);
  const CommandWords arguments = words.subspan(1);
  if (depth < kDeepest) {
    for (const CommandWrapper& wrapper : wrappers()) {
      if (!is_among(wrapper.names, name)) continue;
      if (wrapper.subcommands.empty())
        return read_wrapper(wrapper, arguments, std::move(folder), name, depth + 1);
      if (!arguments.empty() && is_among(wrapper.subcommands, arguments.front())) {
        return read_wrapper(wrapper, arguments.subspan(1), std::move(folder), name, depth + 1);
      }
    }
    for (const ScriptInterpreter& interpreter : interpreters()) {
      if (is_among(interpreter.names, without_version(name)))
        return read_interpreter(interpreter, arguments, std::move(folder), name, depth + 1);
    }
  }
  auto program = found_program(ProgramKind::program, word, name, std::move(folder));
  program.arguments = {arguments.begin(), arguments.end()};
  return program;
}

}  // namespace

CommandProgram read_command(std::span<const std::string> command) {
  HOCKET_CHECK(!command.empty(), "a command has a program");
  CommandProgram program = read_words(command, "", 0);
  if (program.text.empty()) program.kind = ProgramKind::unknown;
  if (program.kind == ProgramKind::unknown) program.reader = program_base_name(command.front());
  return program;
}

std::string short_name(const CommandProgram& program) {
  switch (program.kind) {
    case ProgramKind::program:
    case ProgramKind::script:
      return std::string(program_base_name(program.text));
    case ProgramKind::module:
      return program.text;
    case ProgramKind::code:
    case ProgramKind::unknown:
      break;
  }
  return program.reader;
}

}  // namespace hocket
