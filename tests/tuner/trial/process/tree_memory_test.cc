#include "tuner/trial/process/tree_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/trial/process/model_processes.h"

namespace hocket {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t kSecond = 1'000'000'000;

std::vector<pid_t> pids_below(const std::vector<ProcessEntry>& processes, pid_t root) {
  std::vector<pid_t> pids;
  for (const auto& process : descendants_of(processes, root)) pids.push_back(process.pid);
  return pids;
}

TEST(TreeMemory, ATreeIsAllDescendantsWithoutTheRoot) {
  const std::vector<ProcessEntry> processes = {{9, 5, 1}, {1, 0, 1}, {5, 2, 1}, {2, 1, 1},
                                               {6, 2, 1}, {7, 1, 1}, {8, 7, 1}};
  EXPECT_THAT(pids_below(processes, 2), UnorderedElementsAre(5, 6, 9));
  EXPECT_THAT(pids_below(processes, 9), IsEmpty());
  EXPECT_THAT(pids_below({{3, 4, 1}, {4, 3, 1}}, 3), UnorderedElementsAre(4)) << "a circle";
}

TEST(TreeMemory, SumsProportionalSizesOfTheTreeAlone) {
  ModelProcesses table;
  table.running = {{2, {1, 50, 50}}, {3, {2, 100, 60}}, {4, {3, 100, 60}}, {5, {1, 999, 999}}};
  TreeMemory memory(table, 2, std::nullopt);
  memory.sample(0);
  EXPECT_EQ(memory.peak_bytes(), 120);
  EXPECT_EQ(table.readings, 2);

  // The peak stays when processes end.
  table.running.erase(4);
  memory.sample(kSecond);
  EXPECT_EQ(memory.peak_bytes(), 120);
}

TEST(TreeMemory, AProcessThatHidesItsSizeCountsInFull) {
  ModelProcesses table;
  table.running = {{3, {2, 100, 60}}, {4, {2, 100, 60}}};
  table.hidden = {4};
  TreeMemory memory(table, 2, std::nullopt);
  memory.sample(0);
  EXPECT_EQ(memory.peak_bytes(), 160);
}

TEST(TreeMemory, ATableThatCannotBeReadIsNoMemory) {
  ModelProcesses table;
  table.running = {{3, {2, 100, 60}}};
  table.cannot_list = true;
  TreeMemory memory(table, 2, 10);
  memory.sample(0);
  EXPECT_EQ(memory.peak_bytes(), 0);
  EXPECT_FALSE(memory.is_over_limit());
}

TEST(TreeMemory, ReadsPageTablesOnlyWhereThePeakMayChange) {
  ModelProcesses table;
  table.running = {{3, {2, 6400, 6400}}};
  TreeMemory memory(table, 2, std::nullopt);
  memory.sample(0);
  ASSERT_EQ(table.readings, 1);
  // The peak cannot have changed while the resident sum is not above it.
  memory.sample(100 * kSecond);
  EXPECT_EQ(table.readings, 1);

  // Above the peak, and not by 1/64.
  table.running[3] = {2, 6500, 6500};
  memory.sample(101 * kSecond);
  EXPECT_EQ(table.readings, 2) << "the last reading is more than two seconds ago";
  table.running[3] = {2, 6600, 6590};
  memory.sample(101 * kSecond + 1);
  EXPECT_EQ(table.readings, 2);
  table.running[3] = {2, 6700, 6590};
  memory.sample(101 * kSecond + 2);
  EXPECT_EQ(table.readings, 3);
  EXPECT_EQ(memory.peak_bytes(), 6590);

  // Shared pages may have been copied, at the same resident size.
  table.running[3] = {2, 6700, 6700};
  memory.sample(101 * kSecond + 2 + TreeMemory::kRereadNs - 1);
  EXPECT_EQ(table.readings, 3);
  memory.sample(101 * kSecond + 2 + TreeMemory::kRereadNs);
  EXPECT_EQ(table.readings, 4);
  EXPECT_EQ(memory.peak_bytes(), 6700);
}

TEST(TreeMemory, ALimitIsCheckedInEverySampleThatMayBreakIt) {
  ModelProcesses table;
  table.running = {{3, {2, 1001, 900}}};
  TreeMemory memory(table, 2, 1000);
  memory.sample(0);
  EXPECT_FALSE(memory.is_over_limit());
  table.running[3] = {2, 1001, 1001};
  memory.sample(1);
  EXPECT_TRUE(memory.is_over_limit());
}

}  // namespace
}  // namespace hocket
