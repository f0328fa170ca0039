#include "core/cuda/streams/stream_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace hocket {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// A random sequence of placed tasks. The expected order is computed without clocks, by following
/// edges.
class PlacedTasks {
 public:
  PlacedTasks(std::uint64_t seed, bool some_have_run) : random_(seed) {
    const int streams = 1 + static_cast<int>(random_() % 4);
    const int channels = 1 + static_cast<int>(random_() % 3);
    data_ = 1 + random_() % 5;
    StreamMapping mapping(streams, channels);
    while (tasks_.size() < 60) {
      random_() % 3 == 0 ? place_collective(mapping) : place_compute(mapping);
      if (random_() % 4 == 0) place_release(mapping);
      if (some_have_run && random_() % 4 == 0) run_some(mapping);
    }
  }

  void check() const {
    for (std::size_t later = 0; later < tasks_.size(); ++later) {
      const auto before = all_before(later, tasks_[later].waits);
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (conflict(tasks_[earlier], tasks_[later])) {
          EXPECT_TRUE(before[earlier]) << earlier << " before " << later;
        }
      }
      for (const StreamPosition& wait : tasks_[later].waits) {
        auto others = tasks_[later].waits;
        std::erase(others, wait);
        EXPECT_FALSE(all_before(later, others)[at(wait)]) << "an idle wait of " << later;
      }
    }
  }

 private:
  struct Use {
    Access access;
    std::size_t group = 0;  ///< common to the parts of one collective
  };
  struct Task {
    StreamPosition position;
    std::vector<StreamPosition> waits;
    std::vector<Use> uses;
    std::vector<bool> has_run;  ///< earlier tasks that had run when it was placed
  };

  void add(const StreamPlacement& placement, const std::vector<Access>& accesses,
           std::size_t group) {
    has_run_.resize(tasks_.size());
    tasks_.push_back({placement.position, placement.waits, {}, has_run_});
    for (const Access& access : accesses) tasks_.back().uses.push_back({access, group});
  }
  DataId any_data() { return {static_cast<std::uint32_t>(random_() % data_)}; }

  void place_compute(StreamMapping& mapping) {
    std::vector<Access> accesses;
    for (auto n = random_() % 4; n > 0; --n)
      accesses.push_back({any_data(), static_cast<AccessMode>(random_() % 3)});
    add(mapping.place_compute(accesses), accesses, ++groups_);
  }
  void place_collective(StreamMapping& mapping) {
    const std::vector<Access> accesses{update(any_data())};
    const std::size_t group = ++groups_;
    const TaskId task{static_cast<std::uint32_t>(group), 0};
    for (auto parts = 1 + random_() % 4; parts > 0; --parts)
      add(mapping.place_part(task, accesses, parts_++), accesses, group);
  }
  void place_release(StreamMapping& mapping) {
    const DataId data = any_data();
    const StreamPlacement& placement = mapping.place_release(data, tasks_.back().position);
    if (placement.position != tasks_.back().position) {
      add(placement, {update(data)}, ++groups_);
      return;
    }
    EXPECT_THAT(placement.waits, IsEmpty());
    // The release belongs to the last task, after all other uses.
    const auto before = all_before(tasks_.size() - 1, tasks_.back().waits);
    for (std::size_t earlier = 0; earlier + 1 < tasks_.size(); ++earlier)
      for (const Use& use : tasks_[earlier].uses)
        if (use.access.data == data) {
          EXPECT_TRUE(before[earlier]) << "freed before " << earlier;
        }
    tasks_.back().uses.push_back({update(data), ++groups_});
  }
  /// Marks a random task as run, and thereby all that come before it.
  void run_some(StreamMapping& mapping) {
    has_run_.resize(tasks_.size());
    const std::size_t chosen = random_() % tasks_.size();
    const auto before = all_before(chosen, tasks_[chosen].waits);
    for (std::size_t i = 0; i <= chosen; ++i) {
      if (i == chosen || before[i]) has_run_[i] = true;
    }
    mapping.completed(tasks_[chosen].position);
  }

  std::size_t at(const StreamPosition& position) const {
    const auto found = std::ranges::find(tasks_, position, &Task::position);
    HOCKET_CHECK(found != tasks_.end(), "no such task");
    return static_cast<std::size_t>(found - tasks_.begin());
  }
  /// Returns the tasks that come before `task` if it waits for `waits`.
  std::vector<bool> all_before(std::size_t task, const std::vector<StreamPosition>& waits) const {
    std::vector<bool> before = tasks_[task].has_run;
    before.resize(task + 1);
    std::vector<std::size_t> open;
    const auto visit = [&](std::size_t next) {
      if (before[next]) return;
      before[next] = true;
      open.push_back(next);
    };
    const auto expand = [&](std::size_t from, const std::vector<StreamPosition>& its_waits) {
      const StreamPosition position = tasks_[from].position;
      if (position.number > 1) visit(at({position.stream, position.number - 1}));
      for (const StreamPosition& wait : its_waits) visit(at(wait));
      for (std::size_t i = 0; i < tasks_[from].has_run.size(); ++i)
        if (tasks_[from].has_run[i]) visit(i);
    };
    // A task that has run implies all that come before it.
    for (std::size_t i = 0; i < task; ++i)
      if (before[i]) open.push_back(i);
    expand(task, waits);
    while (!open.empty()) {
      const std::size_t next = open.back();
      open.pop_back();
      expand(next, tasks_[next].waits);
    }
    return before;
  }

  static bool conflict(const Task& a, const Task& b) {
    for (const Use& x : a.uses)
      for (const Use& y : b.uses)
        if (x.access.data == y.access.data && x.group != y.group &&
            (x.access.mode != AccessMode::read || y.access.mode != AccessMode::read))
          return true;
    return false;
  }

  std::mt19937_64 random_;
  std::uint64_t data_ = 1, parts_ = 0;
  std::size_t groups_ = 0;
  std::vector<Task> tasks_;
  std::vector<bool> has_run_;
};

TEST(StreamMapping, OrdersWhatConflictsWithoutIdleWaits) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlacedTasks(seed, false).check();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(StreamMapping, WaitsForNothingThatHasRun) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlacedTasks(seed, true).check();
    if (testing::Test::HasFailure()) return;
  }
}

constexpr DataId kA{0}, kB{1}, kC{2};

TEST(StreamMapping, AChainStaysOnItsStream) {
  StreamMapping mapping(4, 1);
  const Access other = update(kB), access = update(kA);
  mapping.place_compute({&other, 1});
  const std::uint32_t stream = mapping.place_compute({&access, 1}).position.stream;
  EXPECT_EQ(stream, 1u);
  for (int i = 0; i < 20; ++i) {
    const StreamPlacement& placement = mapping.place_compute({&access, 1});
    EXPECT_EQ(placement.position.stream, stream);
    EXPECT_THAT(placement.waits, IsEmpty());
  }
}

TEST(StreamMapping, IndependentTasksSpreadEvenly) {
  StreamMapping mapping(3, 1);
  std::vector<int> tasks(3);
  for (int i = 0; i < 30; ++i) ++tasks[mapping.place_compute({}).position.stream];
  EXPECT_THAT(tasks, testing::Each(10));
}

TEST(StreamMapping, AForkUsesAnotherStreamAndOneWait) {
  StreamMapping mapping(2, 1);
  const std::vector<Access> first{write(kA)}, left{read(kA), write(kB)}, right{read(kA), write(kC)};
  EXPECT_EQ(mapping.place_compute(first).position, (StreamPosition{0, 1}));
  EXPECT_EQ(mapping.place_compute(left).position, (StreamPosition{0, 2}));
  const StreamPlacement& placement = mapping.place_compute(right);
  EXPECT_EQ(placement.position, (StreamPosition{1, 1}));
  EXPECT_THAT(placement.waits, testing::ElementsAre(StreamPosition{0, 1}));
}

TEST(StreamMapping, AmongEqualsAStreamThatHasRunItsTasksIsFree) {
  StreamMapping mapping(2, 1);
  mapping.place_compute({});
  mapping.completed(mapping.place_compute({}).position);
  // Neither stream has more tasks than the other, but the second has completed its task.
  EXPECT_EQ(mapping.place_compute({}).position, (StreamPosition{1, 2}));
}

TEST(StreamMapping, AnIndexNamesTheChannelOfAPart) {
  StreamMapping mapping(2, 3);
  const Access access = update(kA);
  for (std::uint64_t index = 0; index < 9; ++index)
    EXPECT_EQ(mapping.place_part({7, 0}, {&access, 1}, index).position.stream, 2 + index % 3);
}

TEST(StreamMapping, MemoryEndsWithItsLastUseWhenThatComesAfterAll) {
  StreamMapping mapping(2, 1);
  const std::vector<Access> first{write(kA)}, next{read(kA), write(kB)}, other{read(kA)};
  mapping.place_compute(first);
  const StreamPosition last = mapping.place_compute(next).position;
  EXPECT_EQ(mapping.place_release(kA, last).position, last);

  mapping.place_compute(first);
  const StreamPosition left = mapping.place_compute(next).position;
  const StreamPosition right = mapping.place_compute(other).position;
  ASSERT_NE(left.stream, right.stream);
  const StreamPlacement& release = mapping.place_release(kA, right);
  EXPECT_EQ(release.position, (StreamPosition{3, 1}));
  EXPECT_THAT(release.waits, testing::UnorderedElementsAre(left, right));
}

TEST(StreamMapping, APartComesAfterWhatItIsTold) {
  StreamMapping mapping(1, 2);
  const Access first = update(kA), second = update(kB);
  const StreamPosition before = mapping.place_part({1, 0}, {&first, 1}, 0).position;
  const StreamPlacement& part = mapping.place_part({2, 0}, {&second, 1}, 1, {&before, 1});
  EXPECT_THAT(part.waits, testing::ElementsAre(before));
}

TEST(StreamMapping, PredecessorsAreWhatHasNotRun) {
  StreamMapping mapping(2, 1);
  const Access access = write(kA);
  const StreamPosition position = mapping.place_compute({&access, 1}).position;
  const Access reading = read(kA);
  EXPECT_THAT(mapping.predecessors({&reading, 1}), SizeIs(1));
  mapping.completed(position);
  EXPECT_THAT(mapping.predecessors({&reading, 1}), IsEmpty());
}

}  // namespace
}  // namespace hocket
