#pragma once

// `hocket serve` as a process, and a client of it. A test that needs no store of its own gives a
// folder. For one thread, except DaemonClient: one a thread.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tests/fault/child.h"
#include "tuner/client/link/http_client.h"

namespace hocket {

class DaemonProcess {
 public:
  struct Options {
    std::string store;  ///< the file
    std::string log;    ///< a file
    std::uint16_t port = 0;
    std::vector<std::string> arguments = {};
    ChildOptions child = {};  ///< limits
  };
  /// Waits until it listens.
  explicit DaemonProcess(Options options);

  /// False when it did not start; the log says why.
  bool listens() const { return port_ != 0; }
  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  pid_t pid() const { return child_->pid(); }
  Child& child() { return *child_; }

  /// SIGKILL, and waits for the end.
  void kill();
  /// SIGTERM; its exit status, -1 when it does not stop.
  int stop();

 private:
  std::unique_ptr<Child> child_;
  std::uint16_t port_ = 0;
};

/// Requests with JSON, each for half a minute at most.
class DaemonClient {
 public:
  explicit DaemonClient(std::uint16_t port);

  Result<HttpResponse> send(const std::string& method, const std::string& target,
                            const nlohmann::json& body = nullptr);
  /// The object in an answer of 2xx; else an error.
  Result<nlohmann::json> ask(const std::string& method, const std::string& target,
                             const nlohmann::json& body = nullptr);

 private:
  HttpClient http_;
};

}  // namespace hocket
