#pragma once

// Functions on vectors of rows that are ordered by id. Not thread-safe.

#include <algorithm>
#include <cstdint>

namespace hocket::memory {

/// Returns the row; null if there is none.
template <class Rows>
auto find_row(Rows& rows, std::int64_t id) -> decltype(rows.data()) {
  const auto it = std::ranges::find(rows, id, [](const auto& row) { return row.id; });
  return it == rows.end() ? nullptr : &*it;
}

template <class Rows>
std::int64_t next_id(const Rows& rows) {
  return rows.empty() ? 1 : rows.back().id + 1;
}

}  // namespace hocket::memory
