#include "archive/promotions/promotion_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/base/json.h"
#include "tests/mutate.h"
#include "tests/rounds.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

KeyRow key_row() {
  return {.key = {fingerprint(sample_topology()), fingerprint(sample_workload())},
          .topology_name = readable_name(sample_topology()),
          .workload_name = "gpt2",
          .current_id = 7};
}

nlohmann::json entry(const KeyRow& key = key_row(), const Workload& workload = sample_workload()) {
  TopologyRow topology_row;
  topology_row.document = to_json(sample_topology());
  WorkloadRow workload_row;
  workload_row.document = to_json(workload);
  return to_json(key, topology_row, workload_row);
}

ListedPromotions listed(const nlohmann::json& item) {
  return listed_promotions({{"configs", nlohmann::json::array({item})}});
}

TEST(PromotionList, IsReadAsItWasWritten) {
  const auto read = listed(entry());
  ASSERT_EQ(read.current.size(), 1U);
  EXPECT_EQ(read.current[0], (PromotionCandidate{.key = key_row().key,
                                                 .version = 7,
                                                 .workload = "gpt2",
                                                 .has_tensors = true,
                                                 .place = readable_name(sample_topology()),
                                                 .topology = sample_topology()}));
  KeyRow row = key_row();
  row.is_at_default = true;
  EXPECT_EQ(listed(entry(row)).others.size(), 1U);
  row.is_at_default = false;
  row.current_id.reset();
  EXPECT_EQ(listed(entry(row)).others.size(), 1U);
  const Workload plain{.name = "train.py", .program = "/a/train.py"};
  const auto command = listed(entry(key_row(), plain));
  EXPECT_EQ(command.current.at(0).program, "/a/train.py");
  EXPECT_FALSE(command.current.at(0).has_tensors);
}

TEST(PromotionList, ATopologyOfAnOlderDaemonIsUnknownWhateverItsNameSays) {
  auto item = entry();
  for (const char* name : {"topology_document", "tensors", "at_default"}) item.erase(name);
  const auto read = listed(item);
  ASSERT_EQ(read.current.size(), 1U);
  EXPECT_FALSE(read.current[0].topology);
  const auto chosen = choose_promotion(read.current, {.workload = "gpt2"}, sample_topology());
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, ErrorCode::unavailable);
  EXPECT_THAT(chosen.error().message,
              AllOf(HasSubstr("daemon is older"), HasSubstr("update the daemon"),
                    HasSubstr("--topology " + key_row().key.topology.substr(0, 8))));
  EXPECT_TRUE(choose_promotion(
      read.current, {.workload = "gpt2", .topology = key_row().key.topology}, sample_topology()));
}

TEST(PromotionList, GarbageIsLeftOutOrUnknown) {
  for (const nlohmann::json& garbage :
       {nlohmann::json(), nlohmann::json(5), nlohmann::json("2 ranks, tcp"),
        nlohmann::json::object(), nlohmann::json::array({1})}) {
    auto item = entry();
    item["topology_document"] = garbage;
    const auto read = listed(item);
    ASSERT_EQ(read.current.size(), 1U);
    EXPECT_FALSE(read.current[0].topology) << garbage.dump();
    const auto chosen = choose_promotion(read.current, {.workload = "gpt2"}, sample_topology());
    ASSERT_FALSE(chosen);
    EXPECT_THAT(chosen.error().message, HasSubstr("cannot read"));
  }
  auto item = entry();
  item["topology_document"]["world_size"] = -1;
  EXPECT_FALSE(listed(item).current.at(0).topology);
  item["key"] = "../../etc";
  EXPECT_TRUE(listed(item).current.empty());
  EXPECT_TRUE(listed("text").current.empty());
  EXPECT_TRUE(listed_promotions({{"configs", 3}}).current.empty());
  EXPECT_TRUE(listed_promotions(nlohmann::json::object()).current.empty());
}

TEST(PromotionList, NamesOfADaemonStayOnOneLineOfAMessage) {
  auto item = entry();
  item["workload"] = "gpt2\nerror: \x1b[31m";
  const auto read = listed(item);
  for (const std::string& wanted : {key_row().key.workload, std::string("other")}) {
    const PromotionChoice choice{.workload = wanted, .world_size = 1000};
    const auto refused = choose_promotion(read.current, choice, sample_topology());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message.find_first_of("\n\x1b"), std::string::npos) << wanted;
  }
}

TEST(PromotionList, MutatedListsGiveAnErrorOnOneLineOrAnEntryOfTheList) {
  const nlohmann::json list = {{"configs", {entry(), entry()}}};
  for (std::uint64_t seed = 1; seed <= rounds(400); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto document = parse_object(mutate(list.dump(), random), "the answer");
    if (!document) continue;
    const auto read = listed_promotions(*document);
    const auto chosen = choose_promotion(read.current, {.workload = "gpt2"}, sample_topology());
    if (chosen) {
      EXPECT_LT(*chosen, read.current.size());
    } else {
      EXPECT_EQ(chosen.error().message.find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace hocket
