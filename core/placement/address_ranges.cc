#include "core/placement/address_ranges.h"

#include <algorithm>
#include <tuple>

namespace hocket::placement {
namespace {

/// The time from which memory counts as taken: the earliest fetch, or the first use.
enum class Taken { early, late };

bool meet(const Residency& a, const Residency& b, Taken taken) {
  const auto begin = [&](const Residency& r) {
    return taken == Taken::early ? r.earliest : r.first;
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

  std::optional<AddressRanges> fit(bool with_early) {
    AddressRanges found{std::vector<std::int64_t>(data_.size(), kNotOnDevice), 0};
    placed_.clear();
    for (const std::uint32_t item : order_) {
      auto address = limit_bytes_ + 1;
      if (with_early) address = lowest(found, item, Taken::early);
      if (end(address, item) > limit_bytes_) address = lowest(found, item, Taken::late);
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

  bool meets(std::uint32_t a, std::uint32_t b, Taken taken) const {
    return std::ranges::any_of(stays_[a], [&](const Residency& of_a) {
      return std::ranges::any_of(stays_[b],
                                 [&](const Residency& of_b) { return meet(of_a, of_b, taken); });
    });
  }

  /// Returns the lowest address at which no other item is at the same time.
  std::int64_t lowest(const AddressRanges& found, std::uint32_t item, Taken taken) const {
    std::int64_t address = 0;
    for (const std::uint32_t other : placed_) {  // by rising address
      const std::int64_t begin = found.address_bytes[other];
      if (begin < end(address, item) && address < end(begin, other) && meets(item, other, taken))
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
  if (auto found = fitting.fit(true)) return found;
  return fitting.fit(false);
}

}  // namespace hocket::placement
