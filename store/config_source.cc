#include "store/config_source.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/bounded_call.h"
#include "store/open.h"
#include "store/origin.h"

namespace hocket {
namespace {

using Found = Result<std::optional<StoredConfig>>;

Found look_up(const std::string& path, const std::string& topology_fingerprint,
              const std::string& workload_fingerprint, int busy_timeout_ms) {
  const auto store = open_store(path, {.read_only = true, .busy_timeout_ms = busy_timeout_ms});
  if (!store && store.error().code == ErrorCode::not_found) return std::nullopt;
  HOCKET_TRY(store);
  const auto promotion = (*store)->current_promotion(topology_fingerprint, workload_fingerprint);
  HOCKET_TRY(promotion);
  if (!*promotion) return std::nullopt;
  const auto origin = origin_of(**store, **promotion);
  HOCKET_TRY(origin);
  // An empty one says that the key has no configuration any more.
  if ((*promotion)->config.empty()) return StoredConfig{ScheduleConfig{}, *origin, "default"};
  auto config = schedule_config_from_json((*promotion)->config);
  if (!config) return failure(config.error().in("store " + path + ", " + *origin));
  return StoredConfig{std::move(*config), *origin};
}

class StoreConfigSource final : public ConfigSource {
 public:
  explicit StoreConfigSource(std::string path) : path_(std::move(path)) {}

  // The lookup runs in its own thread: a wait for a lock can be bounded, but a read from a dead
  // network file system cannot. Such a thread is abandoned; it holds no resources of the process.
  Found find(const Topology& topology, const Workload& workload, std::int64_t timeout_ns) override {
    constexpr std::int64_t kMaxTimeoutNs = 3'600'000'000'000;
    const std::int64_t limit_ns = std::clamp<std::int64_t>(timeout_ns, 0, kMaxTimeoutNs);
    const int limit_ms = static_cast<int>(limit_ns / 1'000'000);
    return call_within(
        limit_ns, "store " + path_,
        [path = path_, topology_key = fingerprint(topology), workload_key = fingerprint(workload),
         limit_ms] { return look_up(path, topology_key, workload_key, limit_ms); });
  }

 private:
  const std::string path_;
};

}  // namespace

std::unique_ptr<ConfigSource> open_config_source(std::string path) {
  return std::make_unique<StoreConfigSource>(std::move(path));
}

}  // namespace hocket
