#include "cli/definition.h"

#include <limits>

#include "core/json.h"
#include "tuner/schedule_space.h"

namespace hocket {
namespace {

constexpr const char* kFormat = "hocket-study";
constexpr int kVersion = 1;
constexpr std::int64_t kMost = 10'000;
constexpr auto kMaxInteger = std::numeric_limits<std::int64_t>::max();

Result<void> check_range(const char* what, std::int64_t value, std::int64_t low,
                         std::int64_t high) {
  if (value >= low && value <= high) return {};
  return failure(ErrorCode::invalid_argument,
                 std::string(what) + ": expected a number from " + std::to_string(low) + " to " +
                     std::to_string(high) + ", found " + std::to_string(value));
}

Result<void> read_step(const nlohmann::json& document, std::optional<StepDescription>& target) {
  const auto found = document.find("step");
  if (found == document.end()) return {};
  auto step = parse_step_description(found->dump());
  if (!step) return failure(step.error().in("field \"step\""));
  target = std::move(*step);
  return {};
}

}  // namespace

Result<void> validate(const StudyDefinition& definition) {
  return check_range("trials", definition.trials, 1, kMost)
      .and_then([&] { return check_range("confirm", definition.confirm_pairs, 0, kMost); })
      .and_then([&] { return check_range("skip", definition.skip, 0, kMaxInteger); })
      .and_then([&] { return check_range("seed", definition.seed, 0, kMaxInteger); })
      .and_then([&] { return check_range("time limit", definition.time_limit_ns, 1, kMaxInteger); })
      .and_then([&] { return check_searchable(definition.space); })
      .and_then([&] { return check_knobs(definition.space); });
}

nlohmann::json to_json(const StudyDefinition& definition) {
  nlohmann::json document = {{"format", kFormat},
                             {"version", kVersion},
                             {"space", to_json(definition.space)},
                             {"objective", to_text(definition.objective)},
                             {"skip", definition.skip},
                             {"seed", definition.seed},
                             {"trials", definition.trials},
                             {"confirm_pairs", definition.confirm_pairs},
                             {"time_limit_ns", definition.time_limit_ns},
                             {"working_directory", definition.working_directory}};
  if (definition.stop_early) document["stop_early"] = true;
  if (definition.step) document["step"] = to_json(*definition.step);
  return document;
}

Result<StudyDefinition> study_definition_from_json(const nlohmann::json& document) {
  if (auto ok = check_format(document, kFormat, kVersion); !ok) return failure(ok.error());
  const auto space_document = read_object(document, "space");
  if (!space_document) return failure(space_document.error());
  auto space = space_from_json(*space_document);
  if (!space) return failure(space.error().in("field \"space\""));
  const auto objective_text = read_string(document, "objective");
  if (!objective_text) return failure(objective_text.error());
  auto objective = parse_objective(*objective_text);
  if (!objective) return failure(objective.error());
  auto directory = read_string(document, "working_directory");
  if (!directory) return failure(directory.error());

  StudyDefinition definition{.space = std::move(*space),
                             .objective = std::move(*objective),
                             .working_directory = std::move(*directory)};
  const auto read = [&](const char* field, std::int64_t& target) -> Result<void> {
    const auto value = read_integer(document, field, 0, kMaxInteger);
    if (!value) return failure(value.error());
    target = *value;
    return {};
  };
  for (const auto& ok :
       {read("skip", definition.skip), read("seed", definition.seed),
        read("trials", definition.trials), read("confirm_pairs", definition.confirm_pairs),
        read("time_limit_ns", definition.time_limit_ns)}) {
    if (!ok) return failure(ok.error());
  }
  const auto stop_early = document.find("stop_early");
  if (stop_early != document.end()) {
    if (!stop_early->is_boolean())
      return failure(ErrorCode::invalid_argument, "field \"stop_early\": expected true or false");
    definition.stop_early = stop_early->get<bool>();
  }
  if (auto ok = read_step(document, definition.step); !ok) return failure(ok.error());
  if (auto ok = validate(definition); !ok) return failure(ok.error());
  return definition;
}

}  // namespace hocket
