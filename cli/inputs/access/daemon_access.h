#pragma once

// Requests from verbs to a daemon. One thread.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "client/link/http_client.h"
#include "core/base/result.h"

namespace CLI {
class App;
}

namespace hocket {

/// Options that select a daemon.
struct DaemonChoice {
  std::string address;             ///< empty: HOCKET_DAEMON, otherwise kDefaultDaemon
  bool allow_plain_token = false;  ///< also if HOCKET_ALLOW_PLAIN_TOKEN is 1
};

inline constexpr const char* kDefaultDaemon = "http://127.0.0.1:7077";

void add_daemon_option(CLI::App& verb, DaemonChoice& options);
void add_plain_token_option(CLI::App& verb, DaemonChoice& options);

/// Returns whether to ask a daemon. Command-line options take precedence over the environment.
bool asks_daemon(const DaemonChoice& daemon, const std::string& store_option);

/// Returns the daemon selected by the options and the environment. Sends nothing.
Result<DaemonAccess> daemon_access(const DaemonChoice& options);

/// Sends a request and reads the object that answers it, within ten seconds.
Result<nlohmann::json> ask_daemon(HttpClient& client, const std::string& method,
                                  const std::string& target);
Result<nlohmann::json> ask_daemon(HttpClient& client, const std::string& method,
                                  const std::string& target, const nlohmann::json& body);

/// Returns whether the daemon answers within two seconds.
bool answers(HttpClient& client);

/// Returns `text` with the characters escaped that a path or query must not contain.
std::string url_encoded(const std::string& text);

}  // namespace hocket
