#pragma once

// The complete daemon: HTTP interface over a store, and live tuning. For one thread; server() has
// thread-safe methods.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "daemon/api/token_file.h"
#include "daemon/http/log.h"
#include "daemon/retention/retention.h"
#include "daemon/server/server.h"
#include "daemon/traces/served_traces.h"
#include "store/open.h"
#include "store/store.h"

namespace hocket {

struct DaemonOptions {
  ServerOptions server = {};
  AccessTokens tokens = {};
  /// Makes the tokens once the port is known, if set; then `tokens` is not used.
  std::function<Result<AccessTokens>(std::uint16_t port)> make_tokens = {};
  Log log = {};
  /// False: shows the store and changes nothing in it; no job is served.
  bool is_daemon = true;
  /// The part of the store that the daemon keeps. It removes the rest at its start and every hour.
  RetentionPolicy retention = {};
  /// Traces that this daemon serves to other hosts; none by default.
  ServedTracesOptions traces = {};
  /// Path or URI of the store, as given to open_store(); locates the traces of removed profiles.
  std::string store_path = {};
  /// Folders whose paths only administrators see.
  std::vector<std::string> hidden_folders = {};
  WallClock now_unix_ns = system_unix_ns;
};

class Daemon {
 public:
  /// Starts listening. Requires that `store` and `clock` outlive the daemon. Errors: those of
  /// Server::create and of options.make_tokens; invalid_argument for a non-loopback address without
  /// tokens, unless options.server.insecure.
  static Result<std::unique_ptr<Daemon>> create(DaemonOptions options, Store& store,
                                                const Clock& clock);
  virtual ~Daemon() = default;

  virtual Server& server() = 0;

  /// Serves until the server is stopped.
  virtual void run() = 0;
};

}  // namespace hocket
