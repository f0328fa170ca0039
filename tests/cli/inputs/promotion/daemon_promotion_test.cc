#include "cli/inputs/promotion/daemon_promotion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/fingerprint.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Topology topology(int world_size, const std::string& link, const std::string& cpu = "X, 3 GHz") {
  Topology topology;
  topology.cpu_model = cpu;
  topology.cores = 4;
  topology.memory_gib = 8;
  topology.link = link;
  topology.world_size = world_size;
  return topology;
}

DaemonPromotion promotion(const std::string& workload, const Topology& place,
                          std::int64_t version = 7) {
  return {{fingerprint(place), fingerprint_of({{"name", workload}})},
          workload,
          readable_name(place),
          version};
}

const std::vector<DaemonPromotion> kAll = {
    promotion("one", topology(1, "local")),
    promotion("two", topology(2, "tcp")),
    promotion("two", topology(2, "emulated 500mbit,50us")),
    promotion("two", topology(22, "tcp")),
    promotion("two", topology(4, "tcp", "Y")),
    promotion("none", topology(2, "tcp"), 0),
    promotion("two", topology(2, "tcp, parameter servers: 2")),
};

/// Returns the index in kAll selected by `choice` on a host like the first's; −1 on an error.
int chosen(const PromotionChoice& choice) {
  const auto found = choose(kAll, choice, topology(1, "local"));
  if (!found) return -1;
  int index = 0;
  while (!(kAll[static_cast<std::size_t>(index)].key == found->key)) ++index;
  return index;
}

TEST(DaemonPromotion, IsChosenLikeOneOfTheStore) {
  EXPECT_EQ(chosen({.workload = "one"}), 0);
  EXPECT_EQ(chosen({.workload = kAll[0].key.workload.substr(0, 8)}), 0);
  EXPECT_EQ(chosen({.workload = "two"}), -1);
  EXPECT_EQ(chosen({.workload = "two", .world_size = 2}), -1);
  EXPECT_EQ(chosen({.workload = "two", .world_size = 2, .link = "tcp"}), 1);
  EXPECT_EQ(chosen({.workload = "two", .link = "tcp, parameter servers: 2"}), 6);
  EXPECT_EQ(chosen({.workload = "two", .link = "500mbit,50us"}), 2);
  EXPECT_EQ(chosen({.workload = "two", .link = "500mbit"}), -1);
  EXPECT_EQ(chosen({.workload = "two", .world_size = 22}), 3);
  EXPECT_EQ(chosen({.workload = "two", .world_size = 22, .link = "tc"}), -1);
  EXPECT_EQ(chosen({.workload = "two", .world_size = 4}), -1) << "of another kind of host";
  EXPECT_EQ(chosen({.workload = "two", .topology = kAll[4].key.topology.substr(0, 9)}), 4);
  EXPECT_EQ(chosen({.workload = "none"}), -1);
}

TEST(DaemonPromotion, WhatIsNotOneIsSaidWithWhatThereIs) {
  const Topology host = topology(1, "local");
  EXPECT_THAT(choose(std::vector<DaemonPromotion>(), {.workload = "a"}, host).error().message,
              HasSubstr("knows none yet"));
  EXPECT_THAT(choose(kAll, {.workload = "a"}, host).error().message,
              AllOf(HasSubstr("is one on 1 rank, local"), HasSubstr("with no version")));
  EXPECT_THAT(choose(kAll, {.workload = "two"}, host).error().message,
              AllOf(HasSubstr("4 configurations match"), HasSubstr("--link")));
}

TEST(DaemonPromotion, IsReadFromAnyAnswer) {
  const std::string key = to_string(kAll[0].key);
  const nlohmann::json answer = {
      {"configs",
       {{{"key", key}, {"workload", "w"}, {"topology", "t"}, {"version", 3}},
        {{"key", key}, {"workload", 5}},
        {{"key", "../../etc"}},
        "text"}}};
  const auto read = promotions_of(answer);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].version, 3);
  EXPECT_EQ(read[1].workload + read[1].topology, "");
  EXPECT_TRUE(promotions_of({{"configs", 3}}).empty());
  EXPECT_TRUE(promotions_of(nlohmann::json::object()).empty());
}

}  // namespace
}  // namespace hocket
