#include "plugins/nccl/measure/collective_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/mutate.h"
#include "tests/rounds.h"

namespace hocket::nccl::measure {
namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t n) {
  return random() % n;
}

std::int64_t lower_median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

MeasuredCollective collective_of(Random& random, std::uint64_t sequence) {
  MeasuredCollective collective;
  collective.sequence = sequence;
  collective.bytes = below(random, 5000);
  collective.time_ns = static_cast<std::int64_t>(below(random, 100'000));
  collective.function = static_cast<int>(below(random, kFunctions + 1)) - 1;
  collective.algorithm = static_cast<int>(below(random, 3)) - 1;
  collective.protocol = static_cast<int>(below(random, 3)) - 1;
  collective.channels = static_cast<int>(below(random, 4));
  collective.timed_channels = static_cast<int>(
      below(random, 4) == 0 ? below(random, static_cast<unsigned>(collective.channels) + 1)
                            : static_cast<std::uint64_t>(collective.channels));
  return collective;
}

const ClassStatistics* find(const std::vector<ClassStatistics>& all, CollectiveClass of) {
  for (const ClassStatistics& its : all) {
    if (its.of == of) return &its;
  }
  return nullptr;
}

TEST(CollectiveStatistics, OfOneRankAreWhatCountingGives) {
  for (std::uint64_t seed = 0; seed < rounds(400); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<MeasuredCollective> collectives;
    for (std::uint64_t i = below(random, 60); i > 0; --i) {
      collectives.push_back(collective_of(random, i));
    }
    const auto all = statistics_of(collectives);
    std::size_t classes = 0;
    for (int index = 0; index < kClasses; ++index) {
      std::uint64_t count = 0, bytes = 0;
      std::vector<std::int64_t> times_ns;
      std::map<std::vector<int>, std::uint64_t> ways;
      for (const auto& one : collectives) {
        if (one.function < 0 || class_of(one.function, one.bytes).index() != index) continue;
        ++count;
        bytes += one.bytes;
        ++ways[{one.algorithm, one.protocol, one.channels}];
        if (one.channels > 0 && one.timed_channels == one.channels) times_ns.push_back(one.time_ns);
      }
      const ClassStatistics* its = find(all, class_at(index));
      ASSERT_EQ(its != nullptr, count > 0);
      if (its == nullptr) continue;
      ++classes;
      EXPECT_EQ(its->count, count);
      EXPECT_EQ(its->bytes, bytes);
      EXPECT_EQ(its->timed, times_ns.size());
      EXPECT_EQ(its->median_ns, lower_median(times_ns));
      EXPECT_EQ(its->min_ns,
                times_ns.empty() ? 0 : *std::min_element(times_ns.begin(), times_ns.end()));
      EXPECT_EQ(its->median_waiting_ns, 0);
      ASSERT_EQ(its->ways.size(), ways.size());
      for (std::size_t i = 0; i < its->ways.size(); ++i) {
        const WayThatRan& way = its->ways[i];
        EXPECT_EQ(way.count, (ways[{way.algorithm, way.protocol, way.channels}]));
        if (i > 0) {
          EXPECT_LE(way.count, its->ways[i - 1].count);
        }
      }
    }
    EXPECT_EQ(all.size(), classes);
  }
}

/// Ranks that enter collectives one after another: each rank's time is from its own entry to the
/// common end, which is the transfer after the last entry.
struct Arrivals {
  std::vector<RankCollectives> ranks;
  std::vector<std::int64_t> transfers_ns;
  std::vector<std::vector<std::int64_t>> entries_ns;  // by collective and rank
};

template <class Delay>
Arrivals run(Random& random, int ranks, int collectives, const Delay& delay_ns) {
  Arrivals its;
  for (int rank = 0; rank < ranks; ++rank) its.ranks.push_back({rank, {}});
  for (int i = 0; i < collectives; ++i) {
    MeasuredCollective collective = collective_of(random, static_cast<std::uint64_t>(i));
    collective.function = static_cast<int>(below(random, kFunctions));
    collective.channels = collective.timed_channels = 2;
    its.transfers_ns.push_back(1000 + static_cast<std::int64_t>(below(random, 5000)));
    std::vector<std::int64_t> entries_ns;
    for (int rank = 0; rank < ranks; ++rank) entries_ns.push_back(delay_ns(i, rank));
    const std::int64_t last_ns = *std::max_element(entries_ns.begin(), entries_ns.end());
    for (int rank = 0; rank < ranks; ++rank) {
      collective.time_ns =
          its.transfers_ns.back() + last_ns - entries_ns[static_cast<std::size_t>(rank)];
      its.ranks[static_cast<std::size_t>(rank)].collectives.push_back(collective);
    }
    its.entries_ns.push_back(entries_ns);
  }
  return its;
}

TEST(MergedStatistics, SeparateTheTransferFromWaiting) {
  for (std::uint64_t seed = 0; seed < rounds(300); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int ranks = 2 + static_cast<int>(below(random, 7));
    const int count = 1 + static_cast<int>(below(random, 50));
    Arrivals its = run(random, ranks, count,
                       [&](int, int) { return static_cast<std::int64_t>(below(random, 10'000)); });
    std::map<int, std::vector<std::int64_t>> transfers_ns, waiting_ns;
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const MeasuredCollective& one = its.ranks[0].collectives[at];
      const int index = class_of(one.function, one.bytes).index();
      transfers_ns[index].push_back(its.transfers_ns[at]);
      auto entries_ns = its.entries_ns[at];
      std::sort(entries_ns.begin(), entries_ns.end());
      for (std::size_t r = 0; r + 1 < entries_ns.size(); ++r) {
        waiting_ns[index].push_back(entries_ns.back() - entries_ns[r]);
      }
    }
    // The order of ranks and of their collectives does not matter.
    std::shuffle(its.ranks.begin(), its.ranks.end(), random);
    for (auto& rank : its.ranks) {
      std::shuffle(rank.collectives.begin(), rank.collectives.end(), random);
    }
    const MergedStatistics merged = merge(its.ranks, ranks);
    EXPECT_EQ(merged.contradictory, 0U);
    EXPECT_EQ(merged.partly_known, 0U);
    ASSERT_EQ(merged.classes.size(), transfers_ns.size());
    for (const ClassStatistics& of : merged.classes) {
      const auto& expected = transfers_ns[of.of.index()];
      EXPECT_EQ(of.count, expected.size());
      EXPECT_EQ(of.timed, expected.size());
      EXPECT_EQ(of.median_ns, lower_median(expected));
      EXPECT_EQ(of.min_ns, *std::min_element(expected.begin(), expected.end()));
      EXPECT_EQ(of.median_waiting_ns, lower_median(waiting_ns[of.of.index()]));
    }
  }
}

TEST(MergedStatistics, NameTheRankThatIsLate) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int ranks = 2 + static_cast<int>(below(random, 15));
    const int culprit = static_cast<int>(below(random, static_cast<unsigned>(ranks)));
    const Arrivals its = run(random, ranks, 200, [&](int, int rank) {
      // Late in nine of ten; otherwise among the others.
      const bool is_late = rank == culprit && below(random, 10) != 0;
      return static_cast<std::int64_t>(below(random, 1000) + (is_late ? 5000 : 0));
    });
    const MergedStatistics merged = merge(its.ranks, ranks);
    ASSERT_TRUE(merged.late.has_value());
    EXPECT_EQ(merged.late->rank, culprit);
    std::uint64_t last_in = 0, decided = 0;
    std::vector<std::int64_t> waiting_ns;
    for (const auto& entries_ns : its.entries_ns) {
      const auto last_ns = *std::max_element(entries_ns.begin(), entries_ns.end());
      if (std::count(entries_ns.begin(), entries_ns.end(), last_ns) > 1) continue;
      ++decided;
      if (entries_ns[static_cast<std::size_t>(culprit)] != last_ns) continue;
      ++last_in;
      for (const auto entry_ns : entries_ns) {
        if (entry_ns != last_ns) waiting_ns.push_back(last_ns - entry_ns);
      }
    }
    EXPECT_EQ(merged.late->collectives, decided);
    EXPECT_EQ(merged.late->last_in, last_in);
    EXPECT_EQ(merged.late->median_waiting_ns, lower_median(waiting_ns));
  }
}

TEST(MergedStatistics, NameNobodyWhereChanceDecides) {
  int named = 0;
  constexpr std::uint64_t kRuns = 300;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    Random random(seed);
    const int ranks = 2 + static_cast<int>(seed % 4);
    const Arrivals its = run(random, ranks, 100, [&](int, int) {
      return static_cast<std::int64_t>(below(random, 10'000));
    });
    named += merge(its.ranks, ranks).late.has_value() ? 1 : 0;
  }
  EXPECT_LE(named, 3) << "of " << kRuns << "; with two ranks three deviations leave 0.3 %";
}

TEST(MergedStatistics, NameNobodyForWaitingThatDoesNotMatter) {
  Random random(1);
  const Arrivals its = run(random, 4, 100, [](int, int rank) { return rank == 2 ? 20 : 0; });
  EXPECT_FALSE(merge(its.ranks, 4).late.has_value());
}

TEST(MergedStatistics, NameNobodyWhereARankIsMissingOrAlone) {
  Random random(1);
  const auto late = [](int, int rank) { return rank == 2 ? 5000 : 0; };
  Arrivals its = run(random, 4, 100, late);
  ASSERT_TRUE(merge(its.ranks, 4).late.has_value());
  EXPECT_FALSE(merge(its.ranks, 5).late.has_value());
  EXPECT_EQ(merge(its.ranks, 5).partly_known, 100U);
  its.ranks.erase(its.ranks.begin() + 2);
  const MergedStatistics merged = merge(its.ranks, 4);
  EXPECT_FALSE(merged.late.has_value());
  for (const ClassStatistics& of : merged.classes) {
    EXPECT_GT(of.count, 0U);
    EXPECT_EQ(of.timed, 0U);
  }
  Arrivals alone = run(random, 1, 100, late);
  for (auto& collective : alone.ranks[0].collectives) collective.time_ns = 5;
  EXPECT_FALSE(merge(alone.ranks, 1).late.has_value());
  EXPECT_TRUE(merge({}, 4).classes.empty());
}

TEST(WaitingOf, AnIterationIsTheSumOfItsCollectives) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int ranks = 2 + static_cast<int>(below(random, 5));
    const int iterations = 1 + static_cast<int>(below(random, 10));
    const int each = 1 + static_cast<int>(below(random, 6));
    Arrivals its = run(random, ranks, iterations * each,
                       [&](int, int) { return static_cast<std::int64_t>(below(random, 10'000)); });
    for (auto& of_rank : its.ranks)
      for (std::size_t i = 0; i < of_rank.collectives.size(); ++i)
        of_rank.collectives[i].start_ns =
            static_cast<std::int64_t>(1000 * (i / static_cast<std::size_t>(each)) + 99 + i % 6);
    // A collective that only one rank has measured is left out.
    const bool has_more = below(random, 2) == 0;
    if (has_more) {
      its.ranks[0].collectives.push_back(its.ranks[0].collectives.back());
      its.ranks[0].collectives.back().sequence += 1000;
    }
    const auto waited = waiting_of(its.ranks, ranks, 1000);
    ASSERT_EQ(waited.size(), static_cast<std::size_t>(iterations));
    for (int i = 0; i < iterations; ++i) {
      std::vector<std::int64_t> expected(static_cast<std::size_t>(ranks));
      for (int k = 0; k < each; ++k) {
        const auto& entries_ns = its.entries_ns[static_cast<std::size_t>(i * each + k)];
        const auto last_ns = *std::max_element(entries_ns.begin(), entries_ns.end());
        for (std::size_t rank = 0; rank < expected.size(); ++rank)
          expected[rank] += last_ns - entries_ns[rank];
      }
      EXPECT_EQ(waited[static_cast<std::size_t>(i)], expected);
    }
  }
}

TEST(WaitingOf, IsNothingWithoutTheCollectivesOfAllRanks) {
  Random random(1);
  const Arrivals its = run(random, 3, 10, [](int, int) { return 0; });
  EXPECT_FALSE(waiting_of(its.ranks, 3, 10).empty());
  EXPECT_TRUE(waiting_of(its.ranks, 4, 10).empty());
  EXPECT_TRUE(waiting_of({its.ranks[0]}, 1, 10).empty());
  EXPECT_TRUE(waiting_of({}, 3, 10).empty());
}

TEST(MergedStatistics, DoNotUseContradictions) {
  Random random(3);
  Arrivals its = run(random, 3, 10, [](int, int rank) { return rank * 100; });
  its.ranks[1].collectives[4].bytes += 1;
  its.ranks[2].collectives[5].algorithm = 6;
  its.ranks[0].collectives[6].timed_channels = 1;
  // A second collective with the same number, and a second report of the same rank.
  its.ranks[0].collectives.push_back(its.ranks[0].collectives[0]);
  its.ranks[0].collectives.back().time_ns = 1;
  its.ranks.push_back(its.ranks[0]);
  for (auto& collective : its.ranks.back().collectives) collective.time_ns = 2;
  const MergedStatistics merged = merge(its.ranks, 3);
  EXPECT_EQ(merged.contradictory, 2U);
  EXPECT_EQ(merged.partly_known, 1U);
  std::uint64_t timed = 0;
  for (const ClassStatistics& of : merged.classes) {
    timed += of.timed;
    if (of.timed > 0) {
      EXPECT_GE(of.min_ns, 1000);
    }
  }
  EXPECT_EQ(timed, 7U);
}

RankCollectives random_collectives(Random& random) {
  RankCollectives its;
  its.rank = static_cast<int>(below(random, 1 << 20));
  for (std::uint64_t i = below(random, 20); i > 0; --i) {
    its.collectives.push_back(collective_of(random, random()));
  }
  return its;
}

TEST(EncodedCollectives, AreReadBack) {
  for (std::uint64_t seed = 0; seed < rounds(500); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const RankCollectives its = random_collectives(random);
    EXPECT_EQ(decode_collectives(encode(its)), its);
  }
}

TEST(EncodedCollectives, AreTheLastOnesThatFitIntoAMessage) {
  Random random(1);
  RankCollectives its;
  for (std::uint64_t i = 0; i < kMaxEncoded + 10; ++i) {
    its.collectives.push_back(collective_of(random, i));
  }
  const std::string bytes = encode(its);
  EXPECT_LE(bytes.size(), 16U * 1024);
  const auto decoded = decode_collectives(bytes);
  ASSERT_TRUE(decoded.has_value());
  ASSERT_EQ(decoded->collectives.size(), kMaxEncoded);
  EXPECT_EQ(decoded->collectives.front().sequence, 10U);
  EXPECT_EQ(decoded->collectives.back(), its.collectives.back());
}

TEST(EncodedCollectives, AreRefusedInEveryOtherForm) {
  Random random(5);
  RankCollectives its;
  its.collectives.push_back(collective_of(random, 1));
  its.collectives.back().channels = its.collectives.back().timed_channels = 2;
  const std::string good = encode(its);
  ASSERT_TRUE(decode_collectives(good).has_value());
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(decode_collectives(good.substr(0, length)).has_value()) << length;
  }
  EXPECT_FALSE(decode_collectives(good + '\0').has_value());
  const auto with = [&](std::size_t at, char value) {
    std::string bad = good;
    bad[at] = value;
    return decode_collectives(bad);
  };
  EXPECT_FALSE(with(0, 'h').has_value());
  EXPECT_FALSE(with(2, 1).has_value()) << "version";
  EXPECT_FALSE(with(6, '\x80').has_value()) << "rank";
  EXPECT_FALSE(with(7, 2).has_value()) << "count";
  const std::size_t entry = 9;
  EXPECT_FALSE(with(entry + 23, '\xff').has_value()) << "negative time";
  EXPECT_FALSE(with(entry + 22, 1).has_value()) << "time of days";
  EXPECT_FALSE(with(entry + 31, '\xff').has_value()) << "negative start";
  EXPECT_FALSE(with(entry + 32, 5).has_value()) << "function";
  EXPECT_FALSE(with(entry + 32, -2).has_value()) << "function";
  EXPECT_FALSE(with(entry + 33, 7).has_value()) << "algorithm";
  EXPECT_FALSE(with(entry + 34, 3).has_value()) << "protocol";
  EXPECT_FALSE(with(entry + 35, 65).has_value()) << "channels";
  EXPECT_FALSE(with(entry + 36, 3).has_value()) << "more timed than there are";
}

TEST(EncodedCollectives, DamageIsRefusedOrHarmless) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < rounds(4000); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string damaged = mutate(encode(random_collectives(random)), random);
    const auto decoded = decode_collectives(damaged);
    if (!decoded) {
      ++refused;
      continue;
    }
    EXPECT_EQ(encode(*decoded), damaged) << "two forms of one value";
    merge({*decoded}, 1);
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace hocket::nccl::measure
