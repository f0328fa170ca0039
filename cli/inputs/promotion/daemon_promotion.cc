#include "cli/inputs/promotion/daemon_promotion.h"

#include <utility>

#include "archive/promotions/promotion_list.h"
#include "cli/inputs/access/daemon_access.h"
#include "core/base/json_members.h"
#include "core/base/text.h"
#include "core/host/topology_probe.h"

namespace hocket {
namespace {

constexpr std::size_t kDaemonPromotionNameLimitBytes = 200;

std::string shown_name(const std::string& name) {
  return printable(name, kDaemonPromotionNameLimitBytes);
}

/// Returns the key that `choice` selects among those without a configuration, or `none` if there is
/// none with a version to show.
Result<PromotionCandidate> choose_other(const ListedPromotions& listed,
                                        const PromotionChoice& choice, const Topology& host,
                                        const Error& none) {
  if (none.code != ErrorCode::not_found) return failure(none);
  const auto chosen = choose_promotion(listed.others, choice, host);
  if (!chosen) return failure(none);
  const PromotionCandidate& other = listed.others[*chosen];
  if (other.version > 0) return other;
  return failure(ErrorCode::not_found, "no version is released for " + shown_name(other.workload) +
                                           " on " + shown_name(other.place));
}

Result<PromotionCandidate> choose_listed(const ListedPromotions& listed,
                                         const PromotionChoice& choice, const Topology& host) {
  const auto chosen = choose_promotion(listed.current, choice, host);
  if (!chosen) return choose_other(listed, choice, host, chosen.error());
  return listed.current[*chosen];
}

}  // namespace

Result<DaemonVersion> ask_for_version(const DaemonChoice& daemon, const PromotionChoice& choice) {
  auto access = daemon_access(daemon);
  HOCKET_TRY(access);
  const auto host = probe_topology();
  HOCKET_TRY(host);
  HttpClient client(std::move(*access));
  const auto all = ask_daemon(client, "GET", "/v1/configs");
  HOCKET_TRY(all);
  auto chosen = choose_listed(listed_promotions(*all), choice, *host);
  if (!chosen) return failure(chosen.error().in(client.name()));
  auto answer = ask_daemon(client, "GET", "/v1/configs/" + to_string(chosen->key));
  HOCKET_TRY(answer);
  return DaemonVersion{std::move(*chosen), std::move(*answer)};
}

Result<nlohmann::json> listed_configs(const DaemonChoice& daemon) {
  auto access = daemon_access(daemon);
  HOCKET_TRY(access);
  HttpClient client(std::move(*access));
  return ask_daemon(client, "GET", "/v1/configs");
}

}  // namespace hocket
