#pragma once

// The daemon, put together: a store, the HTTP interface over it, and what acts of itself.

#include <memory>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "store/store.h"
#include "tuner/daemon/api/tokens.h"
#include "tuner/daemon/http/log.h"
#include "tuner/daemon/server/server.h"

namespace hocket {

struct DaemonOptions {
  ServerOptions server = {};
  Tokens tokens = {};
  Log log = {};
};

class Daemon {
 public:
  /// Listens from now on. `store` and `clock` outlive it. Errors as Server::create; also
  /// invalid_argument for an address off loopback without tokens, unless options.server.insecure.
  static Result<std::unique_ptr<Daemon>> create(DaemonOptions options, Store& store,
                                                const Clock& clock);
  virtual ~Daemon() = default;

  virtual Server& server() = 0;

  /// Serves until the server is stopped.
  virtual void run() = 0;
};

}  // namespace hocket
