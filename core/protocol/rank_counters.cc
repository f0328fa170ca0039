#include "core/protocol/rank_counters.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace hocket {
namespace {

constexpr std::int64_t kMaxCounter = std::int64_t{1} << 53;

constexpr std::array<std::pair<const char*, std::int64_t RankCounters::*>, 4> kCounters = {
    {{"waited_ns", &RankCounters::waited_ns},
     {"computed_ns", &RankCounters::computed_ns},
     {"processor_ns", &RankCounters::processor_ns},
     {"sending_ns", &RankCounters::sending_ns}}};

}  // namespace

void append_counted(std::vector<CountedSteps>& counted, std::vector<CountedSteps> later,
                    std::size_t most_ranks) {
  counted.insert(counted.end(), std::move_iterator(later.begin()), std::move_iterator(later.end()));
  std::size_t ranks = 0;
  auto first = counted.end();
  while (first != counted.begin() && (ranks += std::prev(first)->ranks.size()) <= most_ranks)
    --first;
  counted.erase(counted.begin(), first);
}

nlohmann::json to_json(const CountedSteps& counted) {
  nlohmann::json document = {
      {"step", counted.step}, {"steps", counted.steps}, {"ranks", counted.ranks.size()}};
  for (const auto& [name, member] : kCounters) {
    const auto is_counted = [member = member](const RankCounters& rank) {
      return rank.*member != kNotCounted;
    };
    if (std::ranges::none_of(counted.ranks, is_counted)) continue;
    auto& values = document[name] = nlohmann::json::array();
    for (const RankCounters& rank : counted.ranks) values.push_back(rank.*member);
  }
  return document;
}

void read_counted_steps(JsonReader& reader, CountedSteps& counted) {
  std::size_t ranks = 0;
  reader.integer("step", counted.step, 0, kMaxCounter);
  reader.integer("steps", counted.steps, 1, kMaxCountedSteps);
  reader.integer("ranks", ranks, 1, kMaxCountedRanks);
  counted.ranks.assign(std::min(ranks, kMaxCountedRanks), {});
  for (const auto& [name, member] : kCounters) {
    std::size_t rank = 0;
    // Named anew, because a lambda of C++20 may not capture a structured binding in every compiler.
    const auto counter_of = member;
    const auto read_one = [&](const JsonValue& value) {
      const std::int64_t counter = value.integer(kNotCounted, kMaxCounter);
      if (rank < counted.ranks.size()) counted.ranks[rank].*counter_of = counter;
      ++rank;
    };
    reader.array(name, read_one, kOptional, ranks);
    if (rank > 0 && rank < ranks) {
      reader.self().fail({ErrorCode::invalid_argument,
                          std::string("field \"") + name + "\": expected a value for each of the " +
                              std::to_string(ranks) + " ranks, found " + std::to_string(rank)});
    }
  }
}

}  // namespace hocket
