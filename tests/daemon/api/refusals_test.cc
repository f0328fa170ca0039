#include "daemon/api/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "store/open.h"
#include "tests/set_clock.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

constexpr std::int64_t kTenMinutesNs = 600'000'000'000;

class RefusalsTest : public testing::Test {
 protected:
  void refuse(const std::string& peer, int times = 1) {
    for (int i = 0; i < times; ++i) {
      refusals_.note({.reason = "unknown token", .peer = peer, .method = "GET", .target = "/v1/x"});
    }
  }
  std::vector<AuditRow> rows() { return must(store_->audit({})); }

  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return clock_.now; });
  std::vector<std::string> lines_;
  const Log log_{LogOptions{.sink = [this](std::string_view line) { lines_.emplace_back(line); }}};
  TokenRefusals refusals_{*store_, log_, clock_};
};

TEST_F(RefusalsTest, OneClientIsNotedAFewTimesAndThenCounted) {
  refuse("a", 1000);
  EXPECT_EQ(rows().size(), static_cast<std::size_t>(kLinesOfACause));
  refuse("b");
  ASSERT_EQ(rows().size(), kLinesOfACause + 1U) << "others are noted";
  EXPECT_EQ(rows().back().detail["others"], 1000 - kLinesOfACause);
  clock_.now += kTenMinutesNs + 1;
  refuse("a", 2);
  EXPECT_EQ(rows().size(), kLinesOfACause + 2U);
  EXPECT_EQ(lines_.size(), rows().size());
}

TEST_F(RefusalsTest, ManyClientsTogetherFillNothing) {
  for (int i = 0; i < 5000; ++i) refuse(std::to_string(i));
  EXPECT_EQ(rows().size(), static_cast<std::size_t>(kLinesOfAllCauses));
  for (int i = 0; i < 5000; ++i) {
    clock_.now += kTenMinutesNs / 100;
    refuse(std::to_string(i));
  }
  EXPECT_LE(rows().size(), kLinesOfAllCauses + 51U);
  EXPECT_LE(lines_.size(), kLinesOfAllCauses + 51U);
}

TEST_F(RefusalsTest, APathIsShortAndReadable) {
  refusals_.note({.token_name = "eve",
                  .reason = "role too low",
                  .peer = "a",
                  .method = "GET",
                  .target = "/v1/\xff\n" + std::string(5000, 'x') + "?secret"});
  const AuditRow row = rows().back();
  EXPECT_LE(row.subject.size(), 210U);
  EXPECT_EQ(row.subject.find_first_of("\n\xff?"), std::string::npos);
  EXPECT_EQ(row.actor, "eve");
}

TEST_F(RefusalsTest, AStoreThatCannotBeWrittenIsLogged) {
  refusals_.note({.token_name = "\xff", .reason = "role too low", .peer = "a", .method = "GET"});
  EXPECT_TRUE(rows().empty());
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_THAT(lines_.back(), testing::HasSubstr("not in the audit"));
}

}  // namespace
}  // namespace hocket
