#pragma once

// The kinds of collectives that have a cost of their own: all but a shift, which costs what its
// messages do.

#include <span>

#include "core/step/collective_kind.h"

namespace hocket {

inline constexpr std::span<const CollectiveKind> kPricedKinds =
    std::span(kCollectiveKinds).first(kCollectiveKinds.size() - 1);
static_assert(kCollectiveKinds.back() == CollectiveKind::shift);

}  // namespace hocket
