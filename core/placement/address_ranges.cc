#include "core/placement/address_ranges.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace hocket::placement {
namespace {

/// Says when two items may have the same memory: while not both are on the device, counted from the
/// first use or from the earliest fetch on; and `apart` only where both are copied or neither is.
/// A task that takes the memory of an item that is copied to the host waits for that copy, and
/// tasks that take parts of the memory of one item are ordered, so that computations that take
/// memory of fetched items wait for fetches of others.
enum class Sharing { apart, early, late };
constexpr std::array kSharings{Sharing::apart, Sharing::early, Sharing::late};

bool meet(const Residency& a, const Residency& b, Sharing sharing) {
  const auto begin = [&](const Residency& r) {
    return sharing == Sharing::late ? r.first : r.earliest;
  };
  return begin(a) <= b.last && begin(b) <= a.last;
}

/// The time in which an item is on the device, for comparisons.
std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> span_of(const Residency& stay) {
  return {stay.first, stay.last, stay.earliest};
}

class Fitting {
 public:
  Fitting(std::span<const DataToPlace> data, std::span<const Residency> residencies,
          std::int64_t limit_bytes)
      : data_(data), limit_bytes_(limit_bytes), stays_(data.size()) {
    for (const Residency& each : residencies) stays_[each.data].push_back(each);
    for (std::uint32_t item = 0; item < data.size(); ++item)
      if (!stays_[item].empty()) order_.push_back(item);
    // Items of one size go by their stays, so that the numbers of items decide nothing.
    std::ranges::stable_sort(order_, [&](std::uint32_t a, std::uint32_t b) {
      const bool a_stays = stays_[a].front().is_permanent, b_stays = stays_[b].front().is_permanent;
      if (a_stays != b_stays) return a_stays;
      if (data[a].bytes != data[b].bytes) return data[a].bytes > data[b].bytes;
      return std::ranges::lexicographical_compare(stays_[a], stays_[b], {}, span_of, span_of);
    });
  }

  /// Fits all items, each in the first of these ways that leaves it room.
  std::optional<AddressRanges> fit(std::span<const Sharing> sharings) {
    AddressRanges found{std::vector<std::int64_t>(data_.size(), kNotOnDevice), 0};
    placed_.clear();
    for (const std::uint32_t item : order_) {
      auto address = limit_bytes_ + 1;
      for (const Sharing sharing : sharings)
        if (end(address, item) > limit_bytes_) address = lowest(found, item, sharing);
      if (end(address, item) > limit_bytes_) return std::nullopt;
      found.address_bytes[item] = address;
      found.peak_bytes = std::max(found.peak_bytes, end(address, item));
      placed_.push_back(item);
      std::ranges::sort(placed_, {}, [&](std::uint32_t each) { return found.address_bytes[each]; });
    }
    return found;
  }

 private:
  std::int64_t end(std::int64_t address, std::uint32_t item) const {
    return address + aligned(data_[item].bytes);
  }

  bool is_copied(std::uint32_t item) const {
    return std::ranges::any_of(
        stays_[item], [](const Residency& each) { return each.is_fetched || each.is_evicted; });
  }

  bool meets(std::uint32_t a, std::uint32_t b, Sharing sharing) const {
    if (sharing == Sharing::apart && is_copied(a) != is_copied(b)) return true;
    return std::ranges::any_of(stays_[a], [&](const Residency& of_a) {
      return std::ranges::any_of(stays_[b],
                                 [&](const Residency& of_b) { return meet(of_a, of_b, sharing); });
    });
  }

  /// Returns the lowest address at which no other item is at the same time.
  std::int64_t lowest(const AddressRanges& found, std::uint32_t item, Sharing sharing) const {
    std::int64_t address = 0;
    for (const std::uint32_t other : placed_) {  // by rising address
      const std::int64_t begin = found.address_bytes[other];
      if (begin < end(address, item) && address < end(begin, other) && meets(item, other, sharing))
        address = end(begin, other);
    }
    return address;
  }

  const std::span<const DataToPlace> data_;
  const std::int64_t limit_bytes_;
  std::vector<std::vector<Residency>> stays_;  // by data item
  std::vector<std::uint32_t> order_, placed_;
};

}  // namespace

std::optional<AddressRanges> find_ranges(std::span<const DataToPlace> data,
                                         std::span<const Residency> residencies,
                                         std::int64_t limit_bytes) {
  Fitting fitting(data, residencies, limit_bytes);
  for (std::size_t skipped = 0; skipped < kSharings.size(); ++skipped)
    if (auto found = fitting.fit(std::span(kSharings).subspan(skipped))) return found;
  return std::nullopt;
}

}  // namespace hocket::placement
