#pragma once

// Keys as users select and read them: whole, shortened, or by the workload's name. One thread.

#include <map>
#include <string>

#include "client/link/http_client.h"
#include "core/base/result.h"

namespace hocket {

/// Returns the daemon's key selected by `selector`. It may be a full key. Among keys with a version
/// or a running job, it may also be an unambiguous prefix, the short form, or the name of a
/// workload with only one key. Errors list the available keys.
Result<std::string> find_key(HttpClient& client, const std::string& selector);

/// A key's workload, as users select it.
struct KeyWorkload {
  std::string name;
  std::string program;  ///< program of a plain command; empty for other workloads
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

}  // namespace hocket
