#include "store/config_source.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/bounded_call.h"
#include "store/open.h"
#include "store/origin.h"
#include "store/starting_version.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

using Found = Result<std::optional<StoredConfig>>;

Found look_up(const std::string& path, const ConfigKey& key, const RunnableValues& can_run,
              int busy_timeout_ms) {
  const auto store = open_store(path, {.read_only = true, .busy_timeout_ms = busy_timeout_ms});
  if (!store && store.error().code == ErrorCode::not_found) return std::nullopt;
  HOCKET_TRY(store);
  StoredConfig found;
  auto version = runnable_version(**store, key, can_run, found.warnings);
  if (!version) return failure(version.error().in("store " + shown_store(path)));
  if (!*version) {
    if (found.warnings.empty()) return std::nullopt;
    found.source = "default";
    found.origin = "the store has nothing that this job can run";
    return found;
  }
  const auto origin = origin_of(**store, (*version)->row);
  HOCKET_TRY(origin);
  // An empty one says that the key has no configuration any more.
  if ((*version)->row.config.empty()) found.source = "default";
  found.config = std::move((*version)->config);
  found.origin = *origin;
  return found;
}

class StoreConfigSource final : public ConfigSource {
 public:
  StoreConfigSource(std::string path, RunnableValues can_run)
      : path_(std::move(path)), can_run_(std::move(can_run)) {}

  // The lookup runs in its own thread: a wait for a lock can be bounded, but a read from a dead
  // network file system cannot. Such a thread is abandoned; it holds no resources of the process.
  Found find(const Topology& topology, const Workload& workload, std::int64_t timeout_ns) override {
    constexpr std::int64_t kMaxTimeoutNs = 3'600'000'000'000;
    const std::int64_t limit_ns = std::clamp<std::int64_t>(timeout_ns, 0, kMaxTimeoutNs);
    const int limit_ms = static_cast<int>(limit_ns / 1'000'000);
    return call_within(
        limit_ns, "store " + shown_store(path_),
        [path = path_, key = ConfigKey{fingerprint(topology), fingerprint(workload)},
         can_run = can_run_, limit_ms] { return look_up(path, key, can_run, limit_ms); });
  }

 private:
  const std::string path_;
  const RunnableValues can_run_;
};

}  // namespace

std::unique_ptr<ConfigSource> open_config_source(std::string path, RunnableValues can_run) {
  return std::make_unique<StoreConfigSource>(std::move(path), std::move(can_run));
}

}  // namespace hocket
