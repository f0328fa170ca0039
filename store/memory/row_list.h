#pragma once

// Rows in a vector that is ordered by their ids. Not thread-safe.

#include <algorithm>
#include <cstdint>

namespace hocket::memory {

/// Null when there is none.
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
