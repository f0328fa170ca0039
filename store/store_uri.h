#pragma once

// The value of HOCKET_STORE and --store: the path of a file, or the URI of a database of
// PostgreSQL. Pure; thread-safe.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// Returns whether `store` names a database of PostgreSQL: it begins with "postgresql://" or
/// "postgres://".
bool is_postgres_uri(std::string_view store);

/// Returns `store` as it may be shown: with "***" for each password of a URI, of which nothing is
/// left. A path stays as it is.
std::string shown_store(std::string_view store);

/// Refuses a URI of which it cannot be said where a password ends: libpq would take a part of it
/// for a host or a port, and name that in its messages.
Result<void> check_postgres_uri(std::string_view uri);

}  // namespace hocket
