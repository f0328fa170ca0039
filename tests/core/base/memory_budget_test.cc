#include "core/base/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/scoped_environment.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kMib = 1 << 20;

TEST(MemoryBudget, IsOfWhatIsTakenSinceItWasMade) {
  std::int64_t used = 700 * kMib;
  MemoryBudget budget(1000 * kMib, [&] { return used; });
  EXPECT_EQ(budget.problem(), std::nullopt);
  used += 1000 * kMib;
  EXPECT_EQ(budget.problem(), std::nullopt);
  used += 1;
  EXPECT_THAT(budget.problem().value(), AllOf(HasSubstr("taken 1000 MiB of memory"),
                                              HasSubstr("HOCKET_READING_MIB allows more")));
}

TEST(MemoryBudget, OfAPackedFileGrowsWithIt) {
  std::int64_t used = 0;
  MemoryBudget budget(std::int64_t{1} << 40, [&] { return used; });
  used = kPackedMemoryBytes;
  EXPECT_EQ(budget.problem(1), std::nullopt) << "a small file may take that much";
  used = 1000 * kMib;
  EXPECT_THAT(budget.problem(kMib).value(),
              AllOf(HasSubstr("first 1048576 packed bytes"), HasSubstr("1000 MiB of memory"),
                    HasSubstr("unpack it if you trust it")));
  EXPECT_EQ(budget.problem(6 * kMib), std::nullopt);
  EXPECT_EQ(budget.problem(), std::nullopt) << "it was not packed";
}

TEST(MemoryBudget, IsAsTheEnvironmentSays) {
  const ScopedEnvironment given(kReadingMemoryVariable, "12");
  EXPECT_EQ(MemoryBudget::of_process().most_bytes(), 12 * kMib);
  for (const char* none : {"", "0", "-1", "x", "99999999999999"}) {
    const ScopedEnvironment wrong(kReadingMemoryVariable, none);
    EXPECT_GT(MemoryBudget::of_process().most_bytes(), 12 * kMib) << none;
  }
}

TEST(MemoryBudget, IsOfThisMachine) {
  EXPECT_GT(available_memory_bytes().value(), kMib);
}

class AvailableMemory : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
    folder_.write(name, text);
  }
  std::int64_t kib() const { return available_memory_bytes(folder_.path()).value_or(-1024) / 1024; }

  const TemporaryFolder folder_;
};

TEST_F(AvailableMemory, IsWhatTheMachineHas) {
  EXPECT_EQ(kib(), -1);
  write("proc/meminfo", "MemTotal:  900 kB\nMemAvailable:   500 kB\nSwapFree: 7 kB\n");
  EXPECT_EQ(kib(), 500);
}

TEST_F(AvailableMemory, IsWhatEveryGroupLeaves) {
  write("proc/meminfo", "MemAvailable: 500 kB\n");
  write("proc/self/cgroup", "0::/job/task\n");
  write("sys/fs/cgroup/job/task/memory.max", "max\n");
  write("sys/fs/cgroup/job/task/memory.current", "1024\n");
  EXPECT_EQ(kib(), 500);
  write("sys/fs/cgroup/job/memory.max", "307200\n");
  write("sys/fs/cgroup/job/memory.current", "204800\n");
  EXPECT_EQ(kib(), 100);
  write("sys/fs/cgroup/job/memory.stat", "anon 9\ninactive_file 51200\n");
  EXPECT_EQ(kib(), 150) << "files that the kernel may drop";
  write("sys/fs/cgroup/memory.max", "1024\n");
  write("sys/fs/cgroup/memory.current", "2048\n");
  EXPECT_EQ(kib(), 0) << "a container's own";
}

TEST_F(AvailableMemory, IsWhatGroupsOfTheFirstVersionLeave) {
  write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/job\n0::/\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "307200\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "204800\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "total_inactive_file 1024\n");
  EXPECT_EQ(kib(), 101);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "204800\n");
  EXPECT_EQ(kib(), 101);
}

}  // namespace
}  // namespace hocket
