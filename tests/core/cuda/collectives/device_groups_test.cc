#include "core/cuda/collectives/device_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tests/core/cuda/model_device.h"
#include "tests/core/cuda/model_group.h"
#include "tests/core/host/collective_laws.h"

namespace hocket {
namespace {

/// Runs collectives of the host interface on a device, one part after the other.
class GroupsAsCollective final : public Collective {
 public:
  GroupsAsCollective(ModelGroup& ranks, const Mesh& mesh, int rank)
      : world_(ranks, device_, rank), groups_(world_, mesh, all_axis_sets(mesh)) {
    const auto opened = groups_.open(kChannels);
    EXPECT_TRUE(opened) << opened.error().message;
    stream_ = *device_.create_stream(StreamPriority::normal);
    has_run_ = *device_.create_event(EventTiming::none);
  }

  int rank() const override { return groups_.rank(); }
  const Mesh& mesh() const override { return groups_.mesh(); }
  Result<void> run(const CollectiveWork& work) override {
    const auto channel = static_cast<int>(work.index % kChannels);
    std::unique_lock lock(mutex_);
    if (is_message(work.kind)) {
      if (auto ok = check_message(work, mesh().ranks_of(work.group, rank()).size(), own(work)); !ok)
        return ok;
      return run_messages(lock, work, channel);
    }
    PartWork part;
    part.collective = work;
    if (auto ok = groups_.exchange(part, channel, stream_); !ok) return ok;
    return wait();
  }
  Result<void> tell(std::string_view) override { return nothing_to_say(); }
  Result<std::string> hear() override { return failure(nothing_to_say().error()); }
  std::int64_t timeout_ns() const override { return 0; }
  void abort() override { groups_.abort(); }

  std::vector<std::string> problems() const { return device_.problems(); }
  DeviceGroups& groups() { return groups_; }

 private:
  static constexpr int kChannels = 2;

  std::size_t own(const CollectiveWork& work) const {
    return group_members(mesh(), work.group, rank()).own;
  }
  /// A send and a receive of two threads come as one: on one stream each would wait for the other
  /// one of its peers.
  Result<void> run_messages(std::unique_lock<std::mutex>& lock, const CollectiveWork& work,
                            int channel) {
    const DeviceMessage message{work.values, static_cast<int>(work.peer),
                                work.kind == CollectiveKind::send};
    if (!std::exchange(waits_for_second_, true)) {
      first_ = message;
      second_ran_.wait(lock, [&] { return !waits_for_second_; });
      return outcome_;
    }
    const DeviceMessage both[] = {first_, message};
    outcome_ = groups_.exchange_messages(work.group, both, channel, stream_);
    if (outcome_) outcome_ = wait();
    waits_for_second_ = false;
    second_ran_.notify_all();
    return outcome_;
  }
  Result<void> wait() {
    if (auto ok = device_.record(has_run_, stream_); !ok) return ok;
    while (!*device_.has_run(has_run_)) std::this_thread::yield();
    return groups_.health();
  }
  static Result<void> nothing_to_say() {
    return failure(ErrorCode::unavailable, "devices exchange values alone");
  }

  ModelDevice device_;
  ModelCollective world_;
  DeviceGroups groups_;
  DeviceStream stream_;
  DeviceEvent has_run_;
  std::mutex mutex_;
  std::condition_variable second_ran_;
  // Guarded by mutex_:
  bool waits_for_second_ = false;
  DeviceMessage first_;
  Result<void> outcome_;
};

class DeviceGroupsTest : public testing::Test {
 protected:
  /// Runs `rank_does(collective)` concurrently on all ranks of each mesh.
  void on_meshes(const auto& rank_does) {
    for (const Mesh& mesh : law_meshes()) {
      const RankGrid& grid = mesh.grid();
      SCOPED_TRACE(testing::Message()
                   << grid.ranks << " ranks, " << grid.ranks_per_host << " a host");
      ModelGroup ranks(static_cast<int>(grid.ranks));
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < grid.ranks; ++rank) {
        threads.emplace_back([&, rank] {
          GroupsAsCollective collective(ranks, mesh, rank);
          rank_does(collective);
          EXPECT_THAT(collective.problems(), testing::IsEmpty());
        });
      }
    }
  }
};

TEST_F(DeviceGroupsTest, ExchangesRandomPartsAsDefined) {
  const std::uint64_t seed = std::random_device()();
  on_meshes([seed](Collective& collective) { expect_laws_of_random_works(collective, seed, 100); });
}

TEST_F(DeviceGroupsTest, MessagesArrive) {
  const std::uint64_t seed = std::random_device()();
  on_meshes([seed](Collective& collective) {
    // A rank alone has no device to write to.
    if (collective.world_size() > 1) expect_messages_arrive(collective, seed, 60);
  });
}

TEST_F(DeviceGroupsTest, WrongMessagesAreRefused) {
  on_meshes([](Collective& collective) {
    if (collective.world_size() > 1) expect_wrong_messages_are_refused(collective);
  });
}

TEST_F(DeviceGroupsTest, EveryChainIsASum) {
  on_meshes([](Collective& collective) { expect_chains_are_sums(collective, 5); });
}

/// A rank that asks for the channels of its messages.
class GroupsOfRank {
 public:
  GroupsOfRank(ModelGroup& ranks, const Mesh& mesh, int rank)
      : world_(ranks, device_, rank), groups_(world_, mesh) {}

  std::uint64_t number(bool sends, CollectiveGroup group, std::size_t peer) const {
    PartWork part;
    part.collective = {.kind = sends ? CollectiveKind::send : CollectiveKind::receive,
                       .group = group,
                       .values = {},
                       .peer = peer};
    return groups_.channel_number(part);
  }

 private:
  ModelDevice device_;
  ModelCollective world_;
  DeviceGroups groups_;
};

TEST_F(DeviceGroupsTest, GroupsThatWereNotAskedForAreRefused) {
  const Mesh mesh = Mesh::make({{"data", 2}, {"tensor", 2}}, {4, 4}).value();
  ModelGroup ranks(4);
  ModelDevice device;
  ModelCollective world(ranks, device, 0);
  DeviceGroups groups(world, mesh);
  ASSERT_TRUE(groups.open(1));
  std::vector<float> values(8);
  PartWork part;
  part.collective.values = values;
  part.collective.group = {AxisSet::of(1)};
  const auto refused = groups.exchange(part, 0, *device.create_stream(StreamPriority::normal));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("the group tensor"));
}

TEST_F(DeviceGroupsTest, BothEndsOfAMessageChooseOneChannel) {
  const Mesh mesh = Mesh::make({{"pipeline", 4}, {"data", 3}}, {12, 3}).value();
  std::vector<std::unique_ptr<GroupsOfRank>> ranks;
  ModelGroup model(12);
  for (int rank = 0; rank < 12; ++rank)
    ranks.push_back(std::make_unique<GroupsOfRank>(model, mesh, rank));
  for (const CollectiveGroup group : {CollectiveGroup::world, {AxisSet::of(0)}, {AxisSet::of(1)}}) {
    for (int from = 0; from < 12; ++from) {
      const auto [members, own] = group_members(mesh, group, from);
      for (std::size_t peer = 0; peer < members.size(); ++peer) {
        if (peer == own) continue;
        const auto to = static_cast<std::size_t>(members[peer]);
        const auto there = ranks[static_cast<std::size_t>(from)]->number(true, group, peer);
        EXPECT_EQ(there, ranks[to]->number(false, group, own)) << from << " to " << to;
        EXPECT_EQ((there + ranks[to]->number(true, group, own)) % 2, 1u) << "one way and back";
      }
    }
  }
  // A stage of a pipeline has neighbours before and after it, each with messages both ways.
  std::set<std::uint64_t> of_a_stage;
  for (const bool sends : {true, false}) {
    for (const std::size_t peer : {0, 2})
      of_a_stage.insert(ranks[4]->number(sends, {AxisSet::of(0)}, peer) % 4);
  }
  EXPECT_EQ(of_a_stage.size(), 4u);
}

// After an abort, groups that are created later are aborted as well.
TEST_F(DeviceGroupsTest, AbortsEveryGroup) {
  const RankGrid grid{4, 2};
  for (const bool opened : {true, false}) {
    ModelGroup ranks(4);
    std::atomic<int> aborted = 0;
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 4; ++rank) {
      threads.emplace_back([&, rank] {
        ModelDevice device;
        ModelCollective world(ranks, device, rank);
        DeviceGroups groups(world, Mesh(grid));
        if (opened) {
          EXPECT_TRUE(groups.open(1));
        }
        groups.abort();
        if (!opened) {
          EXPECT_FALSE(groups.open(1));
        }
        ++aborted;
      });
    }
    threads.clear();
    EXPECT_EQ(aborted, 4);
    EXPECT_TRUE(ranks.is_aborted());
  }
}

/// Its abort returns only when the aborts of all three have begun: an abort in NCCL may wait for
/// operations of another communicator.
class AbortsTogether final : public SoleRankCollective {
 public:
  explicit AbortsTogether(std::latch& begun) : begun_(begun) {}

  int world_size() const override { return 4; }
  Result<std::unique_ptr<DeviceCollective>> split(int) override {
    return std::make_unique<AbortsTogether>(begun_);
  }
  void abort() override { begun_.arrive_and_wait(); }

 private:
  std::latch& begun_;
};

TEST_F(DeviceGroupsTest, NoGroupsAbortWaitsForAnothers) {
  std::latch begun(3);
  AbortsTogether world(begun);
  DeviceGroups groups(world, Mesh(RankGrid{4, 2}));
  ASSERT_TRUE(groups.open(1));
  groups.abort();
  EXPECT_TRUE(begun.try_wait());
}

}  // namespace
}  // namespace hocket
