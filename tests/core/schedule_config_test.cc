#include "core/schedule_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/mutate.h"

namespace hocket {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& text) {
  const auto config = parse_schedule_config(text);
  return config ? "no error" : config.error().message;
}

TEST(ScheduleConfig, JsonRoundTripsForRandomValues) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    ScheduleConfig config;
    config.partition_bytes = 4096 + static_cast<std::int64_t>(random() % (1 << 29));
    config.credit_bytes = 4096 + static_cast<std::int64_t>(random() % (1 << 30));
    config.streams = 1 + static_cast<int>(random() % 64);
    config.comm_channels = 1 + static_cast<int>(random() % 16);
    config.order = static_cast<CollectiveOrder>(random() % 3);
    const auto read_back = parse_schedule_config(to_json(config).dump());
    ASSERT_TRUE(read_back) << read_back.error().message;
    ASSERT_EQ(*read_back, config);
    ASSERT_TRUE(validate(config));
  }
}

TEST(ScheduleConfig, PriorityIsAnotherSpellingOfNegotiated) {
  const auto config =
      parse_schedule_config(R"({"format":"hocket-schedule","version":1,"order":"priority"})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->order, CollectiveOrder::negotiated);
  EXPECT_EQ(to_json(*config)["order"], "negotiated");
}

TEST(ScheduleConfig, KeepsFieldsOfANewerVersionAndWarns) {
  std::vector<std::string> warnings;
  const auto config = parse_schedule_config(
      R"({"format":"hocket-schedule","version":9,"streams":2,"offload_k":3})", &warnings);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->streams, 2);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("offload_k"));
  EXPECT_EQ(to_json(*config)["offload_k"], 3);
}

TEST(ScheduleConfig, ErrorsNameTheFieldAndTheRange) {
  const std::string head = R"({"format":"hocket-schedule","version":1,)";
  EXPECT_THAT(error_of(head + R"("streams":0})"),
              HasSubstr(R"(field "streams": expected an integer from 1 to 64, found 0)"));
  EXPECT_THAT(error_of(head + R"("partition_bytes":1.5})"),
              HasSubstr("from 4096 to 1073741824, found 1.5"));
  EXPECT_THAT(error_of(head + R"("credit_bytes":"4M"})"), HasSubstr(R"(field "credit_bytes")"));
  EXPECT_THAT(error_of(head + R"("credit_bytes":18446744073709551615})"),
              HasSubstr(R"(field "credit_bytes")"));
  EXPECT_THAT(error_of(head + R"("order":"lifo"})"),
              HasSubstr("expected one of fifo, static, negotiated, found \"lifo\""));
  EXPECT_THAT(error_of(R"({"streams":2})"), HasSubstr(R"(field "format" is missing)"));
  EXPECT_THAT(error_of(R"({"format":"other","version":1})"),
              HasSubstr("expected \"hocket-schedule\""));
  EXPECT_THAT(error_of("[1]"), HasSubstr("must be a JSON object, found array"));
  EXPECT_THAT(error_of("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), HasSubstr("nested more than 64 levels"));

  ScheduleConfig config;
  config.streams = 65;
  EXPECT_THAT(validate(config).error().message, HasSubstr("from 1 to 64, found 65"));
}

TEST(ScheduleConfig, DamagedTextIsRefusedOrGivesAValidConfiguration) {
  std::mt19937_64 random(2);
  const std::string valid = to_json(ScheduleConfig{}).dump();
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = mutate(valid, random);
    const auto config = parse_schedule_config(text);
    refused += !config;
    if (config) {
      ASSERT_TRUE(validate(*config)) << text;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace hocket
