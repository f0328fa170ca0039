#include "archive/promotions/promotion_list.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "archive/promotions/stored_promotions.h"
#include "core/base/json_members.h"
#include "core/base/text.h"
#include "core/protocol/config_key.h"
#include "core/protocol/topology.h"

namespace hocket {
namespace {

constexpr std::size_t kTopologyErrorLimitBytes = 100;

void read_topology_of(const nlohmann::json& item, PromotionCandidate& candidate) {
  const auto document = item.find("topology_document");
  if (document == item.end()) {
    candidate.why_unknown =
        "the daemon is older than this hocket and does not say on which hardware its "
        "configurations were found: update the daemon";
    return;
  }
  auto topology = topology_from_json(*document);
  if (topology) {
    candidate.topology = std::move(*topology);
    return;
  }
  candidate.why_unknown = "the daemon describes topology " + candidate.key.topology.substr(0, 8) +
                          " in a way that this hocket cannot read (" +
                          printable(topology.error().message, kTopologyErrorLimitBytes) +
                          "): use a hocket of the daemon's version";
}

}  // namespace

nlohmann::json to_json(const KeyRow& key, const TopologyRow& topology,
                       const WorkloadRow& workload) {
  nlohmann::json item = {{"key", to_string(key.key)},
                         {"topology", key.topology_name},
                         {"topology_document", topology.document},
                         {"workload", key.workload_name},
                         {"tensors", tensor_count(workload)},
                         {"pinned", key.state.pinned},
                         {"frozen", key.state.frozen},
                         {"at_default", key.is_at_default}};
  if (key.current_id) item["version"] = *key.current_id;
  if (auto program = program_of(workload); !program.empty()) item["program"] = std::move(program);
  if (auto traits = traits_of(workload); !traits.empty()) item["traits"] = std::move(traits);
  return item;
}

ListedPromotions listed_promotions(const nlohmann::json& answer) {
  ListedPromotions listed;
  for (const auto& item : list_member(answer, "configs")) {
    auto key = parse_config_key(text_member(item, "key"));
    if (!key) continue;
    PromotionCandidate candidate{.key = std::move(*key),
                                 .version = integer_member(item, "version"),
                                 .workload = text_member(item, "workload"),
                                 .program = text_member(item, "program"),
                                 .traits = text_member(item, "traits"),
                                 .place = text_member(item, "topology")};
    // An older daemon says it only of a command that has no name of its own.
    candidate.has_tensors =
        item.contains("tensors") ? integer_member(item, "tensors") != 0 : candidate.program.empty();
    read_topology_of(item, candidate);
    const bool is_current = candidate.version > 0 && !flag_member(item, "at_default");
    (is_current ? listed.current : listed.others).push_back(std::move(candidate));
  }
  return listed;
}

}  // namespace hocket
