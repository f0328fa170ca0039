#include "archive/profiles/store_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>

#include "store/open.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

class StoreLinkTest : public ::testing::Test {
 protected:
  StoreLinkOptions options() {
    return {.open =
                [this] {
                  ++opened_;
                  return open_for_requests(path_);
                },
            .job_id = "job-1",
            .job_name = "gpt2",
            .warn =
                [this](const std::string& text) {
                  const std::lock_guard lock(mutex_);
                  warnings_.push_back(text);
                },
            .interval_ns = 1'000'000};
  }

  std::vector<std::string> warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

  /// Waits without a limit; the test's own limit ends it.
  static DaemonMessage next_message(DaemonLink& link) {
    for (;;) {
      if (auto message = link.take()) return *message;
      std::this_thread::yield();
    }
  }
  template <class Condition>
  static void wait_until(const Condition& condition) {
    while (!condition()) std::this_thread::yield();
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.file("store.db");
  std::atomic<int> opened_ = 0;

 private:
  std::mutex mutex_;
  std::vector<std::string> warnings_;  // guarded by mutex_
};

TEST_F(StoreLinkTest, BringsRequestsByIdAndByNameOnceEach) {
  const auto store = must(open_store(path_));
  const auto link = open_store_link(options());
  must(store->request_profile({.job = "another", .iterations = 3, .actor = "ada"}));
  const auto by_name =
      must(store->request_profile({.job = "gpt2", .iterations = 20, .actor = "ada"}));
  EXPECT_EQ(next_message(*link), DaemonMessage(ProfileMessage{by_name.id, 20}));
  const auto by_id =
      must(store->request_profile({.job = "job-1", .iterations = 5, .actor = "ada"}));
  EXPECT_EQ(next_message(*link), DaemonMessage(ProfileMessage{by_id.id, 5}));
  for (const auto& row : must(store->profile_requests())) {
    const bool is_ours = row.job != "another";
    EXPECT_EQ(row.taken_by, is_ours ? std::optional<std::string>("job-1") : std::nullopt);
  }
  EXPECT_EQ(link->take(), std::nullopt);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(StoreLinkTest, AStoreThatCannotBeUsedCostsOneWarningAndIsTriedAgain) {
  std::ofstream(path_) << "this is no database, and long enough to be taken for one that is bad\n"
                       << std::string(4096, 'x');
  const auto link = open_store_link(options());
  wait_until([&] { return opened_ >= 5; });
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], HasSubstr("requests for profiles are not seen"));
  // Renamed in one operation: the link may be about to look for a journal beside the file it
  // opened.
  (void)must(open_store(path_ + ".new"));
  std::filesystem::rename(path_ + ".new", path_);
  const auto store = must(open_store(path_));
  const auto asked = must(store->request_profile({.job = "gpt2", .iterations = 2, .actor = "a"}));
  EXPECT_EQ(next_message(*link), DaemonMessage(ProfileMessage{asked.id, 2}));
}

TEST_F(StoreLinkTest, ARequestOutOfRangeIsSaidAndLeft) {
  const auto store = must(open_store(path_));
  must(store->request_profile({.job = "gpt2", .iterations = 20'000, .actor = "ada"}));
  const auto good = must(store->request_profile({.job = "gpt2", .iterations = 1, .actor = "ada"}));
  const auto link = open_store_link(options());
  EXPECT_EQ(next_message(*link), DaemonMessage(ProfileMessage{good.id, 1}));
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], HasSubstr("is for 20000 iterations; a job records 1 to 10000"));
}

TEST_F(StoreLinkTest, WithoutAThreadThereIsAWarningAndNoLink) {
  auto without = options();
  without.start_thread = [](auto) -> std::thread {
    throw std::system_error(EAGAIN, std::generic_category());
  };
  EXPECT_EQ(open_store_link(without), nullptr);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], HasSubstr("cannot start a thread"));
}

}  // namespace
}  // namespace hocket
