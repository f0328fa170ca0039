#include "cli/inputs/space/tuned_space.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/inputs/space/script_defaults.h"
#include "core/step/knob.h"
#include "tuner/space/job_value.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/space/schedule_space.h"
#include "tuner/space/torch_knobs.h"

namespace hocket {
namespace {

Result<std::vector<Parameter>> parameters_of(const std::vector<std::string>& texts,
                                             const std::vector<std::string>& sets,
                                             bool has_servers) {
  if (texts.empty() && sets.empty()) return schedule_parameters(searched_knobs(has_servers));
  std::vector<Parameter> parameters;
  for (const auto& text : texts) {
    if (text.find('=') == std::string::npos) {
      auto knob = schedule_parameters({&text, 1});
      if (!knob) return failure(knob.error().in("--param"));
      parameters.push_back(std::move(knob->front()));
      continue;
    }
    auto parameter = parse_parameter(text);
    HOCKET_TRY(parameter);
    parameters.push_back(std::move(*parameter));
  }
  for (const auto& set : sets) {
    auto knobs = torch_parameters(set);
    HOCKET_TRY(knobs);
    for (Parameter& knob : *knobs) {
      if (std::ranges::count(parameters, knob.name, &Parameter::name) == 0)
        parameters.push_back(std::move(knob));
    }
  }
  return parameters;
}

/// Gives `parameter` the default of the knob that it is, which a range of one's own may leave out.
/// Returns whether it has it.
bool take_own_default(Parameter& parameter) {
  if (is_torch_knob(parameter.name))
    return parameter.default_value == ParameterValue(std::string(kUnset));
  if (find_knob(parameter.name) == nullptr) return false;
  const auto knob = schedule_parameters({&parameter.name, 1});
  if (!knob) return false;
  auto inside = admit(parameter.domain, knob->front().default_value);
  if (!inside) return false;
  parameter.default_value = std::move(*inside);
  return true;
}

/// Takes the defaults of those parameters that are still assumed from the script of the command.
void take_script_defaults(const std::vector<std::string>& command, const Clock& clock,
                          std::vector<Parameter>& parameters, DefaultSources& sources) {
  const auto script = python_script(command);
  if (!script) return;
  const auto placed = placed_options(command);
  std::vector<std::string> options;
  for (const auto& [name, option] : placed) {
    const auto source = sources.find(name);
    if (source != sources.end() && source->second.origin == DefaultOrigin::assumed)
      options.push_back(option);
  }
  if (options.empty()) return;
  const auto defaults = argparse_defaults(*script, options, clock);
  const std::string name_of_script = std::filesystem::path(script->path).filename().string();
  for (const auto& [name, option] : placed) {
    const auto found = defaults.find(option);
    if (found == defaults.end()) continue;
    DefaultSource& source = sources[name];
    if (source.origin != DefaultOrigin::assumed) continue;
    if (set_default(parameters, name + "=" + found->second)) {
      source = {DefaultOrigin::script, name_of_script};
    } else {
      source.detail = name_of_script + " has " + found->second + ", which is not searched";
    }
  }
}

}  // namespace

bool has_servers(const std::vector<std::string>& command,
                 const std::optional<std::string>& addresses) {
  if (addresses && !addresses->empty()) return true;
  const auto run = std::ranges::find(command, "run");
  if (run == command.begin() || run == command.end() ||
      std::filesystem::path(*std::prev(run)).filename() != "hocket")
    return false;
  constexpr std::string_view option = "--servers";
  for (auto word = run; word != command.end() && *word != "--"; ++word) {
    if (*word == option && std::next(word) != command.end()) return *std::next(word) != "0";
    if (word->starts_with(std::string(option) + "=")) return word->substr(option.size() + 1) != "0";
  }
  return false;
}

bool starts_torch(const std::vector<std::string>& command) {
  return std::ranges::adjacent_find(command, [](const auto& program, const auto& verb) {
           return std::filesystem::path(program).filename() == "hocket" && verb == "torch";
         }) != command.end();
}

Result<TunedSpace> tuned_space(const SpaceRequest& request, const Clock& clock) {
  auto parameters = parameters_of(request.params, request.knobs, request.has_servers);
  HOCKET_TRY(parameters);
  const auto knob = std::ranges::find_if(*parameters, is_torch_knob, &Parameter::name);
  if (knob != parameters->end() && !starts_torch(request.command)) {
    return invalid(knob->name +
                   " reaches PyTorch through `hocket torch`, which the command does "
                   "not start: write hocket tune … -- hocket torch -- COMMAND…");
  }
  DefaultSources sources;
  for (Parameter& parameter : *parameters) {
    DefaultSource& source = sources[parameter.name];
    source.origin = take_own_default(parameter) ? DefaultOrigin::scheduler : DefaultOrigin::assumed;
    const auto gives = [&](const std::string& text) {
      return text.starts_with(parameter.name + "=");
    };
    if (!request.environment || std::ranges::any_of(request.defaults, gives)) continue;
    auto value = request.environment(parameter.name.c_str());
    if (value && std::holds_alternative<Choices>(parameter.domain)) value = choice_of(*value);
    if (!value && may_be_unset(parameter.domain)) value = kUnset;
    if (!value) continue;
    const auto taken = set_default(*parameters, parameter.name + "=" + *value);
    if (!taken) return failure(taken.error().in("--default-from-env"));
    source.origin = DefaultOrigin::environment;
  }
  for (const auto& text : request.defaults) {
    HOCKET_TRY(set_default(*parameters, text));
    sources[text.substr(0, text.find('='))].origin = DefaultOrigin::given;
  }
  take_script_defaults(request.command, clock, *parameters, sources);
  auto space = Space::make(std::move(*parameters), request.constraints);
  HOCKET_TRY(space);
  return TunedSpace{std::move(*space), std::move(sources)};
}

}  // namespace hocket
