#include "archive/promotions/promotion_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <set>

#include "archive/promotions/rollback.h"
#include "archive/promotions/stored_promotions.h"
#include "store/open.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Topology host() {
  Topology topology;
  topology.cpu_model = "cpu";
  topology.sockets = topology.numa_nodes = 1;
  topology.cores = topology.hardware_threads = 4;
  topology.memory_gib = 8;
  return topology;
}

Topology with(const std::string& link, int world_size, int cores = 4) {
  auto topology = host();
  topology.link = link;
  topology.world_size = world_size;
  topology.cores = cores;
  return topology;
}

class PromotionChoiceTest : public ::testing::Test {
 protected:
  /// Promotes {"pull_credit_bytes": id}.
  void promote(const Topology& topology, const Workload& workload, int id) {
    NewStudy new_study;
    new_study.command = {"x"};
    const auto study = store_->create_study(new_study);
    ASSERT_TRUE(store_->promote({.topology_id = *store_->upsert_topology(topology),
                                 .workload_id = *store_->upsert_workload(workload),
                                 .study_id = study->id,
                                 .config = {{"pull_credit_bytes", id}}}));
  }

  std::vector<PromotedVersions> promoted() {
    auto found = current_promotions(*store_);
    EXPECT_TRUE(found);
    return *found;
  }

  /// Returns the id of the selected promotion, 0 if there is none.
  int chosen(const PromotionChoice& choice) {
    const auto all = promoted();
    const auto found = choose_promotion(candidates_of(all), choice, host());
    return found ? all[*found].promotion.config.at("pull_credit_bytes").get<int>() : 0;
  }

  std::string refusal(const PromotionChoice& choice) {
    const auto found = choose_promotion(candidates_of(promoted()), choice, host());
    return found ? "" : found.error().message;
  }

  std::unique_ptr<Store> store_ = open_store_in_memory();
  const Workload gpt{"gpt", {{"w", 8}}}, bert{"bert", {}};
};

TEST_F(PromotionChoiceTest, TheLatestOfATopologyAndWorkloadCounts) {
  promote(with("tcp", 2), gpt, 1);
  promote(with("tcp", 2), gpt, 2);
  EXPECT_EQ(promoted().size(), 1U);
  EXPECT_EQ(chosen({.workload = "gpt"}), 2);
}

TEST_F(PromotionChoiceTest, ChoosesByEachOfItsFields) {
  promote(with("tcp", 2), gpt, 1);
  promote(with("tcp", 4), gpt, 2);
  promote(with("emulated 500mbit", 4), gpt, 3);
  promote(with("tcp", 2), bert, 4);
  promote(with("tcp", 2, 64), gpt, 5);
  EXPECT_EQ(chosen({.workload = "bert"}), 4);
  EXPECT_EQ(chosen({.workload = fingerprint(bert).substr(0, 8)}), 4);
  EXPECT_EQ(chosen({.workload = "gpt", .world_size = 2}), 1);
  EXPECT_EQ(chosen({.workload = "gpt", .world_size = 4, .link = "tcp"}), 2);
  EXPECT_EQ(chosen({.workload = "gpt", .link = "500mbit"}), 3);
  EXPECT_EQ(chosen({.workload = "gpt", .link = "emulated 500mbit"}), 3);
  EXPECT_EQ(chosen({.workload = "gpt", .topology = fingerprint(with("tcp", 2, 64))}), 5);
}

TEST_F(PromotionChoiceTest, OtherHardwareIsLeftOutUnlessNamed) {
  promote(with("tcp", 2, 64), gpt, 1);
  EXPECT_THAT(refusal({.workload = "gpt"}),
              HasSubstr("--topology " + fingerprint(with("tcp", 2, 64)).substr(0, 8)));
}

TEST(SameHardware, DiffersInAnyOfProcessorCoresAndMemory) {
  EXPECT_TRUE(same_hardware(host(), with("tcp", 4)));
  Topology other = host();
  other.cpu_model = "another";
  EXPECT_FALSE(same_hardware(host(), other));
  other = host();
  other.memory_gib = 9;
  EXPECT_FALSE(same_hardware(host(), other));
  for (int Topology::*const count :
       {&Topology::sockets, &Topology::numa_nodes, &Topology::cores, &Topology::hardware_threads}) {
    other = host();
    ++(other.*count);
    EXPECT_FALSE(same_hardware(host(), other));
  }
}

TEST_F(PromotionChoiceTest, SeveralAreListedWithWhatChoosesThem) {
  promote(with("tcp", 2), gpt, 1);
  promote(with("emulated 1gbit", 2), gpt, 2);
  const auto message = refusal({.workload = "gpt"});
  EXPECT_THAT(message, HasSubstr("2 configurations match"));
  EXPECT_THAT(message, HasSubstr(fingerprint(with("tcp", 2)).substr(0, 8)));
  EXPECT_THAT(message, HasSubstr("emulated link: 1gbit"));
}

TEST_F(PromotionChoiceTest, NoneSaysWhichWorkloadsThereAre) {
  EXPECT_THAT(refusal({.workload = "gpt"}), HasSubstr("nothing was promoted yet"));
  promote(with("tcp", 2), bert, 1);
  EXPECT_THAT(refusal({.workload = "gpt"}), HasSubstr("there are bert"));
}

TEST_F(PromotionChoiceTest, AScriptIsChosenByNameOrPathWithTheParametersPromotedLast) {
  const Workload one{.name = "train.py", .program = "/a/train.py", .parameters = {{"X", "int"}}};
  Workload more = one, other = one;
  more.parameters.push_back({"Y", "int"});
  promote(host(), more, 1);
  promote(host(), one, 2);
  EXPECT_EQ(chosen({.workload = "train.py"}), 2);
  EXPECT_EQ(chosen({.workload = "/a/train.py"}), 2);
  EXPECT_EQ(chosen({.workload = fingerprint(more)}), 1);
  other.program = "/b/train.py";
  promote(host(), other, 3);
  EXPECT_EQ(chosen({.workload = "/a/train.py"}), 2);
  EXPECT_THAT(refusal({.workload = "train.py"}), HasSubstr("/b/train.py"));
  const auto all = candidates_of(promoted());
  EXPECT_EQ(fetch_arguments(all, all.size() - 1, host()),
            (std::vector<std::string>{"--workload", "/b/train.py"}));
}

TEST_F(PromotionChoiceTest, OnlyThePlainCommandOfOnePlaceIsTakenForOne) {
  const Workload script{.name = "train.py", .program = "/a/train.py"};
  promote(with("tcp", 2), script, 1);
  promote(with("tcp", 4), script, 2);
  EXPECT_THAT(refusal({.workload = "train.py"}), HasSubstr("2 configurations match"));
  promote(with("tcp", 2), gpt, 3);
  promote(with("tcp", 2), {gpt.name, {{"w", 16}}}, 4);
  EXPECT_THAT(refusal({.workload = "gpt"}), HasSubstr("2 configurations match"));
}

TEST_F(PromotionChoiceTest, AKeyAtItsDefaultHasNoConfiguration) {
  promote(host(), bert, 1);
  ASSERT_TRUE(
      roll_back(*store_, {fingerprint(host()), fingerprint(bert)}, NoConfiguration{}, "ada", ""));
  EXPECT_EQ(chosen({.workload = "bert"}), 0);
}

TEST_F(PromotionChoiceTest, ALinkIsComparedAsAWhole) {
  promote(with("tcp", 2), gpt, 1);
  promote(with("tcp, parameter servers: 2", 2), gpt, 2);
  promote(with("emulated 500mbit,50us", 2), gpt, 3);
  EXPECT_EQ(chosen({.workload = "gpt", .link = "tcp"}), 1);
  EXPECT_EQ(chosen({.workload = "gpt", .link = "tcp, parameter servers: 2"}), 2);
  EXPECT_EQ(chosen({.workload = "gpt", .link = "500mbit,50us"}), 3);
  EXPECT_EQ(chosen({.workload = "gpt", .link = "500mbit"}), 0);
  EXPECT_EQ(chosen({.workload = "gpt", .link = "tc"}), 0);
}

TEST_F(PromotionChoiceTest, WhatDependsOnAnUnknownTopologyIsRefused) {
  promote(with("tcp", 2), gpt, 1);
  promote(with("tcp", 4), gpt, 2);
  promote(with("tcp", 2), bert, 3);
  auto all = candidates_of(promoted());
  all[0].topology.reset();
  all[0].why_unknown = "it is not said";
  const std::string known = all[2].key.topology, unknown = all[0].key.topology;
  const auto error = [&](const PromotionChoice& choice) {
    const auto found = choose_promotion(all, choice, host());
    return found ? Error{ErrorCode::invalid_argument, "no error"} : found.error();
  };
  for (const PromotionChoice& choice :
       {PromotionChoice{.workload = "gpt"}, PromotionChoice{.workload = "gpt", .world_size = 4},
        PromotionChoice{.workload = "gpt", .link = "tcp"},
        PromotionChoice{.workload = "gpt", .topology = unknown, .world_size = 2}}) {
    EXPECT_EQ(error(choice).code, ErrorCode::unavailable);
    EXPECT_THAT(error(choice).message,
                AllOf(HasSubstr("it is not said"), HasSubstr("--topology " + unknown.substr(0, 8)),
                      HasSubstr("gpt on 2 ranks, tcp")));
  }
  EXPECT_EQ(must(choose_promotion(all, {.workload = "gpt", .topology = unknown}, host())), 0U);
  EXPECT_EQ(must(choose_promotion(all, {.workload = "gpt", .topology = known}, host())), 2U);
  EXPECT_EQ(must(choose_promotion(all, {.workload = "bert"}, host())), 1U);
  EXPECT_EQ(error({.workload = "other"}).code, ErrorCode::not_found);
}

TEST_F(PromotionChoiceTest, TheArgumentsForFetchChooseExactlyTheOne) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    store_ = open_store_in_memory();
    std::mt19937_64 random(seed);
    const char* links[] = {"local", "tcp", "emulated 1gbit"};
    for (int i = 0; i < 12; ++i) {
      auto topology =
          with(links[random() % 3], 1 + static_cast<int>(random() % 2), random() % 4 == 0 ? 64 : 4);
      topology.library_versions["gloo"] = random() % 2 == 0 ? "1" : "2";
      promote(topology,
              {random() % 2 == 0 ? "gpt" : "a b", {{"w", static_cast<std::int64_t>(random() % 2)}}},
              i + 1);
    }
    const auto all = promoted();
    for (std::size_t wanted = 0; wanted < all.size(); ++wanted) {
      const auto arguments = fetch_arguments(candidates_of(all), wanted, host());
      PromotionChoice choice;
      for (std::size_t i = 0; i < arguments.size(); i += 2) {
        if (arguments[i] == "--workload") choice.workload = arguments[i + 1];
        if (arguments[i] == "--topology") choice.topology = arguments[i + 1];
        if (arguments[i] == "--world-size") choice.world_size = std::stoi(arguments[i + 1]);
        if (arguments[i] == "--link") choice.link = arguments[i + 1];
      }
      EXPECT_EQ(chosen(choice), all[wanted].promotion.config.at("pull_credit_bytes"));
    }
  }
}

/// Returns the choices that the commands between backticks in `message` make.
std::vector<PromotionChoice> choices_in(const std::string& message) {
  std::vector<PromotionChoice> choices;
  const std::regex command("`hocket with --workload ([^ ']+|'[^']*') --topology ([^ ]+) -- ./a b`");
  for (std::sregex_iterator it(message.begin(), message.end(), command), end; it != end; ++it) {
    std::string workload = (*it)[1];
    if (workload.starts_with("'")) workload = workload.substr(1, workload.size() - 2);
    choices.push_back({.workload = workload, .topology = (*it)[2]});
  }
  return choices;
}

TEST_F(PromotionChoiceTest, TheCommandsOfAnErrorChooseWhatTheyName) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    store_ = open_store_in_memory();
    std::mt19937_64 random(seed);
    const char* links[] = {"local", "tcp", "emulated 1gbit"};
    std::size_t of_gpt = 0;
    for (int i = 0; i < 6; ++i) {
      const bool is_gpt = random() % 4 != 0;
      promote(with(links[random() % 3], 1 + static_cast<int>(random() % 2), 64),
              {is_gpt ? "a b" : "bert", {{"w", static_cast<std::int64_t>(random() % 2)}}}, i + 1);
    }
    for (const auto& each : promoted()) of_gpt += each.workload.name == "a b" ? 1 : 0;
    // Neither fits: the one has other hardware, the other has other ranks.
    for (PromotionChoice choice : {PromotionChoice{.workload = "a b"},
                                   PromotionChoice{.workload = "a b", .world_size = 9}}) {
      choice.command = "hocket with";
      choice.command_end = " -- ./a b";
      const auto choices = choices_in(refusal(choice));
      ASSERT_EQ(choices.size(), of_gpt) << refusal(choice);
      std::set<int> ids;
      for (const PromotionChoice& told : choices) ids.insert(chosen(told));
      EXPECT_EQ(ids.size(), of_gpt);
      EXPECT_FALSE(ids.contains(0));
    }
  }
}

}  // namespace
}  // namespace hocket
