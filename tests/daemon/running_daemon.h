#pragma once

// A complete daemon on loopback over a store, on its own thread for the lifetime of the object. For
// one thread.

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "daemon/daemon.h"
#include "tests/store/fixtures.h"

namespace hocket {

class RunningDaemon {
 public:
  /// `port` 0 selects a free one.
  explicit RunningDaemon(Store& store, std::uint16_t port = 0, ServedTracesOptions traces = {}) {
    DaemonOptions options;
    options.traces = std::move(traces);
    options.server.port = port;
    options.server.grace_ns = 100'000'000;
    options.log = Log({.level = LogLevel::error});
    daemon_ = must(Daemon::create(std::move(options), store, clock_));
    thread_ = std::thread([this] { daemon_->run(); });
  }
  ~RunningDaemon() {
    daemon_->server().stop();
    thread_.join();
  }

  std::uint16_t port() const { return daemon_->server().port(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }

 private:
  const SteadyClock clock_;
  std::unique_ptr<Daemon> daemon_;
  std::thread thread_;
};

}  // namespace hocket
