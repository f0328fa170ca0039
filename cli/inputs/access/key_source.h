#pragma once

// Opens the source of keys for operators' verbs: a daemon or, without one, the store's file. One
// thread.

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/access/key_name.h"
#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Exactly one of the two is set.
struct KeySource {
  std::unique_ptr<HttpClient> daemon;
  std::unique_ptr<Store> store;
};

struct KeySourceChoice {
  DaemonChoice daemon;
  std::string store;  ///< value of --store
};

/// Declares --daemon and --store.
void add_key_source_options(CLI::App& verb, KeySourceChoice& choice);

/// Returns the store of --store, or the daemon that --daemon or HOCKET_DAEMON names. Without any of
/// them: the daemon at kDefaultDaemon if it answers, else the default store, which `err` is told.
Result<KeySource> open_key_source(const KeySourceChoice& choice, bool for_writing,
                                  std::ostream& err);

/// Returns what a user writes for a workload with the path of a script made the whole one.
std::string workload_selector(const std::string& given);

/// Returns the key that find_key() (cli/inputs/access/key_name.h) selects, in the store as
/// well.
Result<std::string> find_key(KeySource& source, const std::string& given);

}  // namespace hocket
