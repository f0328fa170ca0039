#pragma once

// The collectives that a step may contain.

#include <array>
#include <cstdint>
#include <string_view>

namespace hocket {

enum class CollectiveKind : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast };

inline constexpr std::array<CollectiveKind, 4> kCollectiveKinds{
    CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
    CollectiveKind::broadcast};

/// "all_reduce", …
constexpr std::string_view to_string(CollectiveKind kind) {
  constexpr std::array<std::string_view, 4> names{"all_reduce", "reduce_scatter", "all_gather",
                                                  "broadcast"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace hocket
