#include "cli/inputs/space/tuned_space.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/inputs/space/script_defaults.h"
#include "core/step/knob.h"
#include "core/step/tool_knob.h"
#include "tuner/space/job_value.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

/// Places of the knobs of other tools, and sources of the defaults.
struct KnownOfKnobs {
  KnobPlaces places = {};
  DefaultSources sources = {};
  std::vector<std::string> notes = {};
  std::string objective = {};
};

/// Adds the knobs of one tool that the command leaves to search, and their places.
void add_knobs(const KnobFile& file, const SpaceRequest& request,
               std::vector<Parameter>& parameters, KnownOfKnobs& known) {
  for (const ToolKnob& knob : file.knobs) {
    const std::string& name = knob.parameter.name;
    if (std::ranges::count(parameters, name, &Parameter::name) > 0) {
      known.places.emplace(name, knob.place);  // a range of the user's own
      continue;
    }
    auto parameter = parameter_in(knob, request.command, request.surroundings);
    if (!parameter) {
      known.notes.push_back(name + " is not searched: " + parameter.error().message);
      continue;
    }
    const bool is_own = parameter->default_value != knob.parameter.default_value;
    known.sources[name].origin = is_own ? DefaultOrigin::given : DefaultOrigin::scheduler;
    known.places.emplace(name, knob.place);
    parameters.push_back(std::move(*parameter));
  }
  if (known.objective.empty()) known.objective = file.objective;
}

/// Returns the constraints of a file that name parameters of the space alone.
std::vector<std::string> constraints_of(const KnobFile& file,
                                        const std::vector<Parameter>& parameters) {
  std::vector<std::string> constraints;
  for (const std::string& text : file.constraints)
    if (Constraint::parse(text, parameters)) constraints.push_back(text);
  return constraints;
}

/// Refuses a knob's name for which no file says where it is set.
Result<void> check_places(const std::vector<Parameter>& parameters, const KnobPlaces& places) {
  for (const Parameter& parameter : parameters) {
    const std::string& name = parameter.name;
    if (!is_tool_knob(name) || places.contains(name) || find_knob(name) != nullptr) continue;
    const std::string tool = name.substr(0, name.find('.'));
    return invalid("--param " + name + ": it is a knob of " + tool + ", so add --knobs " + tool +
                   " or --knobs FILE, which says where it is set");
  }
  return {};
}

Result<std::vector<Parameter>> parameters_of(const SpaceRequest& request, KnownOfKnobs& known) {
  if (request.params.empty() && request.knobs.empty())
    return schedule_parameters(searched_knobs(request.has_servers));
  std::vector<Parameter> parameters;
  for (const auto& text : request.params) {
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
  for (const KnobFile& file : request.knobs) add_knobs(file, request, parameters, known);
  if (parameters.empty()) {
    std::string why;
    for (const std::string& note : known.notes) why += "; " + note;
    return invalid("--knobs: nothing is left to search" + why);
  }
  return parameters;
}

/// Gives `parameter` the default of the knob that it is, which a range of one's own may leave out.
/// Returns whether it has it.
bool take_own_default(Parameter& parameter) {
  if (is_own_knob(parameter.name))
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
  KnownOfKnobs known;
  auto parameters = parameters_of(request, known);
  HOCKET_TRY(parameters);
  HOCKET_TRY(check_places(*parameters, known.places));
  const auto knob = std::ranges::find_if(*parameters, is_own_knob, &Parameter::name);
  if (knob != parameters->end() && !starts_torch(request.command)) {
    return invalid(knob->name +
                   " reaches PyTorch through `hocket torch`, which the command does "
                   "not start: write hocket tune … -- hocket torch -- COMMAND…");
  }
  DefaultSources& sources = known.sources;
  for (Parameter& parameter : *parameters) {
    const bool is_known = sources.contains(parameter.name);
    DefaultSource& source = sources[parameter.name];
    if (!is_known)
      source.origin =
          take_own_default(parameter) ? DefaultOrigin::scheduler : DefaultOrigin::assumed;
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
  std::vector<std::string> constraints = request.constraints;
  for (const KnobFile& file : request.knobs) {
    for (std::string& text : constraints_of(file, *parameters))
      constraints.push_back(std::move(text));
  }
  auto space = Space::make(std::move(*parameters), constraints);
  HOCKET_TRY(space);
  return TunedSpace{std::move(*space), std::move(sources), std::move(known.places),
                    std::move(known.notes), std::move(known.objective)};
}

}  // namespace hocket
