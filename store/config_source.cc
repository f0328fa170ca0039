#include "store/config_source.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "store/open.h"

namespace hocket {
namespace {

using Found = Result<std::optional<StoredConfig>>;

/// "2026-11-21", in UTC.
std::string date_text(std::int64_t unix_ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(unix_ns)};
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(time)};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

Found look_up(const std::string& path, const std::string& topology_fingerprint,
              const std::string& workload_fingerprint, int busy_timeout_ms) {
  const auto store = open_store(path, {.read_only = true, .busy_timeout_ms = busy_timeout_ms});
  if (!store && store.error().code == ErrorCode::not_found) return std::nullopt;
  if (!store) return failure(store.error());
  const auto promotion = (*store)->current_promotion(topology_fingerprint, workload_fingerprint);
  if (!promotion) return failure(promotion.error());
  if (!*promotion) return std::nullopt;
  const auto study = (*store)->study(std::to_string((*promotion)->study_id));
  if (!study) return failure(study.error());
  auto config = schedule_config_from_json((*promotion)->config);
  if (!config) {
    return failure(
        config.error().in("store " + path + ", configuration promoted by study " + study->name));
  }
  return StoredConfig{std::move(*config),
                      "study " + study->name + ", " + date_text((*promotion)->promoted_at_ns)};
}

class StoreConfigSource final : public ConfigSource {
 public:
  explicit StoreConfigSource(std::string path) : path_(std::move(path)) {}

  // In a thread of its own: waiting for a lock can be bounded, a read from a dead network file
  // system cannot. Such a thread is left behind; it holds nothing of ours.
  Found find(const Topology& topology, const Workload& workload, std::int64_t timeout_ns) override {
    constexpr std::int64_t kMaxTimeoutNs = 3'600'000'000'000;
    const std::int64_t limit_ns = std::clamp<std::int64_t>(timeout_ns, 0, kMaxTimeoutNs);
    const int limit_ms = static_cast<int>(limit_ns / 1'000'000);
    std::packaged_task<Found()> task(
        [path = path_, topology_key = fingerprint(topology), workload_key = fingerprint(workload),
         limit_ms] { return look_up(path, topology_key, workload_key, limit_ms); });
    auto answer = task.get_future();
    try {
      std::thread(std::move(task)).detach();
    } catch (const std::system_error& e) {
      return failure(ErrorCode::unavailable,
                     "store " + path_ + ": cannot start a thread to read it: " + e.what());
    }
    if (answer.wait_for(std::chrono::nanoseconds(limit_ns)) != std::future_status::ready) {
      return failure(ErrorCode::timed_out, "store " + path_ + " did not answer within " +
                                               std::to_string(limit_ms) + " ms");
    }
    return answer.get();
  }

 private:
  const std::string path_;
};

}  // namespace

std::unique_ptr<ConfigSource> open_config_source(std::string path) {
  return std::make_unique<StoreConfigSource>(std::move(path));
}

}  // namespace hocket
