#pragma once

// How verbs speak to a daemon. One thread.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/client/link/http_client.h"

namespace CLI {
class App;
}

namespace hocket {

/// The options that name a daemon.
struct DaemonChoice {
  std::string address;  ///< empty: HOCKET_DAEMON, else kDefaultDaemon
};

inline constexpr const char* kDefaultDaemon = "http://127.0.0.1:7077";

void add_daemon_option(CLI::App& verb, DaemonChoice& options);

/// Whom the options and the environment name. Nothing is sent yet.
Result<DaemonAccess> daemon_access(const DaemonChoice& options);

/// Sends a request and reads the object that answers it, within ten seconds.
Result<nlohmann::json> ask_daemon(HttpClient& client, const std::string& method,
                                  const std::string& target);
Result<nlohmann::json> ask_daemon(HttpClient& client, const std::string& method,
                                  const std::string& target, const nlohmann::json& body);

/// `text` with what a path or a query may not hold escaped.
std::string url_encoded(const std::string& text);

/// The daemon's key that `selector` names: a key; or of those with a version or a running job, the
/// beginning of one, or the name of a workload that has one only. The error lists what there is.
Result<std::string> find_key(HttpClient& client, const std::string& selector);

/// "0d5f2a1c.3c9e77b0" of a key, for tables; find_key() takes the part before the dot.
std::string short_key(const std::string& key);

/// Members of a document from the daemon, which may be of another version: what is missing or of
/// another type reads as empty or 0.
std::string text_member(const nlohmann::json& object, const char* name);
std::int64_t integer_member(const nlohmann::json& object, const char* name);
double number_member(const nlohmann::json& object, const char* name);
bool flag_member(const nlohmann::json& object, const char* name);
/// Empty unless it is an array.
std::vector<nlohmann::json> list_member(const nlohmann::json& object, const char* name);

}  // namespace hocket
