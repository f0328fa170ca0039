#include "cli/inputs/promotion/daemon_promotion.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/access/daemon_answer.h"
#include "core/base/text.h"
#include "core/host/topology_probe.h"

namespace hocket {
namespace {

constexpr std::size_t kDaemonPromotionNameLimitBytes = 200;

/// Returns the end of the names of topologies on this kind of host: ", 2 cores MODEL, 8 GiB".
std::string hardware_part(Topology host) {
  host.world_size = 1;
  host.link = "";
  return readable_name(host).substr(std::string_view("1 rank, ").size());
}

bool is_workload(const DaemonPromotion& promotion, const std::string& selector) {
  if (selector.empty()) return false;
  return promotion.workload == selector || promotion.program == selector ||
         promotion.key.workload.starts_with(selector);
}

bool has_link(const std::string& name, const std::string& link) {
  const auto begin = name.find(", ");
  if (begin == std::string::npos) return false;
  const std::string_view rest = std::string_view(name).substr(begin + 2);
  // A job with parameter servers says so in another part of the same name.
  const auto is = [&](const std::string& own) {
    return rest.starts_with(own + ", ") && !rest.starts_with(own + ", parameter servers");
  };
  return is(link) || is("emulated " + link);
}

bool matches(const DaemonPromotion& promotion, const PromotionChoice& choice,
             const Topology& host) {
  if (promotion.version == 0 || !is_workload(promotion, choice.workload)) return false;
  const std::string& name = promotion.topology;
  if (choice.world_size && !name.starts_with(std::to_string(*choice.world_size) + " rank")) {
    return false;
  }
  if (!choice.link.empty() && !has_link(name, choice.link)) return false;
  if (!choice.topology.empty()) return promotion.key.topology.starts_with(choice.topology);
  return name.ends_with(hardware_part(host));
}

std::string listed(const std::vector<DaemonPromotion>& promotions) {
  std::string list;
  for (const auto& each : promotions) {
    list += (list.empty() ? "" : "; ") + std::string("--workload ") +
            each.key.workload.substr(0, 8) + " --topology " + each.key.topology.substr(0, 8) +
            " is " + printable(each.workload, kDaemonPromotionNameLimitBytes) + " on " +
            printable(each.topology, kDaemonPromotionNameLimitBytes) +
            (each.version ? "" : ", with no version");
  }
  return list;
}

}  // namespace

std::vector<DaemonPromotion> promotions_of(const nlohmann::json& answer) {
  std::vector<DaemonPromotion> promotions;
  for (const auto& item : list_member(answer, "configs")) {
    auto key = parse_config_key(text_member(item, "key"));
    if (!key) continue;
    promotions.push_back({std::move(*key), text_member(item, "workload"),
                          text_member(item, "topology"), integer_member(item, "version"),
                          text_member(item, "program")});
  }
  return promotions;
}

Result<DaemonPromotion> choose(const std::vector<DaemonPromotion>& promotions,
                               const PromotionChoice& choice, const Topology& host) {
  std::vector<DaemonPromotion> found;
  std::ranges::copy_if(promotions, std::back_inserter(found),
                       [&](const auto& each) { return matches(each, choice, host); });
  const auto newest = std::ranges::max_element(found, {}, &DaemonPromotion::version);
  const auto is_variant = [&](const DaemonPromotion& each) {
    return found.size() == 1 || (!each.program.empty() && each.program == newest->program &&
                                 each.key.topology == newest->key.topology);
  };
  if (!found.empty() && std::ranges::all_of(found, is_variant)) return std::move(*newest);
  if (found.empty()) {
    const std::string others =
        promotions.empty() ? "; the daemon knows none yet" : "; there are: " + listed(promotions);
    return failure(ErrorCode::not_found, "the daemon has no configuration for workload " +
                                             shell_quoted(choice.workload) + " that fits" + others);
  }
  return failure(ErrorCode::invalid_argument,
                 std::to_string(found.size()) +
                     " configurations match; choose one with --world-size, --link, --topology or "
                     "a fingerprint for --workload: " +
                     listed(found));
}

Result<DaemonVersion> ask_for_version(const DaemonChoice& daemon, const PromotionChoice& choice) {
  auto access = daemon_access(daemon);
  HOCKET_TRY(access);
  const auto host = probe_topology();
  HOCKET_TRY(host);
  HttpClient client(std::move(*access));
  const auto all = ask_daemon(client, "GET", "/v1/configs");
  HOCKET_TRY(all);
  auto chosen = choose(promotions_of(*all), choice, *host);
  HOCKET_TRY(chosen);
  auto answer = ask_daemon(client, "GET", "/v1/configs/" + to_string(chosen->key));
  HOCKET_TRY(answer);
  return DaemonVersion{std::move(*chosen), std::move(*answer)};
}

}  // namespace hocket
