// Tests that a choice among the configurations that a daemon lists is the choice among those of its
// store.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "archive/promotions/promotion_list.h"
#include "archive/promotions/stored_promotions.h"
#include "tests/daemon/assembled.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

class ListedConfigs : public ::testing::Test {
 protected:
  static Topology host() {
    Topology topology = sample_topology();
    topology.accelerator = "NVIDIA H200";
    return topology;
  }

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  template <class T, std::size_t n>
  T one_of(const T (&values)[n]) {
    return values[below(n)];
  }

  Topology random_topology() {
    Topology topology = host();
    if (below(3) == 0) topology.cores = 64;
    if (below(4) == 0) topology.sockets = 2;  // which no name of a topology says
    if (below(4) == 0) topology.accelerator.clear();
    topology.world_size = one_of({1, 2, 22});
    topology.link = one_of({"tcp", "emulated 500mbit,50us", "tcp, parameter servers: 2"});
    return topology;
  }

  Workload random_workload() {
    const char* const name = one_of({"gpt", "train.py"});
    if (below(2) == 0) return {.name = name, .tensors = {{"w", one_of({8, 16})}}};
    Workload workload{.name = name, .program = one_of({"", "/a/train.py", "/b/train.py"})};
    if (below(2) == 0) workload.parameters.push_back({"X", "int"});
    if (below(2) == 0) workload.parameters.push_back({"Y", one_of({"int", "float"})});
    return workload;
  }

  void fill(Store& store) {
    for (std::size_t i = 1 + below(12); i > 0; --i) {
      const auto topology = must(store.upsert_topology(random_topology()));
      const auto workload = must(store.upsert_workload(random_workload()));
      for (std::size_t versions = below(4); versions > 0; --versions) {
        const auto row = must(store.promote(
            {.topology_id = topology,
             .workload_id = workload,
             .config = below(4) == 0 ? nlohmann::json::object()
                                     : nlohmann::json{{"streams", 1 + below(9)}},
             .origin = PromotionOrigin::push,
             .stage = below(3) == 0 ? PromotionStage::staged : PromotionStage::released,
             .actor = "ada"}));
        if (below(4) == 0) must(store.set_stage(row.id, PromotionStage::withdrawn, "ada", ""));
      }
      if (below(4) == 0) must(store.set_key_state(topology, workload, {.pinned = true}, "ada"));
    }
  }

  PromotionChoice random_choice() {
    PromotionChoice choice{.workload = one_of({"gpt", "train.py", "/a/train.py", "/c", ""})};
    if (below(4) == 0) choice.workload = fingerprint(random_workload()).substr(0, 1 + below(36));
    if (below(3) == 0) choice.topology = fingerprint(random_topology()).substr(0, 1 + below(36));
    if (below(3) == 0) choice.world_size = one_of({1, 2, 22});
    if (below(3) == 0) choice.link = one_of({"tcp", "500mbit,50us", "tc"});
    return choice;
  }

  /// Returns the key and version of the chosen one, or the error.
  static std::string answer(const std::vector<PromotionCandidate>& candidates,
                            const PromotionChoice& choice) {
    const auto chosen = choose_promotion(candidates, choice, host());
    if (!chosen) return "error: " + chosen.error().message;
    const PromotionCandidate& candidate = candidates[*chosen];
    return to_string(candidate.key) + " " + std::to_string(candidate.version);
  }

  std::mt19937_64 random_;
};

/// Returns the list as daemons sent it before they described topologies.
nlohmann::json older(nlohmann::json list) {
  for (auto& item : list["configs"]) {
    for (const char* name : {"topology_document", "tensors", "at_default"}) item.erase(name);
  }
  return list;
}

TEST_F(ListedConfigs, AreChosenLikeThoseOfTheStoreAndOnlySurelyFromAnOlderDaemon) {
  std::size_t found = 0, found_of_older = 0;
  for (std::uint64_t seed = 1; seed <= rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(seed);
    SetClock clock;
    const auto store = open_store_in_memory();
    fill(*store);
    Assembled daemon(*store, clock);
    const auto list = daemon.ask("GET", "/v1/configs");
    const auto stored = candidates_of(must(current_promotions(*store)));
    const auto listed = listed_promotions(list), of_older = listed_promotions(older(list));
    EXPECT_EQ(listed.current, stored);
    for (int i = 0; i < 20; ++i) {
      const PromotionChoice choice = random_choice();
      const std::string wanted = answer(stored, choice);
      EXPECT_EQ(answer(listed.current, choice), wanted);
      if (!wanted.starts_with("error")) ++found;
      // An older daemon does not say either which keys went back to their default.
      const auto chosen = choose_promotion(of_older.current, choice, host());
      if (!chosen) continue;
      ++found_of_older;
      const ConfigKey& key = of_older.current[*chosen].key;
      const bool is_at_default = std::ranges::any_of(
          listed.others, [&](const PromotionCandidate& other) { return other.key == key; });
      if (!is_at_default) {
        EXPECT_TRUE(wanted.starts_with(to_string(key))) << wanted;
      }
    }
  }
  EXPECT_GT(found, rounds(200));
  EXPECT_GT(found_of_older, 0U);
}

TEST_F(ListedConfigs, HaveTheTopologyAsADocumentAndItsNameForOlderClients) {
  const auto store = open_store_in_memory();
  SetClock clock;
  must(store->promote({.topology_id = must(store->upsert_topology(host())),
                       .workload_id = must(store->upsert_workload(sample_workload())),
                       .origin = PromotionOrigin::push,
                       .actor = "ada"}));
  const auto item = Assembled(*store, clock).ask("GET", "/v1/configs")["configs"].at(0);
  EXPECT_EQ(item["topology"], readable_name(host()));
  EXPECT_EQ(item["topology_document"], to_json(host()));
  EXPECT_EQ(item["tensors"], 2);
  EXPECT_EQ(item["at_default"], true);
}

}  // namespace
}  // namespace hocket
