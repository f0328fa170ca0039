#pragma once

// The tables of a store on PostgreSQL, in the first schema of the connection's search_path that
// exists (docs/formats/store.md). Not thread-safe.

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "store/postgres/session.h"
#include "store/schema/migrations.h"

namespace hocket::postgres {

/// Brings the schema to the newest version, in one transaction that one process at a time runs.
/// A session that only reads changes nothing, and needs the newest version.
///
/// Returns not_found if it only reads and there are no tables; invalid_argument if no schema exists
/// in the search_path, the tables are of an older or newer version than this program knows, or a
/// table of another program has the name of one that is needed; nothing is changed then.
Result<void> prepare_schema(Session& session, std::span<const schema::Step> steps);

}  // namespace hocket::postgres
