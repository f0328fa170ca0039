#include "daemon/retention/store_keeper.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace hocket {

StoreKeeper::StoreKeeper(StoreKeeperParts parts) : parts_(std::move(parts)) {}

void StoreKeeper::start() {
  if (parts_.policy.keeps_everything() && !parts_.traces) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void StoreKeeper::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    run_due(stop);
    stopped.wait_for(lock, stop, std::chrono::minutes(1), [] { return false; });
  }
}

void StoreKeeper::run_due(const std::stop_token& stop) {
  const std::int64_t now_ns = parts_.clock.now_ns();
  if (has_run_ && now_ns < due_ns_) return;
  has_run_ = true;
  due_ns_ = now_ns + kIntervalNs;
  parts_.errors.contain(ErrorOrigin::retention, {}, [&] {
    const auto done = remove(stop);
    if (done) return;
    due_ns_ = now_ns + kRetryNs;
    parts_.log.write(LogLevel::warning, "what has expired could not be removed",
                     {{"error", done.error().message}});
  });
}

Result<void> StoreKeeper::remove(const std::stop_token& stop) {
  const auto served_bytes = [&](const TraceUrl& url) {
    return parts_.traces ? parts_.traces->bytes_of(url) : 0;
  };
  const auto rows = retention_rows(parts_.store, parts_.policy, served_bytes);
  HOCKET_TRY(rows);
  const auto decision = what_to_remove(parts_.policy, *rows, parts_.now_unix_ns());
  const RetentionRemoval removal =
      remove_expired(parts_.store, parts_.store_path, decision, kDaemonOwner, stop);
  report(removal);
  if (removal.error) return failure(*removal.error);
  return parts_.traces ? sweep_traces() : Result<void>();
}

Result<void> StoreKeeper::sweep_traces() {
  const auto rows = parts_.store.profiles();
  HOCKET_TRY(rows);
  const auto swept = parts_.traces->sweep(*rows, parts_.now_unix_ns());
  HOCKET_TRY(swept);
  if (swept->sets > 0) {
    parts_.log.write(LogLevel::info, "removed served traces of profiles that are gone",
                     {{"profiles", swept->sets}, {"freed_bytes", swept->bytes}});
  }
  return {};
}

void StoreKeeper::report(const RetentionRemoval& removal) {
  const auto studies = removal.studies.size(), profiles = removal.profiles.removed.size();
  studies_ += studies;
  audit_entries_ += static_cast<std::uint64_t>(removal.audit_entries);
  profiles_ += profiles;
  if (studies + profiles > 0 || removal.audit_entries > 0) {
    parts_.log.write(LogLevel::info, "removed what has expired",
                     {{"studies", static_cast<std::int64_t>(studies)},
                      {"audit_entries", removal.audit_entries},
                      {"profiles", static_cast<std::int64_t>(profiles)},
                      {"freed_bytes", removal.profiles.freed_bytes}});
  }
  for (const auto* notes : {&removal.notes, &removal.profiles.notes}) {
    for (const std::string& note : *notes) {
      parts_.log.write(LogLevel::warning, "something stays", {{"reason", note}});
    }
  }
}

StoreKeeper::Counts StoreKeeper::counts() const {
  return {studies_.load(), audit_entries_.load(), profiles_.load()};
}

}  // namespace hocket
