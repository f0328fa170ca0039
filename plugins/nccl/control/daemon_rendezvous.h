#pragma once

// The rendezvous of several hosts, through the daemon that HOCKET_DAEMON names on each of them, by
// hocket's client library. Thread-safe.

#include <functional>
#include <mutex>

#include "plugins/nccl/control/client_library.h"
#include "plugins/nccl/transport/rendezvous.h"

namespace hocket::nccl {

class DaemonRendezvous final : public Rendezvous {
 public:
  /// Each kind of failure is reported once.
  explicit DaemonRendezvous(std::function<void(const std::string&)> say) : say_(std::move(say)) {}

  bool publish(const std::string& name, const std::string& text) override;
  std::optional<std::string> find(const std::string& name) override;

 private:
  const ClientLibrary* library();
  void say_once(const std::string& line);

  const std::function<void(const std::string&)> say_;
  std::mutex mutex_;  // guards the members below
  const ClientLibrary* library_ = nullptr;
  bool has_tried_ = false, has_said_ = false;
};

}  // namespace hocket::nccl
