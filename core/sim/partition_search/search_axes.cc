#include "core/sim/partition_search/search_axes.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/check.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

constexpr std::int64_t kSmallestSearchedPartBytes = 64 << 10;
constexpr std::int64_t kLargestSearchedBytes = std::int64_t{1} << 30;
/// Most parts of a step to search. The events of more, smaller parts cost more than they gain.
constexpr std::int64_t kMostSearchedParts = 4096;

std::int64_t power_of_two_from(std::int64_t bytes) {
  const auto power = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, bytes)));
  return std::min(static_cast<std::int64_t>(power), kLargestSearchedBytes);
}

template <class T>
MoveAxis values_of(const std::string& knob, const std::vector<T>& values) {
  MoveAxis axis;
  for (const T& value : values) axis.push_back({{knob, value}});
  return axis;
}

MoveAxis words_of(const std::string& knob) {
  return values_of(knob, find_knob(knob)->choices);
}

/// A bucket waits for all tasks that feed it, so a configuration sets either buckets or divided
/// computations: each move that sets this knob resets the other.
MoveAxis excluding(MoveAxis axis, const std::string& other, std::int64_t none_of_other,
                   std::int64_t none_of_this) {
  for (KnobMove& move : axis)
    if (move.front().value != none_of_this) move.push_back({other, none_of_other});
  return axis;
}

}  // namespace

PartitionAxes::PartitionAxes(const StepDescription& step, const PartitionSearchOptions& options)
    : options_(options), smallest_bytes_(std::numeric_limits<std::int64_t>::max()) {
  std::map<std::string, std::int64_t> bytes_of_region;
  for (const StepTask& task : step.tasks) {
    has_dimensions_ = has_dimensions_ || !task.place.dimensions.empty();
    if (task.place.micro_batch != kNoMicroBatch) {
      micro_batches_ = std::max(micro_batches_, static_cast<int>(task.place.micro_batch) + 1);
    }
    if (!task.collective) continue;
    has_all_reduce_ = has_all_reduce_ || task.collective == CollectiveKind::all_reduce;
    all_bytes_ += task.bytes;
    largest_bytes_ = std::max(largest_bytes_, task.bytes);
    smallest_bytes_ = std::min(smallest_bytes_, task.bytes);
    bytes_of_region[task.place.region] += task.bytes;
  }
  least_part_bytes_ =
      std::max(kSmallestSearchedPartBytes, power_of_two_from(all_bytes_ / kMostSearchedParts));
  const bool whole_hosts = step.ranks % step.ranks_per_host == 0;
  if (whole_hosts && step.ranks > step.ranks_per_host &&
      step.ranks_per_host <= find_knob("group_ranks")->high)
    group_ranks_ = step.ranks_per_host;
  std::vector<std::pair<std::int64_t, std::string>> regions;
  for (const auto& [name, bytes] : bytes_of_region)
    if (!name.empty()) regions.emplace_back(-bytes, name);
  std::ranges::sort(regions);
  if (bytes_of_region.size() < 2) return;
  const auto most = static_cast<std::size_t>(std::max(0, options.regions));
  for (std::size_t i = 0; i < std::min(most, regions.size()); ++i)
    regions_.push_back(regions[i].second);
}

std::int64_t PartitionAxes::highest_part_bytes() const {
  return std::max(power_of_two_from(largest_bytes_), find_knob("partition_bytes")->low);
}

MoveAxis PartitionAxes::sizes_around(const std::string& knob, std::int64_t bytes) const {
  const std::int64_t high = highest_part_bytes();
  const std::int64_t low = std::min(least_part_bytes_, high);
  // Above the largest collective, all values are equivalent.
  const std::int64_t from = std::min(power_of_two_from(bytes), high);
  std::vector<std::int64_t> sizes{from / 4, from / 2, from * 2, from * 4,
                                  high,     high / 4, high / 16};
  for (std::int64_t& size : sizes) size = std::clamp(size, low, high);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return values_of(knob, sizes);
}

MoveAxis PartitionAxes::buckets() const {
  std::vector<std::int64_t> sizes{0};
  // Sizes from the least that joins two collectives, up to one that joins all.
  const std::int64_t high = power_of_two_from(all_bytes_);
  for (std::int64_t bytes = std::max(least_part_bytes_, power_of_two_from(2 * smallest_bytes_));
       bytes <= high; bytes *= 4)
    sizes.push_back(bytes);
  return excluding(values_of("bucket_bytes", sizes), "compute_parts", 1, 0);
}

std::vector<MoveAxis> PartitionAxes::of_step(const ScheduleConfig& config) const {
  std::vector<MoveAxis> axes;
  if (largest_bytes_ > 0) {
    axes.push_back(sizes_around("partition_bytes", config.partition_bytes));
    if (options_.comm_channels)
      axes.push_back(values_of("comm_channels", std::vector<int>{1, 2, 4}));
    if (options_.order) axes.push_back(words_of("order"));
    if (has_all_reduce_) axes.push_back(words_of("primitive"));
    if (group_ranks_ > 1)
      axes.push_back(values_of("group_ranks", std::vector<std::int64_t>{1, group_ranks_}));
    axes.push_back(words_of("launch"));
    if (has_all_reduce_) axes.push_back(buckets());
  }
  if (has_dimensions_) {
    axes.push_back(
        excluding(values_of("compute_parts", std::vector<int>{1, 2, 4, 8}), "bucket_bytes", 0, 1));
  }
  axes.push_back(words_of("compute_order"));
  if (micro_batches_ > 1) {
    std::vector<int> kept;
    for (int count = 1; count < micro_batches_; count *= 2) kept.push_back(count);
    kept.push_back(std::min(micro_batches_, 1024));
    axes.push_back(values_of("micro_batches_kept", kept));
  }
  return axes;
}

std::vector<KnobMove> PartitionAxes::starts() const {
  std::vector<KnobMove> starts;
  if (largest_bytes_ == 0) return starts;
  for (const auto primitive : find_knob("primitive")->choices) {
    for (const std::int64_t group : {std::int64_t{1}, group_ranks_}) {
      for (const auto launch : find_knob("launch")->choices) {
        const KnobMove start{{"primitive", primitive}, {"group_ranks", group}, {"launch", launch}};
        for (const bool fine : {false, true}) {
          starts.push_back(start);
          add_companions(fine, group > 1, launch == "deferred", starts.back());
        }
      }
      if (group_ranks_ == 1) break;
    }
    if (!has_all_reduce_) break;
  }
  return starts;
}

void PartitionAxes::add_companions(bool fine, bool has_stages, bool is_late,
                                   KnobMove& start) const {
  // Several channels let parts of one stage run beside those of the next.
  if (options_.comm_channels && (fine || has_stages))
    start.push_back({"comm_channels", fine ? 4 : 2});
  if (options_.order && (fine || is_late)) start.push_back({"order", "static"});
  if (!fine) return;
  start.push_back({"partition_bytes", std::max(power_of_two_from(largest_bytes_ / 4),
                                               std::min(least_part_bytes_, highest_part_bytes()))});
  start.push_back({"bucket_bytes", 0});
  if (has_dimensions_) start.push_back({"compute_parts", 4});
}

std::vector<MoveAxis> PartitionAxes::of_region(const std::string& region,
                                               const ScheduleConfig& config) const {
  const std::string path = "regions." + region + ".";
  std::vector<MoveAxis> axes;
  axes.push_back(sizes_around(path + "partition_bytes", config.partition_bytes));
  if (has_all_reduce_) axes.push_back(words_of(path + "primitive"));
  if (group_ranks_ > 1)
    axes.push_back(values_of(path + "group_ranks", std::vector<std::int64_t>{1, group_ranks_}));
  axes.push_back(words_of(path + "launch"));
  if (has_dimensions_ && config.bucket_bytes == 0)
    axes.push_back(values_of(path + "compute_parts", std::vector<int>{1, 2, 4, 8}));
  // An override with the whole step's value changes nothing.
  const auto whole = knob_values(config);
  for (MoveAxis& axis : axes) {
    std::erase_if(axis, [&](const KnobMove& move) {
      return move.front().value == whole.at(move.front().knob.substr(path.size()));
    });
  }
  return axes;
}

ScheduleConfig config_after(const ScheduleConfig& config, const KnobMove& move) {
  ScheduleConfig result = config;
  for (const KnobChange& change : move) {
    auto changed = with_knob(result, change.knob, change.value);
    HOCKET_CHECK(changed, "the search gave a knob a value that it cannot have");
    result = std::move(*changed);
  }
  return result;
}

}  // namespace hocket
