#include "profiler/calibration/step_alignment.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace hocket {
namespace {

using Items = std::span<const std::uint32_t>;
using Partners = std::vector<std::int64_t>;

constexpr std::int64_t kMostEdits = 1000;

/// The furthest places in the reference that each number of edits reaches, by diagonal: the place
/// in the reference minus that in the other.
class EditPaths {
 public:
  EditPaths(Items reference, Items other) : reference_(reference), other_(other) {}

  /// Returns the partners; nothing if more than kMostEdits edits lead from one to the other.
  std::optional<Partners> find() {
    const std::int64_t n = std::ssize(reference_), m = std::ssize(other_);
    for (std::int64_t edits = 0; edits <= kMostEdits; ++edits) {
      furthest_.emplace_back(static_cast<std::size_t>(2 * edits + 1));
      for (std::int64_t diagonal = -edits; diagonal <= edits; diagonal += 2) {
        std::int64_t x = edits == 0 ? 0 : start(edits, diagonal);
        while (x >= 0 && x < n && x - diagonal < m && x - diagonal >= 0 &&
               reference_[at(x)] == other_[at(x - diagonal)]) {
          ++x;
        }
        place(edits, diagonal) = x;
        if (diagonal == n - m && x >= n) return trace_back(edits);
      }
    }
    return std::nullopt;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  std::int64_t& place(std::int64_t edits, std::int64_t diagonal) {
    return furthest_[at(edits)][at(diagonal + edits)];
  }

  /// Returns whether the best path to `diagonal` comes from the diagonal above, by an item that
  /// only the other sequence has.
  bool is_from_above(std::int64_t edits, std::int64_t diagonal) {
    if (diagonal == -edits) return true;
    if (diagonal == edits) return false;
    return place(edits - 1, diagonal - 1) < place(edits - 1, diagonal + 1);
  }

  std::int64_t start(std::int64_t edits, std::int64_t diagonal) {
    return is_from_above(edits, diagonal) ? place(edits - 1, diagonal + 1)
                                          : place(edits - 1, diagonal - 1) + 1;
  }

  Partners trace_back(std::int64_t edits) {
    Partners partners(other_.size(), kNoPartner);
    std::int64_t diagonal = std::ssize(reference_) - std::ssize(other_);
    for (; edits >= 0; --edits) {
      const std::int64_t from = edits == 0 ? 0 : start(edits, diagonal);
      for (std::int64_t x = place(edits, diagonal); x > from; --x)
        partners[at(x - 1 - diagonal)] = x - 1;
      if (edits > 0) diagonal += is_from_above(edits, diagonal) ? 1 : -1;
    }
    return partners;
  }

  const Items reference_, other_;
  std::vector<std::vector<std::int64_t>> furthest_;
};

/// Returns the longest subsequence in order of the pairs of items that occur equally often before.
Partners by_occurrence(Items reference, Items other) {
  std::unordered_map<std::uint32_t, std::vector<std::int64_t>> places;
  for (std::size_t i = 0; i < reference.size(); ++i)
    places[reference[i]].push_back(static_cast<std::int64_t>(i));
  std::unordered_map<std::uint32_t, std::size_t> seen;
  Partners candidates(other.size(), kNoPartner), before(other.size(), kNoPartner);
  std::vector<std::int64_t> ends;  // last item of the best subsequence of each length
  for (std::size_t i = 0; i < other.size(); ++i) {
    const auto known = places.find(other[i]);
    const std::size_t count = seen[other[i]]++;
    if (known == places.end() || count >= known->second.size()) continue;
    candidates[i] = known->second[count];
    const auto end = std::ranges::lower_bound(ends, candidates[i], {}, [&](std::int64_t item) {
      return candidates[static_cast<std::size_t>(item)];
    });
    if (end != ends.begin()) before[i] = *std::prev(end);
    if (end == ends.end()) {
      ends.push_back(static_cast<std::int64_t>(i));
    } else {
      *end = static_cast<std::int64_t>(i);
    }
  }
  Partners partners(other.size(), kNoPartner);
  for (std::int64_t i = ends.empty() ? kNoPartner : ends.back(); i != kNoPartner;) {
    partners[static_cast<std::size_t>(i)] = candidates[static_cast<std::size_t>(i)];
    i = before[static_cast<std::size_t>(i)];
  }
  return partners;
}

}  // namespace

std::vector<std::int64_t> align_sequences(std::span<const std::uint32_t> reference,
                                          std::span<const std::uint32_t> other) {
  if (auto partners = EditPaths(reference, other).find()) return std::move(*partners);
  return by_occurrence(reference, other);
}

}  // namespace hocket
