#include "daemon/live/ended_search.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace hocket {
namespace {

constexpr std::int64_t kEndedNs = 1'000'000'000'000'000'000;
constexpr const char *kOld = "it is more than 30 days old",
                     *kWeak = "what it tried may be faster, but was within the noise",
                     *kContradicted =
                         "iterations take another time than it recorded for this setting",
                     *kStays = "";

struct ReopeningCase {
  const char* name;
  EndedSearch search;
  PresentIterations present;
  std::int64_t age_ns;
  const char* why;
};

const ReopeningCase kReopeningCases[] = {
    {"what is fresh, strong and as recorded", {.recorded_ns = 100}, {101, 0.1}, 1, kStays},
    {"nothing recorded, nothing seen", {}, {}, 1, kStays},
    // Age.
    {"at the age", {}, {}, kOldSearchNs, kStays},
    {"beyond the age", {}, {}, kOldSearchNs + 1, kOld},
    {"a clock that was set back", {}, {}, -kOldSearchNs, kStays},
    {"old comes before all", {.weak_in_a_row = 1}, {}, kOldSearchNs + 1, kOld},
    // Weakness.
    {"the first weak one", {.weak_in_a_row = 1}, {}, 1, kWeak},
    {"as many weak ones as are begun", {.weak_in_a_row = kMostWeakSearches}, {}, 1, kStays},
    // Contradiction.
    {"twice as long", {.recorded_ns = 100}, {200, 0.5}, 1, kContradicted},
    {"half as long", {.recorded_ns = 100}, {50, 0.5}, 1, kContradicted},
    {"within the job's noise", {.recorded_ns = 100}, {149, 0.5}, 1, kStays},
    {"beyond the job's noise", {.recorded_ns = 100}, {151, 0.5}, 1, kContradicted},
    {"within both noises",
     {.recorded_ns = 100, .recorded_error_share = 0.05},
     {151, 0.5},
     1,
     kStays},
    {"beyond both noises",
     {.recorded_ns = 100, .recorded_error_share = 0.05},
     {180, 0.5},
     1,
     kContradicted},
    {"too few iterations to know", {.recorded_ns = 100}, {0, 0.5}, 1, kStays},
    {"a setting that was not recorded", {}, {200, 0.1}, 1, kStays},
};

TEST(EndedSearchTest, IsOpenedAgainForAReason) {
  for (const ReopeningCase& each : kReopeningCases) {
    EndedSearch search = each.search;
    search.ended_at_ns = kEndedNs;
    EXPECT_EQ(why_search_again(search, each.present, kEndedNs + each.age_ns).value_or(kStays),
              each.why)
        << each.name;
  }
}

TEST(EndedSearchTest, SaysWhatItCameTo) {
  EXPECT_EQ(
      to_json({.study = "gpt2-3", .ended_at_ns = 9, .tried = 5, .kept = 2}),
      nlohmann::json::parse(R"({"study": "gpt2-3", "tried": 5, "kept": 2, "ended_at_ns": 9})"));
}

}  // namespace
}  // namespace hocket
