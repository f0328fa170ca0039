#include "archive/promotions/program_promotion.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "archive/promotions/rollback.h"
#include "archive/studies/plain_job.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

/// Returns the version with its job, or nothing if that cannot be read any more.
Result<std::optional<PromotedVersions>> with_job(Store& store, const PromotionRow& row) {
  UnreadRows unread;
  const auto topologies = store.topologies(&unread);
  HOCKET_TRY(topologies);
  const auto workloads = store.workloads("", &unread);
  HOCKET_TRY(workloads);
  const auto topology = std::ranges::find(*topologies, row.topology_id, &TopologyRow::id);
  const auto workload = std::ranges::find(*workloads, row.workload_id, &WorkloadRow::id);
  if (topology == topologies->end() || workload == workloads->end()) return std::nullopt;
  auto description = topology_from_json(topology->document);
  if (!description) return std::nullopt;
  return PromotedVersions{row, {}, *workload, topology->fingerprint, std::move(*description)};
}

/// Returns a released version of an earlier hocket with the workload that its study's command says,
/// or nothing if it is not such a version.
Result<std::optional<PromotedVersions>> early_promotion(Store& store, const PromotionRow& row) {
  if (!row.study_id) return std::nullopt;
  auto promoted = with_job(store, row);
  if (!promoted || !*promoted) return promoted;
  const auto stored = workload_from_json((*promoted)->workload.document);
  const auto study = store.study(std::to_string(*row.study_id));
  HOCKET_TRY(study);
  const auto definition = study_definition_from_json(study->definition);
  if (!stored || !definition) return std::nullopt;
  const Workload known = known_workload(*stored, *study, *definition);
  if (known == *stored) return std::nullopt;
  (*promoted)->workload.name = known.name;
  (*promoted)->workload.document = to_json(known);
  return promoted;
}

}  // namespace

Result<std::vector<PromotedVersions>> promotions_of_program(Store& store,
                                                            std::span<const std::string> command,
                                                            const std::string& working_directory,
                                                            const Topology* host) {
  // A key that is back at its default hides what earlier versions kept for the same program.
  auto candidates = latest_promotions(store);
  HOCKET_TRY(candidates);
  std::erase_if(*candidates, [](const PromotedVersions& each) {
    return each.promotion.stage != PromotionStage::released;
  });
  const auto released = store.promotions({.stage = PromotionStage::released});
  HOCKET_TRY(released);
  std::set<std::pair<std::int64_t, std::int64_t>> at_default;
  for (auto row = released->rbegin(); row != released->rend(); ++row) {
    const std::pair key{row->topology_id, row->workload_id};
    if (is_default(*row)) at_default.insert(key);
    if (at_default.contains(key)) continue;
    auto early = early_promotion(store, *row);
    HOCKET_TRY(early);
    if (*early) candidates->push_back(std::move(**early));
  }
  const std::string program = program_of(command, working_directory);
  std::erase_if(*candidates, [&](const PromotedVersions& each) {
    return program_of(each.workload) != program ||
           (host != nullptr && !same_hardware(each.topology, *host));
  });
  std::ranges::sort(*candidates, std::ranges::greater(),
                    [](const PromotedVersions& each) { return each.promotion.id; });
  std::vector<PromotedVersions> found;
  for (auto& each : *candidates) {
    const auto is_same = [&](const PromotedVersions& newer) {
      return newer.workload.document == each.workload.document &&
             newer.topology_fingerprint == each.topology_fingerprint;
    };
    if (std::ranges::none_of(found, is_same)) found.push_back(std::move(each));
  }
  std::erase_if(found, [](const PromotedVersions& each) { return is_default(each.promotion); });
  return found;
}

Result<PromotedVersions> promotion_of_study(Store& store, const std::string& name) {
  const auto study = store.study(name);
  HOCKET_TRY(study);
  const auto versions = store.promotions({.study_id = study->id});
  HOCKET_TRY(versions);
  for (auto row = versions->rbegin(); row != versions->rend(); ++row) {
    if (row->stage != PromotionStage::released || is_default(*row)) continue;
    auto promoted = with_job(store, *row);
    HOCKET_TRY(promoted);
    if (*promoted) return std::move(**promoted);
  }
  return failure(ErrorCode::not_found, "study " + study->name +
                                           " has promoted nothing that is released; `hocket best " +
                                           study->name + "` shows what came of it");
}

}  // namespace hocket
