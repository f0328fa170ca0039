#pragma once

// Changes of keys as notifications of PostgreSQL: their payload, and the thread that waits for them
// (docs/formats/store.md). Thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "store/change_listener.h"
#include "store/postgres/session.h"

namespace hocket::postgres {

/// Notifies the channel of the connection's schema of the payload ?1 when the transaction commits.
/// A channel is the database's, so its name has the schema's in it, of any length.
inline constexpr std::string_view kNotify =
    "SELECT pg_notify('hocket_' || to_hex(hashtextextended(current_schema(), 0)), ?1)";

/// Returns a change as JSON, far shorter than the 8,000 bytes that PostgreSQL allows.
std::string payload_of(const KeyChange& change);

/// Returns the change of a payload; nothing if it is none, as from a newer program.
std::optional<KeyChange> change_of(std::string_view payload);

/// Listens on a connection of its own, which is made before this returns. When it is lost, the
/// listener connects again, more and more rarely, up to every 5 s, and then says that changes may
/// have been missed.
Result<std::unique_ptr<ChangeListener>> listen_for_changes(const Target& target,
                                                           OnKeyChange on_change);

}  // namespace hocket::postgres
