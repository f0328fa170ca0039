#include "archive/studies/donor_source.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "archive/studies/open_study.h"
#include "archive/studies/plain_job.h"
#include "archive/studies/study_job.h"
#include "core/base/text.h"
#include "tuner/search/transfer.h"

namespace hocket {
namespace {

constexpr std::size_t kDifferenceLimitBytes = 300;

std::set<std::string> names_of(const Space& space) {
  std::set<std::string> names;
  for (const auto& parameter : space.parameters()) names.insert(parameter.name);
  return names;
}

std::string list_of(const Space& space) {
  std::string list;
  for (const auto& name : names_of(space)) list += (list.empty() ? "" : ", ") + name;
  return list;
}

bool is_same(const Objective& own, const Objective& other) {
  const auto may_be_automatic = [](const Objective& objective) {
    return objective.kind == ObjectiveKind::report || objective.kind == ObjectiveKind::wall;
  };
  return (measures_same(own, other) && own.direction == other.direction) ||
         (own.kind == ObjectiveKind::automatic && may_be_automatic(other));
}

Result<StudyDefinition> compatible_definition(const StudyRow& study, const StudyDefinition& own) {
  if (study.state != StudyState::finished && !own.goes_on) {
    return invalid("it has not finished; `hocket tune --resume --study " + study.name +
                   "` goes on with it, and --from starts from what it measured");
  }
  auto definition = study_definition_from_json(study.definition);
  HOCKET_TRY(definition);
  if (names_of(definition->space) != names_of(own.space)) {
    return invalid("its parameters are " + list_of(definition->space) + ", this study's are " +
                   list_of(own.space));
  }
  return definition;
}

/// Returns what `study`, whose definition is compatible, gives to another one.
Result<Donor> read_donor(Store& store, const StudyRow& study, const StudyDefinition& definition,
                         const StudyDefinition& own) {
  const auto history = read_history(store, study.id);
  HOCKET_TRY(history);
  const Objective objective = resolved_objective(definition.objective, *history);
  if (!is_same(own.objective, objective)) {
    return invalid("its objective was " + to_text(objective) + ", this study's is " +
                   to_text(own.objective));
  }
  Donor donor{.study = study.name};
  for (const auto& trial : *history)
    donor.evaluations.push_back(
        evaluation_of(trial.params, trial.outcome, directions_of(definition)));
  donor = adapted_donor(donor, own.space);
  if (donor.evaluations.empty())
    return invalid("no setting that it measured lies within this study's parameters");
  return donor;
}

FoundDonor found(Donor donor, const TunedJob& other, const TunedJob& own, std::string caveat) {
  donor.distance = job_distance(other, own);
  if (!caveat.empty() && donor.evaluations.size() > kReplayedSettings)
    donor.evaluations.resize(kReplayedSettings);
  return {std::move(donor), printable(readable(job_differences(other, own)), kDifferenceLimitBytes),
          std::move(caveat)};
}

/// Returns which file of both studies' commands has another content in `own` than in `other`; empty
/// if there is none.
std::string changed_since(const StudyDefinition& other, const StudyDefinition& own) {
  for (const FileFingerprint& file : own.files) {
    const auto known = std::ranges::find(other.files, file.path, &FileFingerprint::path);
    if (known != other.files.end() && known->fingerprint != file.fingerprint)
      return file.path + " has changed since";
  }
  return {};
}

/// Returns the jobs of the store that can be read, by the ids of their studies.
Result<std::map<std::int64_t, TunedJob>> jobs_of(Store& store,
                                                 const std::vector<StudyRow>& studies) {
  UnreadRows unread;
  const auto topologies = store.topologies(&unread);
  HOCKET_TRY(topologies);
  const auto workloads = store.workloads("", &unread);
  HOCKET_TRY(workloads);
  std::map<std::int64_t, TunedJob> jobs;
  for (const auto& study : studies) {
    const auto has_id = [](std::optional<std::int64_t> id) {
      return [id](const auto& row) { return row.id == id; };
    };
    const auto topology_row = std::ranges::find_if(*topologies, has_id(study.topology_id));
    const auto workload_row = std::ranges::find_if(*workloads, has_id(study.workload_id));
    if (topology_row == topologies->end() || workload_row == workloads->end()) continue;
    auto topology = topology_from_json(topology_row->document);
    auto workload = workload_from_json(workload_row->document);
    const auto definition = study_definition_from_json(study.definition);
    if (!topology || !workload || !definition) continue;
    jobs.emplace(study.id, TunedJob{std::move(*topology),
                                    known_workload(std::move(*workload), study, *definition)});
  }
  return jobs;
}

/// Returns the job of a study. Requires that the study has a topology and a workload.
Result<TunedJob> job_of(Store& store, const StudyRow& study) {
  auto topology = topology_of(store, study);
  HOCKET_TRY(topology);
  auto workload = workload_of(store, study);
  HOCKET_TRY(workload);
  const auto definition = study_definition_from_json(study.definition);
  HOCKET_TRY(definition);
  return TunedJob{std::move(*topology), known_workload(std::move(*workload), study, *definition)};
}

Result<std::optional<FoundDonor>> wanted_donor(Store& store, const StudyDefinition& own,
                                               const TunedJob& job,
                                               const std::vector<std::string>& command) {
  if (!own.transfer) return std::nullopt;
  if (!own.transfer->empty()) return named_donor(store, *own.transfer, own, job, command);
  if (own.objective.kind == ObjectiveKind::automatic) return std::nullopt;
  return nearest_donor(store, own, job);
}

}  // namespace

Result<std::optional<FoundDonor>> nearest_donor(Store& store, const StudyDefinition& own,
                                                const TunedJob& job) {
  UnreadRows unread;
  const auto studies = store.studies(&unread);
  HOCKET_TRY(studies);
  const auto known = jobs_of(store, *studies);
  HOCKET_TRY(known);
  std::vector<std::pair<const StudyRow*, StudyDefinition>> candidates;
  std::vector<TunedJob> jobs;
  for (const auto& study : *studies) {
    const auto at = known->find(study.id);
    if (at == known->end()) continue;
    auto definition = compatible_definition(study, own);
    if (!definition) continue;
    candidates.emplace_back(&study, std::move(*definition));
    jobs.push_back(at->second);
  }
  for (const std::size_t place : nearest_first(job, jobs)) {
    if (job_distance(jobs[place], job) > kFarthestDonor) break;
    const auto& [study, definition] = candidates[place];
    auto donor = read_donor(store, *study, definition, own);
    if (donor) return found(std::move(*donor), jobs[place], job, changed_since(definition, own));
    if (donor.error().code != ErrorCode::invalid_argument) return failure(donor.error());
  }
  return std::nullopt;
}

Result<FoundDonor> named_donor(Store& store, const std::string& name, const StudyDefinition& own,
                               const TunedJob& job, const std::vector<std::string>& command) {
  const auto study = store.study(name);
  HOCKET_TRY(study);
  const auto within = "study " + study->name;
  const auto definition = compatible_definition(*study, own);
  if (!definition) return failure(definition.error().in(within));
  auto donor = read_donor(store, *study, *definition, own);
  if (!donor) return failure(donor.error().in(within));
  const auto other = job_of(store, *study);
  if (!other) return failure(other.error().in(within));
  std::string caveat = changed_since(*definition, own);
  if (caveat.empty() && own.goes_on && study->command != command)
    caveat = "its command is another one: " + shell_text(study->command);
  return found(std::move(*donor), *other, job, std::move(caveat));
}

Result<std::optional<FoundDonor>> take_donor(Store& store, std::int64_t study_id,
                                             const Trial& first) {
  const auto study = store.study(std::to_string(study_id));
  HOCKET_TRY(study);
  auto definition = study_definition_from_json(study->definition);
  HOCKET_TRY(definition);
  const auto job = job_of(store, *study);
  HOCKET_TRY(job);
  StudyDefinition own = *definition;
  own.objective = resolved_objective(own.objective, {first});
  auto found = wanted_donor(store, own, *job, study->command);
  if (!found || !*found) return found;
  definition->donor = (*found)->donor;
  HOCKET_TRY(store.update_study(
      study_id, {.definition = to_json(*definition), .expected_owner = study->owner}));
  return found;
}

}  // namespace hocket
