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
/// left, and for all of what is_connection_text(). A path stays as it is.
std::string shown_store(std::string_view store);

/// Returns whether `store` is meant to reach a server, but is no URI of PostgreSQL: parameters of
/// libpq ("host=db password=x"), a misspelt scheme ("postgresql:/…", "Postgres://…"), or a URI that
/// has lost its scheme ("ada:x@db/studies"). As a path it would leave a password in the name of a
/// file. A file of such a name can be given with "./" or its whole path.
bool is_connection_text(std::string_view store);

/// Refuses what is_connection_text(), and what names another scheme than PostgreSQL's. The message
/// repeats nothing of the former.
Result<void> check_store_name(std::string_view store);

/// Refuses a URI of which it cannot be said where a password ends: libpq would take a part of it
/// for a host or a port, and name that in its messages.
Result<void> check_postgres_uri(std::string_view uri);

}  // namespace hocket
