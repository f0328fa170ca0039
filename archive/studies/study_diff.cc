#include "archive/studies/study_diff.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "archive/studies/job_similarity.h"
#include "core/base/text.h"
#include "tuner/trial/objective_unit.h"

namespace hocket {
namespace {

std::string text_of(const Parameter& parameter) {
  const auto* integers = std::get_if<IntegerRange>(&parameter.domain);
  const auto* reals = std::get_if<RealRange>(&parameter.domain);
  const bool is_logarithmic = (integers && integers->log) || (reals && reals->log);
  return describe(parameter.domain) + (is_logarithmic ? ", logarithmic" : "");
}

std::vector<Differing> differing_parameters(const Space& first, const Space& second) {
  std::set<std::string> names;
  for (const Space* space : {&first, &second})
    for (const Parameter& parameter : space->parameters()) names.insert(parameter.name);
  const auto text = [](const Space& space, const std::string& name) {
    const auto found = std::ranges::find(space.parameters(), name, &Parameter::name);
    return found == space.parameters().end() ? std::string() : text_of(*found);
  };
  std::vector<Differing> differing;
  for (const std::string& name : names) {
    Differing one{name, text(first, name), text(second, name)};
    if (one.first != one.second) differing.push_back(std::move(one));
  }
  return differing;
}

std::vector<Differing> differing_values(const Params& first, const Params& second) {
  std::set<std::string> names;
  for (const Params* params : {&first, &second})
    for (const auto& [name, value] : *params) names.insert(name);
  const auto text = [](const Params& params, const std::string& name) {
    const auto found = params.find(name);
    return found == params.end() ? std::string() : to_text(found->second);
  };
  std::vector<Differing> differing;
  for (const std::string& name : names) {
    Differing one{name, text(first, name), text(second, name)};
    if (one.first != one.second) differing.push_back(std::move(one));
  }
  return differing;
}

std::string direction_word(Direction direction) {
  return direction == Direction::maximise ? "maximises" : "minimises";
}

std::string warm_up_text(const StudyDefinition& definition) {
  if (definition.finds_warm_up) return "leaves out the warm-up that a run shows";
  return "leaves out the first " + std::to_string(definition.skip) + " values";
}

/// Collects the reasons for which two studies cannot be compared.
class Reasons {
 public:
  Reasons(const ComparedStudy& first, const ComparedStudy& second)
      : first_(first), second_(second) {}

  std::vector<std::string> take() {
    compare_objectives();
    compare_commands();
    compare_files();
    compare_jobs();
    return std::move(reasons_);
  }

 private:
  /// Adds a reason if the two texts differ.
  void add(const std::string& first, const std::string& second) {
    if (first != second)
      reasons_.push_back(first_.name + " " + first + ", " + second_.name + " " + second);
  }

  void compare_objectives() {
    const StudyDefinition &first = first_.definition, &second = second_.definition;
    if (!first.other_objectives.empty() || !second.other_objectives.empty()) {
      reasons_.emplace_back("with several objectives there is no single best setting");
      return;
    }
    Objective measured = first.objective, other = second.objective;
    add(direction_word(measured.direction), direction_word(other.direction));
    const std::string unit = to_string(unit_of(measured)), other_unit = to_string(unit_of(other));
    add("has the unit " + (unit.empty() ? "of its program" : unit),
        "has the unit " + (other_unit.empty() ? "of its program" : other_unit));
    if (!measures_same(measured, other))
      add("measures " + to_text(measured), "measures " + to_text(other));
    if (measured.kind == ObjectiveKind::regex || measured.kind == ObjectiveKind::file)
      add(warm_up_text(first), warm_up_text(second));
  }

  void compare_commands() {
    add("runs " + shell_text(first_.command), "runs " + shell_text(second_.command));
    if (first_.command == second_.command)
      add("runs in " + first_.definition.working_directory,
          "runs in " + second_.definition.working_directory);
  }

  void compare_files() {
    for (const FileFingerprint& file : first_.definition.files) {
      const auto& others = second_.definition.files;
      const auto other = std::ranges::find(others, file.path, &FileFingerprint::path);
      if (other != others.end() && other->fingerprint != file.fingerprint)
        reasons_.push_back(file.path + " changed between the two");
    }
  }

  void compare_jobs() {
    if (fingerprint(first_.topology) != fingerprint(second_.topology)) {
      reasons_.push_back(first_.name + " ran on another topology: " +
                         readable(job_differences(first_.topology, second_.topology)));
    }
    if (first_.workload != second_.workload && first_.command == second_.command &&
        differing_parameters(first_.definition.space, second_.definition.space).empty())
      reasons_.emplace_back("their jobs named different workloads");
  }

  const ComparedStudy &first_, &second_;
  std::vector<std::string> reasons_;
};

std::optional<ComparedValue> compared(const MeasuredParams& first, const MeasuredParams& second) {
  if (!first.value || !second.value) return std::nullopt;
  ComparedValue value{*first.value, first.spread, *second.value, second.spread};
  if (*first.value != 0) value.change = *second.value / *first.value - 1;
  value.is_beyond_spread = std::abs(*second.value - *first.value) > first.spread + second.spread;
  return value;
}

}  // namespace

StudyDiff study_diff(const ComparedStudy& first, const ComparedStudy& second) {
  const StudyResult &a = first.result, &b = second.result;
  StudyDiff diff{
      .parameters = differing_parameters(first.definition.space, second.definition.space),
      .defaults = differing_values(a.default_params.params, b.default_params.params),
      .best = differing_values(a.best.params, b.best.params),
      .incomparable = Reasons(first, second).take()};
  if (!diff.incomparable.empty()) return diff;
  if (diff.defaults.empty()) diff.of_defaults = compared(a.default_params, b.default_params);
  for (const ComparedStudy* study : {&first, &second}) {
    if (study->result.is_interim) {
      diff.why_not_best =
          "the best of " + study->name + " is not confirmed: it was chosen partly for its luck";
      return diff;
    }
  }
  diff.of_best = compared(a.best, b.best);
  return diff;
}

}  // namespace hocket
