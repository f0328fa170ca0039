#include "tuner/trial/command_call.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tuner/space/job_value.h"
#include "tuner/space/schedule_space.h"

namespace hocket {

PlaceholderValues placeholder_values(const Params& params, PlaceholderValues others) {
  for (const auto& [name, value] : params) others[name] = job_text(value);
  return others;
}

Result<CommandCall> call_with(const std::vector<std::string>& command, const Params& params,
                              PlaceholderValues others) {
  auto filled = filled_words(command, placeholder_values(params, std::move(others)));
  HOCKET_TRY(filled);
  CommandCall call{std::move(filled->words), {}, std::move(filled->absent)};
  bool has_knob = false;
  for (const auto& [name, value] : params) {
    has_knob = has_knob || is_knob(name);
    // A region's knob has a name that is not valid in a shell.
    if (name.find('.') != std::string::npos) continue;
    if (auto text = job_text(value)) {
      call.environment[name] = std::move(*text);
    } else {
      call.absent.push_back(name);
    }
  }
  if (has_knob) {
    const auto config = schedule_config_for(params);
    HOCKET_TRY(config);
    call.environment["HOCKET_CONFIG"] = to_json(*config).dump();
  }
  return call;
}

Result<void> check_unset(const std::vector<std::string>& command, const Space& space) {
  PlaceholderValues values = placeholder_values(space.defaults());
  for (const Parameter& parameter : space.parameters()) {
    if (!may_be_unset(parameter.domain)) continue;
    values[parameter.name] = std::nullopt;
  }
  HOCKET_TRY(filled_words(command, values));
  return {};
}

std::vector<std::string> boolean_notes(const std::vector<std::string>& command, const Space& space,
                                       const KnobPlaces& knobs) {
  std::vector<std::string> notes;
  const auto plain = plain_placeholders_of(command), all = placeholders_of(command);
  for (const Parameter& parameter : space.parameters()) {
    const std::string& name = parameter.name;
    // hocket itself reads these, or a tool does that says which words it takes.
    if (is_knob(name) || is_own_knob(name) || knobs.contains(name)) continue;
    const bool is_word = std::ranges::count(plain, name) > 0;
    const bool is_switch = !is_word && std::ranges::count(all, name) > 0;
    const std::string word = word_for_false(parameter.domain);
    const bool is_number = word.empty() && is_boolean(parameter.domain);
    if (is_switch || (word.empty() && !(is_number && is_word))) continue;
    const std::string shown = is_number ? "0" : word;
    if (is_word) {
      notes.push_back("the command gets the word " + shown + " for {" + name +
                      "}, which some programs take for true, as type=bool of Python's argparse "
                      "does; {" +
                      name + "?--flag} and {" + name +
                      "?--flag:--no-flag} are a flag that is left out, or negated");
    } else {
      notes.push_back("the environment variable " + name + " is the word " + shown +
                      ", which some programs take for true; --param " + name +
                      "=bool is 0 or 1 there");
    }
  }
  return notes;
}

}  // namespace hocket
