#pragma once

// Tells all ranks what rank 0 has decided. Every rank calls it, in the same order as everything
// else that uses the connection, from one thread.

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/result.h"
#include "core/collective/collective.h"

namespace hocket {

/// Returns rank 0's `message` on every rank. `what` it is, for the message of an error.
inline Result<nlohmann::json> broadcast(Collective& collective, nlohmann::json message,
                                        const std::string& what) {
  if (collective.rank() == 0) {
    HOCKET_TRY(collective.tell(message.dump()));
    return message;
  }
  const auto heard = collective.hear();
  if (!heard) return failure(heard.error().in("waiting for rank 0's " + what));
  return nlohmann::json::parse(*heard);
}

}  // namespace hocket
