#include "store/postgres/notifications.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/json.h"

namespace hocket::postgres {
namespace {

// Short, since what daemons serve waits for it; a refused connection costs little.
constexpr int kFirstPauseMs = 100, kLongestPauseMs = 500;

Result<std::unique_ptr<Session>> connect_and_listen(const Target& target) {
  auto session = Session::connect(target);
  HOCKET_TRY(session);
  const auto channel =
      (*session)->execute("SELECT 'hocket_' || to_hex(hashtextextended(current_schema(), 0))");
  HOCKET_TRY(channel);
  HOCKET_TRY((*session)->execute("LISTEN " + (*session)->text(*channel)));
  return session;
}

class NotificationListener final : public ChangeListener {
 public:
  NotificationListener(const Target& target, OnKeyChange on_change,
                       std::unique_ptr<Session> session)
      : target_(target), on_change_(std::move(on_change)), session_(std::move(session)) {}

  ~NotificationListener() override {
    is_stopping_ = true;
    const std::uint64_t one = 1;
    (void)!::write(stop_, &one, sizeof one);
    if (thread_.joinable()) thread_.join();
    ::close(stop_);
  }

  Result<void> start() {
    if (stop_ < 0) return failure(ErrorCode::unavailable, "no descriptor for a listener is left");
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& e) {
      return failure(ErrorCode::unavailable,
                     std::string("cannot start the listener's thread: ") + e.what());
    }
    return {};
  }

 private:
  void run() {
    int pause_ms = kFirstPauseMs;
    while (!is_stopping_) {
      if (!session_) {
        auto session = connect_and_listen(target_);
        if (!session) {
          wait(-1, pause_ms);
          pause_ms = std::min(2 * pause_ms, kLongestPauseMs);
          continue;
        }
        session_ = std::move(*session);
        pause_ms = kFirstPauseMs;
        on_change_(std::nullopt);
      }
      if (!tell_all()) {
        session_.reset();
        continue;
      }
      wait(session_->socket(), -1);
    }
  }

  /// Passes on what has been received. Returns false if the connection is lost.
  bool tell_all() {
    const bool is_connected = session_->consume_input();
    while (const auto payload = session_->next_notification()) {
      if (is_stopping_) return is_connected;
      on_change_(change_of(*payload));
    }
    return is_connected;
  }

  /// Waits for the socket, for the end, or for a time.
  void wait(int socket, int timeout_ms) const {
    pollfd ready[] = {{stop_, POLLIN, 0}, {socket, POLLIN, 0}};
    (void)::poll(ready, socket < 0 ? 1 : 2, timeout_ms);
  }

  const Target target_;
  const OnKeyChange on_change_;
  const int stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::atomic<bool> is_stopping_ = false;
  std::unique_ptr<Session> session_;  // the thread's
  std::thread thread_;
};

}  // namespace

std::string payload_of(const KeyChange& change) {
  nlohmann::json payload = {{"topology", change.key.topology}, {"workload", change.key.workload}};
  if (change.version) payload["version"] = *change.version;
  if (change.stage) payload["stage"] = to_string(*change.stage);
  return payload.dump();
}

std::optional<KeyChange> change_of(std::string_view payload) {
  const auto document = nlohmann::json::parse(payload, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return std::nullopt;
  const auto text_of = [&](const char* name) -> std::optional<std::string> {
    const auto found = document.find(name);
    if (found == document.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
  };
  const auto topology = text_of("topology"), workload = text_of("workload");
  if (!topology || !workload) return std::nullopt;
  KeyChange change{.key = {*topology, *workload}};
  if (const auto version = document.find("version");
      version != document.end() && version->is_number_integer()) {
    change.version = version->get<std::int64_t>();
  }
  if (const auto stage = text_of("stage")) {
    const auto parsed = parse_promotion_stage(*stage);
    if (!parsed) return std::nullopt;
    change.stage = *parsed;
  }
  return change;
}

Result<std::unique_ptr<ChangeListener>> listen_for_changes(const Target& target,
                                                           OnKeyChange on_change) {
  auto session = connect_and_listen(target);
  HOCKET_TRY(session);
  auto listener =
      std::make_unique<NotificationListener>(target, std::move(on_change), std::move(*session));
  HOCKET_TRY(listener->start());
  return listener;
}

}  // namespace hocket::postgres
