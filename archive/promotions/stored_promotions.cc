#include "archive/promotions/stored_promotions.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/promotions/rollback.h"

namespace hocket {
namespace {

template <class Row>
const Row* find_row(const std::vector<Row>& rows, std::int64_t id) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.id == id; });
  return row == rows.end() ? nullptr : &*row;
}

bool is_released(const PromotionRow& version) {
  return version.stage == PromotionStage::released;
}

}  // namespace

Result<std::vector<PromotedVersions>> latest_promotions(Store& store) {
  UnreadRows unread;
  const auto topologies = store.topologies(&unread);
  HOCKET_TRY(topologies);
  const auto workloads = store.workloads("", &unread);
  HOCKET_TRY(workloads);
  const auto promotions = store.promotions({});
  HOCKET_TRY(promotions);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<PromotionRow>> by_key;
  for (const auto& row : *promotions) by_key[{row.topology_id, row.workload_id}].push_back(row);

  std::vector<PromotedVersions> found;
  for (const auto& [ids, versions] : by_key) {
    const auto* topology = find_row(*topologies, ids.first);
    const auto* workload = find_row(*workloads, ids.second);
    // Another process has promoted it since the lists were read.
    if (!topology || !workload) continue;
    const auto description = topology_from_json(topology->document);
    if (!description) continue;  // no host has a topology that cannot be read
    // The newest versions are last.
    auto current = std::find_if(versions.rbegin(), versions.rend(), is_released);
    if (current == versions.rend()) current = versions.rbegin();
    found.push_back({*current,
                     {current.base(), versions.end()},
                     *workload,
                     topology->fingerprint,
                     *description});
  }
  return found;
}

Result<std::vector<PromotedVersions>> current_promotions(Store& store) {
  auto found = latest_promotions(store);
  if (!found) return found;
  std::erase_if(*found, [](const auto& each) {
    return !is_released(each.promotion) || is_default(each.promotion);
  });
  return found;
}

std::string program_of(const WorkloadRow& workload) {
  const auto program = workload.document.find("program");
  return program != workload.document.end() && program->is_string() ? program->get<std::string>()
                                                                    : std::string();
}

std::string traits_of(const WorkloadRow& workload) {
  const auto described = workload_from_json(workload.document);
  return described ? traits_text(*described) : std::string();
}

std::size_t tensor_count(const WorkloadRow& workload) {
  const auto tensors = workload.document.find("tensors");
  return tensors != workload.document.end() && tensors->is_array() ? tensors->size() : 0;
}

PromotionCandidate candidate_of(const PromotedVersions& promoted) {
  return {.key = {promoted.topology_fingerprint, promoted.workload.fingerprint},
          .version = promoted.promotion.id,
          .workload = promoted.workload.name,
          .program = program_of(promoted.workload),
          .traits = traits_of(promoted.workload),
          .has_tensors = tensor_count(promoted.workload) > 0,
          .place = readable_name(promoted.topology),
          .topology = promoted.topology};
}

std::vector<PromotionCandidate> candidates_of(const std::vector<PromotedVersions>& promoted) {
  std::vector<PromotionCandidate> candidates;
  candidates.reserve(promoted.size());
  for (const auto& each : promoted) candidates.push_back(candidate_of(each));
  return candidates;
}

}  // namespace hocket
