#pragma once

// `hocket serve` as a process, and a client for it. For one thread, except that each thread may
// have a DaemonClient.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/link/http_client.h"
#include "core/base/result.h"
#include "tests/fault/child.h"

namespace hocket {

class DaemonProcess {
 public:
  struct Options {
    std::string store;  ///< path of a file
    std::string log;    ///< path of a file
    std::uint16_t port = 0;
    std::vector<std::string> arguments = {"--no-tokens"};
    ChildOptions child = {};  ///< limits
  };
  /// Starts the daemon and waits until it listens.
  explicit DaemonProcess(Options options);

  /// Returns false if it did not start; the log contains the reason.
  bool listens() const { return port_ != 0; }
  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  pid_t pid() const { return child_->pid(); }
  Child& child() { return *child_; }

  /// Sends SIGKILL and waits for the end.
  void kill();
  /// Sends SIGTERM. Returns the exit status, -1 if it does not stop.
  int stop();

 private:
  std::unique_ptr<Child> child_;
  std::uint16_t port_ = 0;
};

/// Sends requests with JSON; each takes at most half a minute.
class DaemonClient {
 public:
  explicit DaemonClient(std::uint16_t port);

  Result<HttpResponse> send(const std::string& method, const std::string& target,
                            const nlohmann::json& body = nullptr);
  /// Returns the object of a 2xx response; otherwise an error.
  Result<nlohmann::json> ask(const std::string& method, const std::string& target,
                             const nlohmann::json& body = nullptr);

 private:
  HttpClient http_;
};

}  // namespace hocket
