#include "tuner/trial/call/knob_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/base/json.h"
#include "core/base/nearest_name.h"
#include "core/base/text.h"
#include "core/files/regular_file.h"
#include "tuner/space/job_value.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/trial/placeholder.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kMaxDocumentBytes = 16 << 20;
constexpr std::string_view kOn = "on", kOff = "off", kAuto = "auto";
constexpr std::string_view kBlanks = " \t\r\n";

/// Value that a command has without hocket.
struct OwnValue {
  std::optional<std::string> text = {};
  bool is_open = false;      ///< a framework computes it
  std::string refusal = {};  ///< why the knob cannot be set; empty: it can
};

bool is_switch(const Domain& domain) {
  const auto* choices = std::get_if<Choices>(&domain);
  return choices != nullptr && std::ranges::all_of(choices->names, [](const std::string& word) {
           return word == kOn || word == kOff || word == kUnset;
         });
}

/// Returns "on" or "off" for a word that tools read as a boolean, any other as it is.
std::string switch_word(const std::string& text) {
  if (is_false_text(text)) return std::string(kOff);
  constexpr std::array<std::string_view, 4> kTrue = {"1", "true", "yes", "on"};
  return std::ranges::count(kTrue, lower_case(text)) > 0 ? std::string(kOn) : text;
}

/// Returns whether a word, or a text for a shell in it, assigns to the variable.
bool assigns(const std::string& word, const std::string& variable) {
  const std::string assignment = variable + "=";
  for (auto at = word.find(assignment); at != word.npos; at = word.find(assignment, at + 1)) {
    if (at == 0 || std::string_view(" \t\n;&|('\"").find(word[at - 1]) != std::string_view::npos)
      return true;
  }
  return false;
}

std::string set_by_command(const std::string& variable) {
  return "the command sets " + variable + " itself; set it in front of hocket instead";
}

/// Returns whether a shell reads its text from a word of the command.
bool has_shell_text(const std::vector<std::string>& command) {
  constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash", "zsh", "ksh"};
  for (std::size_t i = 0; i + 1 < command.size(); ++i) {
    const std::string name = fs::path(command[i]).filename().string();
    const std::string& option = command[i + 1];
    const bool is_text =
        option.size() > 1 && option[0] == '-' && option[1] != '-' && option.back() == 'c';
    if (is_text && std::ranges::count(kShells, name) > 0) return true;
  }
  return false;
}

bool has_option(const std::vector<std::string>& command, const std::string& option) {
  return std::ranges::any_of(command, [&](const std::string& word) {
    return word == option || word.starts_with(option + "=");
  });
}

std::string either_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " or ") + word;
  return text;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (auto begin = text.find_first_not_of(kBlanks); begin != text.npos;) {
    const auto end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

/// Returns whether a word is the flag `--NAME` or `-NAME`, with or without a value.
bool is_flag(std::string_view word, std::string_view name) {
  if (!word.starts_with('-')) return false;
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  return word.starts_with(name) && (word.size() == name.size() || word[name.size()] == '=');
}

OwnValue own_variable(const KnobPlace& place, const std::vector<std::string>& command,
                      const KnobSurroundings& surroundings) {
  for (const std::string& word : command)
    if (assigns(word, place.name)) return {.refusal = set_by_command(place.name)};
  return {.text = surroundings.variable(place.name)};
}

OwnValue own_flag(const KnobPlace& place, const std::vector<std::string>& command,
                  const KnobSurroundings& surroundings) {
  for (const std::string& word : command)
    if (assigns(word, place.variable)) return {.refusal = set_by_command(place.variable)};
  const std::string flags = surroundings.variable(place.variable).value_or("");
  const auto words = words_of(flags);
  if (!words.empty() && !words.front().starts_with('-'))
    return {.refusal = place.variable + " names a file, " + printable(words.front(), 100) +
                       "; write its flags into the variable"};
  if (flags.find_first_of("'\"") != flags.npos)
    return {.refusal = place.variable + " has quotes, which hocket does not take apart"};
  OwnValue own;
  for (const std::string& word : words) {  // the last one counts
    if (!is_flag(word, place.name)) continue;
    const auto equals = word.find('=');
    own.text = equals == word.npos ? std::string(kOn) : word.substr(equals + 1);
  }
  return own;
}

OwnValue own_argument(const KnobPlace& place, const Domain& domain,
                      const std::vector<std::string>& command) {
  if (has_shell_text(command))
    return {.refusal = "the command is a text for a shell, in which only {NAME} has a place"};
  OwnValue own;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i].starts_with(place.name + "="))
      own.text = command[i].substr(place.name.size() + 1);
    if (command[i] != place.name) continue;
    own.text = is_switch(domain)        ? std::string(kOn)
               : i + 1 < command.size() ? command[i + 1]
                                        : std::string();
  }
  return own;
}

/// Place of a document's path in the command.
struct NamedDocument {
  std::size_t word = 0, begin = 0;  ///< of the path in the command
  std::string path;
};

Result<NamedDocument> named_document(const KnobPlace& place,
                                     const std::vector<std::string>& command) {
  std::string known;
  for (const std::string& option : place.options) {
    known += (known.empty() ? "" : " or ") + option + " FILE";
    for (std::size_t i = command.size(); i-- > 0;) {
      const std::string& word = command[i];
      if (word.starts_with(option + "="))
        return NamedDocument{i, option.size() + 1, word.substr(option.size() + 1)};
      const bool has_value = i + 1 < command.size() && !command[i + 1].starts_with('-');
      if (word == option && has_value && command[i + 1].find(".json") != std::string::npos)
        return NamedDocument{i + 1, 0, command[i + 1]};
    }
  }
  return invalid("the command names no JSON document by " + known);
}

Result<json> read_document(const NamedDocument& named, const KnobSurroundings& surroundings) {
  const auto text = surroundings.read(named.path);
  HOCKET_TRY(text);
  auto document = parse_object(*text, named.path);
  HOCKET_TRY(document);
  return std::move(*document);
}

/// Returns the names in "a.b.c".
std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('.', begin), path.size());
    names.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// Returns a scalar as a command line has it; nothing for anything else.
std::optional<std::string> scalar_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_float()) {
    const double number = value.get<double>();
    const bool is_whole = std::floor(number) == number && std::abs(number) < 0x1p53;
    return is_whole ? std::to_string(static_cast<std::int64_t>(number)) : value.dump();
  }
  if (value.is_number()) return value.dump();
  return std::nullopt;
}

OwnValue own_field(const KnobPlace& place, const std::vector<std::string>& command,
                   const KnobSurroundings& surroundings) {
  const auto named = named_document(place, command);
  if (!named) return {.refusal = named.error().message};
  const auto document = read_document(*named, surroundings);
  if (!document) return {.refusal = document.error().message};
  const json* at = &*document;
  for (const std::string& name : names_in(place.name)) {
    if (!at->is_object())
      return {.refusal = named->path + " has no object where " + place.name + " is to be"};
    const auto found = at->find(name);
    if (found == at->end()) return {};
    at = &*found;
  }
  const auto text = scalar_text(*at);
  if (!text) return {.refusal = named->path + " has no single value as " + place.name};
  if (*text == kAuto) return {.is_open = true};
  return {.text = *text};
}

OwnValue own_value(const KnobPlace& place, const Domain& domain,
                   const std::vector<std::string>& command, const KnobSurroundings& surroundings) {
  switch (place.way) {
    case KnobWay::variable:
      return own_variable(place, command, surroundings);
    case KnobWay::flag:
      return own_flag(place, command, surroundings);
    case KnobWay::argument:
      return own_argument(place, domain, command);
    case KnobWay::field:
      return own_field(place, command, surroundings);
  }
  return {};
}

/// Makes an integer between two levels one of them.
void admit_between(Domain& domain, const std::string& text) {
  auto* levels = std::get_if<Levels>(&domain);
  if (levels == nullptr) return;
  const json number = json::parse(text, nullptr, false);
  if (!number.is_number_integer()) return;
  const ParameterValue value = number.get<std::int64_t>();
  auto& values = levels->values;
  if (value.index() != values.front().index() || value < values.front() || values.back() < value)
    return;
  const auto at = std::ranges::lower_bound(values, value);
  if (at == values.end() || *at != value) values.insert(at, value);
}

/// Returns the text that a flag gets.
std::string flag_text(const std::string& text) {
  return text == kOn ? "true" : text == kOff ? "false" : text;
}

/// Returns a word as the value of a field: a number or a boolean where it is one.
json field_value(const std::string& text) {
  if (text == kOn || text == kOff) return text == kOn;
  auto value = json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : json(text);
}

/// Collects what the knobs of one call do.
class KnobCall {
 public:
  KnobCall(const KnobSurroundings& surroundings, CommandCall& call)
      : surroundings_(surroundings), call_(call) {}

  Result<void> set(const KnobPlace& place, const std::optional<std::string>& text) {
    switch (place.way) {
      case KnobWay::variable:
        return {};  // call_with() has set it
      case KnobWay::flag:
        set_flag(place, text);
        return {};
      case KnobWay::argument:
        return set_argument(place, text);
      case KnobWay::field:
        return set_field(place, text);
    }
    return {};
  }

  /// Writes the documents into the call.
  void finish() {
    for (auto& [path, document] : documents_) call_.files[path] = document.dump(2) + "\n";
  }

 private:
  void set_flag(const KnobPlace& place, const std::optional<std::string>& text) {
    const auto own = call_.environment.find(place.variable);
    const std::string before = own != call_.environment.end()
                                   ? own->second
                                   : surroundings_.variable(place.variable).value_or("");
    std::string flags;
    for (const std::string& word : words_of(before))
      if (!is_flag(word, place.name)) flags += (flags.empty() ? "" : " ") + word;
    if (text) flags += (flags.empty() ? "--" : " --") + place.name + "=" + flag_text(*text);
    call_.environment[place.variable] = flags;
  }

  Result<void> set_argument(const KnobPlace& place, const std::optional<std::string>& text) {
    std::vector<std::string>& argv = call_.argv;
    if (has_shell_text(argv)) return invalid(place.name + " cannot be given to a text for a shell");
    const bool has_no_value = text && (*text == kOn || *text == kOff);
    for (std::size_t i = 0; i < argv.size();) {
      const bool is_pair = argv[i] == place.name && !has_no_value && i + 1 < argv.size() &&
                           !argv[i + 1].starts_with('-');
      const auto at = argv.begin() + static_cast<std::ptrdiff_t>(i);
      if (argv[i] == place.name || argv[i].starts_with(place.name + "=")) {
        argv.erase(at, at + (is_pair ? 2 : 1));
      } else {
        ++i;
      }
    }
    if (!text || *text == kOff) return {};
    argv.push_back(place.name);
    if (*text != kOn) argv.push_back(*text);
    return {};
  }

  Result<void> set_field(const KnobPlace& place, const std::optional<std::string>& text) {
    const auto named = named_document(place, call_.argv);
    HOCKET_TRY(named);
    std::string path = named->path;
    if (!documents_.contains(path)) {
      auto read = read_document(*named, surroundings_);
      HOCKET_TRY(read);
      path =
          (fs::path(surroundings_.folder) / ("knobs-" + fs::path(named->path).filename().string()))
              .string();
      documents_[path] = std::move(*read);
      call_.argv[named->word].replace(named->begin, std::string::npos, path);
    }
    json* at = &documents_[path];
    const auto names = names_in(place.name);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!at->is_object() && !at->is_null())
        return invalid(named->path + " has no object where " + place.name + " is to be");
      if (i + 1 < names.size()) {
        at = &(*at)[names[i]];
      } else if (text) {
        (*at)[names[i]] = field_value(*text);
      } else if (at->is_object()) {
        at->erase(names[i]);
      }
    }
    return {};
  }

  const KnobSurroundings& surroundings_;
  CommandCall& call_;
  std::map<std::string, json> documents_;  ///< by the paths of their copies
};

}  // namespace

KnobSurroundings surroundings_of(const std::string& working_directory, const std::string& folder) {
  const auto variable = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const auto read = [working_directory](const std::string& path) {
    return read_regular_file((fs::path(working_directory) / path).string(), kMaxDocumentBytes);
  };
  return {variable, read, folder};
}

Result<Parameter> parameter_in(const ToolKnob& knob, const std::vector<std::string>& command,
                               const KnobSurroundings& surroundings) {
  Parameter parameter = knob.parameter;
  const auto placed = placeholders_of(command);
  if (std::ranges::count(placed, parameter.name) > 0) return parameter;
  const auto is_there = [&](const std::string& option) { return has_option(command, option); };
  if (!knob.needs.empty() && std::ranges::none_of(knob.needs, is_there))
    return invalid("it needs " + either_of(knob.needs) + " in the command");
  const OwnValue own = own_value(knob.place, parameter.domain, command, surroundings);
  if (!own.refusal.empty()) return invalid(own.refusal);
  if (own.is_open) leave_open(parameter);
  if (!own.text) return parameter;
  const std::string text = is_switch(parameter.domain) ? switch_word(*own.text) : *own.text;
  admit_between(parameter.domain, text);
  std::vector<Parameter> one = {parameter};
  if (const auto ok = set_default(one, parameter.name + "=" + text); !ok)
    return invalid("the job has " + printable(text, 100) + ", which is not searched");
  return std::move(one.front());
}

Result<void> apply_knobs(const KnobPlaces& places, const std::vector<std::string>& command,
                         const Params& params, const Params& defaults,
                         const KnobSurroundings& surroundings, CommandCall& call) {
  const auto placed = placeholders_of(command);
  KnobCall knobs(surroundings, call);
  for (const auto& [name, value] : params) {
    const auto place = places.find(name);
    if (place == places.end() || std::ranges::count(placed, name) > 0) continue;
    const auto own = defaults.find(name);
    if (own != defaults.end() && own->second == value) {
      // The command has this value without hocket.
      if (place->second.way != KnobWay::variable) continue;
      call.environment.erase(name);
      std::erase(call.absent, name);
      continue;
    }
    if (const auto ok = knobs.set(place->second, job_text(value)); !ok)
      return failure(ok.error().in("knob " + name));
  }
  knobs.finish();
  return {};
}

Result<void> write_files(const CommandCall& call) {
  for (const auto& [path, text] : call.files) {
    const auto file = open_to_write(path, Writing::from_begin, 0600, Links::refused);
    HOCKET_TRY(file);
    HOCKET_TRY(write_all(*file, text, path));
  }
  return {};
}

}  // namespace hocket
