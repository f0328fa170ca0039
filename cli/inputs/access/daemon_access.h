#pragma once

// Requests from verbs to a daemon. One thread.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

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

/// Returns `text` with the characters escaped that a path or query must not contain.
std::string url_encoded(const std::string& text);

/// Returns the daemon's key selected by `selector`. It may be a full key. Among keys with a version
/// or a running job, it may also be an unambiguous prefix, the short form, or the name of a
/// workload with only one key. Errors list the available keys.
Result<std::string> find_key(HttpClient& client, const std::string& selector);

/// A key's workload, as users select it.
struct KeyWorkload {
  std::string name;
  std::string program;  ///< of a plain command, else empty
};

/// Returns the same from a list of keys; `who` knows them ("the daemon"). A plain command may also
/// be selected by the path of its program.
Result<std::string> choose_key(const std::map<std::string, KeyWorkload>& workloads,
                               const std::string& selector, const std::string& who);

/// Returns the short form of a key for tables, such as "0d5f2a1c.3c9e77b0"; find_key() accepts it.
std::string short_key(const std::string& key);

/// Returns "gpt2-6x256 (0d5f2a1c.3c9e77b0)", for people; the short form alone if the daemon has no
/// name for the key.
std::string key_name(HttpClient& client, const std::string& key);

/// Read members of a document from the daemon, which may be of another version: a missing member,
/// or one of another type, reads as empty, 0 or false.
std::string text_member(const nlohmann::json& object, const char* name);
std::int64_t integer_member(const nlohmann::json& object, const char* name);
double number_member(const nlohmann::json& object, const char* name);
bool flag_member(const nlohmann::json& object, const char* name);
/// Returns the objects in the array; empty if the member is not an array.
std::vector<nlohmann::json> list_member(const nlohmann::json& object, const char* name);

}  // namespace hocket
