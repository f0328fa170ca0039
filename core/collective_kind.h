#pragma once

// The collectives that a step may contain.

#include <array>
#include <cstdint>
#include <string_view>

namespace hocket {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
};

inline constexpr std::array<CollectiveKind, 5> kCollectiveKinds{
    CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
    CollectiveKind::broadcast, CollectiveKind::all_to_all};

/// "all_reduce", …
constexpr std::string_view to_string(CollectiveKind kind) {
  constexpr std::array<std::string_view, 5> names{"all_reduce", "reduce_scatter", "all_gather",
                                                  "broadcast", "all_to_all"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace hocket
