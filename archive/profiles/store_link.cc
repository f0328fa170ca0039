#include "archive/profiles/store_link.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>

#include "client/link/newest_messages.h"
#include "store/open.h"

namespace hocket {
namespace {

constexpr int kBusyTimeoutMs = 500;

class StoreLink final : public DaemonLink {
 public:
  explicit StoreLink(StoreLinkOptions options) : options_(std::move(options)) {}

  /// Starts the thread; may throw.
  void start() {
    thread_ = options_.start_thread([this] { run(); });
  }

  ~StoreLink() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  DaemonStanding standing() const override { return {DaemonStanding::State::knows, ""}; }

  std::optional<DaemonMessage> take() override {
    const std::lock_guard lock(mutex_);
    return messages_.take();
  }

  void report(JobReport) override {}
  void update(const ScheduleConfig&, std::int64_t) override {}

 private:
  void run() {
    do {
      const auto looked = look();
      if (!looked) {
        store_.reset();
        seen_.reset();
        if (!std::exchange(is_away_, true))
          options_.warn(looked.error().message +
                        "; requests for profiles are not seen until it can be used");
      } else {
        is_away_ = false;
      }
    } while (pause());
  }

  /// Waits for the interval; returns false at once when the link ends.
  bool pause() {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, std::chrono::nanoseconds(options_.interval_ns),
                              [this] { return stopping_; });
  }

  Result<void> look() {
    if (!store_) {
      auto opened = options_.open();
      HOCKET_TRY(opened);
      store_ = std::move(*opened);
    }
    const auto count = store_->change_count();
    HOCKET_TRY(count);
    if (seen_ == *count) return {};
    for (;;) {
      const auto request =
          store_->take_profile_request(options_.job_id, options_.job_name, kMaxRequestAgeNs);
      HOCKET_TRY(request);
      if (!*request) break;
      pass_on(**request);
    }
    // Requests taken here change the store, so it is checked once more.
    seen_ = *count;
    return {};
  }

  void pass_on(const ProfileRequestRow& request) {
    if (request.iterations < 1 || request.iterations > kMaxProfiledIterations) {
      return options_.warn("profile request " + std::to_string(request.id) + " is for " +
                           std::to_string(request.iterations) + " iterations; a job records 1 to " +
                           std::to_string(kMaxProfiledIterations));
    }
    const std::lock_guard lock(mutex_);
    messages_.put(ProfileMessage{request.id, request.iterations});
  }

  const StoreLinkOptions options_;
  // Used only by thread_:
  std::unique_ptr<Store> store_;
  std::optional<std::int64_t> seen_;
  bool is_away_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  NewestMessages messages_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace

std::unique_ptr<DaemonLink> open_store_link(StoreLinkOptions options) {
  const auto warn = options.warn;
  auto link = std::make_unique<StoreLink>(std::move(options));
  try {
    link->start();
  } catch (const std::system_error& e) {
    warn(std::string("requests for profiles are not seen: cannot start a thread: ") + e.what());
    return nullptr;
  }
  return link;
}

Result<std::unique_ptr<Store>> open_for_requests(const std::string& path) {
  return open_store(path, {.busy_timeout_ms = kBusyTimeoutMs});
}

}  // namespace hocket
