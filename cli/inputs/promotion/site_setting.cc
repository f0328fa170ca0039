#include "cli/inputs/promotion/site_setting.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "archive/promotions/promotion_list.h"
#include "archive/promotions/shared_promotions.h"
#include "client/link/environment.h"
#include "client/start/site_configs.h"
#include "core/sharing/shared_configs.h"
#include "store/open.h"

namespace hocket {
namespace {

using Configs = std::vector<SharedConfig>;

Result<Configs> site_configs() {
  const auto path = site_configs_path(process_environment);
  if (!path) return Configs();
  const auto text = read_site_configs(*path);
  HOCKET_TRY(text);
  if (!*text) return Configs();
  auto shared = read_shared_configs(**text);
  if (!shared) return failure(shared.error().in(*path));
  return std::move(shared->configs);
}

Result<std::unique_ptr<Store>> store_of(const Configs& configs) {
  if (configs.empty()) return nullptr;
  auto store = open_store_in_memory();
  HOCKET_TRY(import_configs(*store, configs, "", /*is_dry_run=*/false));
  return store;
}

}  // namespace

Result<std::unique_ptr<Store>> site_store(Store* own) {
  auto configs = site_configs();
  HOCKET_TRY(configs);
  if (own == nullptr || configs->empty()) return store_of(*configs);
  const auto outcomes = import_configs(*own, *configs, "", /*is_dry_run=*/true);
  HOCKET_TRY(outcomes);
  Configs wanted;
  for (std::size_t i = 0; i < outcomes->size(); ++i) {
    if ((*outcomes)[i].action == ImportAction::imported) wanted.push_back(std::move((*configs)[i]));
  }
  return store_of(wanted);
}

Result<std::unique_ptr<Store>> site_store_beside(const nlohmann::json& listed) {
  auto configs = site_configs();
  HOCKET_TRY(configs);
  const ListedPromotions known = listed_promotions(listed);
  const auto has = [](const std::vector<PromotionCandidate>& list, const ConfigKey& key) {
    const auto found = std::ranges::find(list, key, &PromotionCandidate::key);
    return found != list.end() && found->version > 0;
  };
  std::erase_if(*configs, [&](const SharedConfig& config) {
    const ConfigKey key = key_of(config);
    return has(known.current, key) || has(known.others, key);
  });
  return store_of(*configs);
}

}  // namespace hocket
