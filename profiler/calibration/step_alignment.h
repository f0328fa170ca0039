#pragma once

// Finds what two sequences of work have in common. Pure.

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

inline constexpr std::int64_t kNoPartner = -1;

/// Returns for each item of `other` the index of its partner in `reference`, an equal item, or
/// kNoPartner. Partners are in the same order in both. They are a longest common subsequence
/// (Myers, Algorithmica 1986) unless the sequences differ in more than a thousand items; then items
/// that occur equally often before them are candidates, and the longest subsequence of these in
/// order is taken. Takes at most some thousand operations for each item.
std::vector<std::int64_t> align_sequences(std::span<const std::uint32_t> reference,
                                          std::span<const std::uint32_t> other);

}  // namespace hocket
