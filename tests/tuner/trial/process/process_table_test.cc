#include "tuner/trial/process/process_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace hocket {
namespace {

const std::string kFields =
    " S 7 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 1234 5000000 300 18446744073709551615 1";

TEST(ProcessTable, ReadsAProcessWithAnyName) {
  for (const char* name : {"sh", "a b", ") S 9 (", "((", "", "x)\ny"}) {
    const auto entry = parse_process_stat("42 (" + std::string(name) + ")" + kFields, 4096);
    ASSERT_TRUE(entry) << name;
    EXPECT_EQ(*entry, (ProcessEntry{42, 7, 300 * 4096})) << name;
  }
}

TEST(ProcessTable, ReadsNothingFromWhatIsNoProcess) {
  for (const std::string& text : {std::string(), std::string("42"), std::string("42 (sh) S 7 42"),
                                  "x (sh)" + kFields, std::string("42 (sh) S seven ") + kFields}) {
    EXPECT_FALSE(parse_process_stat(text, 4096)) << text;
  }
}

TEST(ProcessTable, ReadsTheProportionalSize) {
  EXPECT_EQ(parse_proportional_bytes("5581-7ffe ---p 00000000 00:00 0  [rollup]\n"
                                     "Rss:                1234 kB\n"
                                     "Pss:                 567 kB\n"
                                     "Pss_Dirty:             1 kB\n"),
            567 * 1024);
  for (const char* text : {"", "Rss: 1 kB", "Pss_Anon: 3 kB\n", "Pss: x kB\n", "Pss:\n",
                           "Pss: 495769562875775045 kB\n"})
    EXPECT_FALSE(parse_proportional_bytes(text)) << text;
}

TEST(ProcessTable, SeesThisProcess) {
  const auto entries = host_processes().processes();
  const auto own = std::ranges::find(entries, getpid(), &ProcessEntry::pid);
  ASSERT_NE(own, entries.end());
  EXPECT_EQ(own->parent, getppid());
  EXPECT_GT(own->resident_bytes, 1 << 20);
  const auto proportional = host_processes().proportional_bytes(getpid());
  ASSERT_TRUE(proportional);
  EXPECT_GT(*proportional, 0);
  EXPECT_FALSE(host_processes().proportional_bytes(0)) << "there is no such process";
}

}  // namespace
}  // namespace hocket
