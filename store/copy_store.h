#pragma once

// Copies a whole store into an empty one, also from a file to a server and back. Thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct CopiedTable {
  std::string name;
  std::int64_t rows = 0;

  bool operator==(const CopiedTable&) const = default;
};

/// Copies all rows with their ids from the store `from`, as it is at one moment, into `to`, which
/// is created if it is missing; then compares both row by row. All in one transaction: after an
/// error `to` is as empty as before. Ids that `from` has given out are not given out in `to` again.
/// Returns the tables in the order of their copying. Trace files stay where they are, since a
/// profile names each with its path.
///
/// Returns invalid_argument if `to` is not empty; unavailable, naming the table, if a row cannot
/// be stored there or is not the same afterwards; otherwise errors as open_store().
Result<std::vector<CopiedTable>> copy_store(const std::string& from, const std::string& to);

}  // namespace hocket
