// Tests the store's functions for keys: versions, states, quarantine, audit.

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <functional>

#include "tests/store/store_fixture.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr PromotionOrigin kOrigins[] = {PromotionOrigin::study, PromotionOrigin::live,
                                        PromotionOrigin::push, PromotionOrigin::rollback,
                                        PromotionOrigin::pin};
constexpr PromotionStage kStages[] = {PromotionStage::staged, PromotionStage::released,
                                      PromotionStage::withdrawn, PromotionStage::held};

class StoreKeys : public StoreFixture {
 protected:
  NewPromotion pushed(PromotionStage stage = PromotionStage::released) const {
    return {.topology_id = topology_,
            .workload_id = workload_,
            .config = {{"streams", 2}},
            .origin = PromotionOrigin::push,
            .stage = stage,
            .actor = "ada",
            .note = "faster"};
  }

  /// Adds a version and brings it to `stage`.
  PromotionRow version_in(PromotionStage stage) {
    const bool is_held = stage == PromotionStage::held;
    must(store_->set_key_state(topology_, workload_, {.pinned = is_held}, ""));
    auto wanted = pushed(PromotionStage::staged);
    if (is_held) wanted.origin = PromotionOrigin::live;
    auto row = must(store_->promote(wanted));
    if (!is_held) must(store_->set_stage(row.id, stage, "", ""));
    row.stage = stage;
    return row;
  }

  std::optional<PromotionRow> current() {
    return must(store_->current_promotion(key_.topology, key_.workload));
  }
  std::optional<PromotionRow> staged() {
    return must(store_->staged_promotion(key_.topology, key_.workload));
  }
  PromotionRow stored(std::int64_t id) { return must(store_->promotions({})).at(id - 1); }

  const std::int64_t topology_ = must(store_->upsert_topology(sample_topology()));
  const std::int64_t workload_ = must(store_->upsert_workload(sample_workload()));
  const ConfigKey key_{fingerprint(sample_topology()), fingerprint(sample_workload())};
};

TEST_F(StoreKeys, StudiesOfAKeyAreThoseOfItsTopologyAndWorkload) {
  auto other_place = sample_topology();
  other_place.world_size += 1;
  const auto topologies = {topology_, must(store_->upsert_topology(other_place))};
  const auto workloads = {workload_, must(store_->upsert_workload({.name = "another"}))};
  for (const int round : {0, 1}) {
    for (const auto topology : topologies) {
      for (const auto workload : workloads) {
        auto wanted = sample_study(std::to_string(round) + "-" + std::to_string(topology) + "-" +
                                   std::to_string(workload));
        wanted.topology_id = topology;
        wanted.workload_id = workload;
        must(store_->create_study(wanted));
      }
    }
  }
  must(store_->create_study(sample_study("of-no-key-yet")));
  const auto found = must(store_->studies_of_key(topology_, workload_));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_LT(found[0].id, found[1].id);
  for (const StudyRow& study : found) EXPECT_EQ(study, must(store_->study(study.name)));
  EXPECT_EQ(found[1].topology_id, topology_);
  EXPECT_EQ(found[1].workload_id, workload_);
}

TEST_F(StoreKeys, AStagedVersionIsForTheOwnersThatHaveKeptIt) {
  const auto released = must(store_->promote(pushed()));
  auto wanted = pushed(PromotionStage::staged);
  wanted.origin = PromotionOrigin::live;
  wanted.kept_by = {"ada"};
  const auto kept = must(store_->promote(wanted));
  EXPECT_EQ(kept.kept_by, std::vector<std::string>{"ada"});
  EXPECT_EQ(stored(kept.id), kept);
  EXPECT_EQ(current(), released) << "it is not for everybody";
  must(store_->add_keeper(kept.id, "bob", "hocket serve", "job b kept it"));
  must(store_->add_keeper(kept.id, "bob", "hocket serve", "again"));
  EXPECT_THAT(stored(kept.id).kept_by, ElementsAre("ada", "bob"));
  const auto rows = must(store_->promotions({}));
  EXPECT_EQ(newest_for(rows, "ada")->id, kept.id);
  EXPECT_EQ(newest_for(rows, "bob")->id, kept.id);
  EXPECT_EQ(newest_for(rows, "eve")->id, released.id);
  EXPECT_EQ(newest_for(rows, "")->id, released.id);
  const auto audit = must(store_->audit({}));
  EXPECT_EQ(audit.back().action, "add_keeper");
  EXPECT_EQ(audit.back().detail,
            nlohmann::json({{"version", kept.id}, {"owner", "bob"}, {"note", "job b kept it"}}));
  EXPECT_EQ(audit.at(audit.size() - 2).detail["kept_by"], nlohmann::json({"ada"}));
  must(store_->set_stage(kept.id, PromotionStage::withdrawn, "", ""));
  must(store_->add_keeper(kept.id, "eve", "", ""));
  EXPECT_THAT(stored(kept.id).kept_by, ElementsAre("ada", "bob")) << "it is not staged any more";
  EXPECT_EQ(newest_for(must(store_->promotions({})), "ada")->id, released.id);
}

TEST_F(StoreKeys, OnlyAStagedVersionHasKeepersAndTheyHaveNames) {
  auto wanted = pushed();
  wanted.kept_by = {"ada"};
  EXPECT_EQ(code_of(store_->promote(wanted)), ErrorCode::invalid_argument);
  const auto row = must(store_->promote(pushed(PromotionStage::staged)));
  EXPECT_EQ(code_of(store_->add_keeper(row.id, "", "", "")), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store_->add_keeper(row.id + 1, "ada", "", "")), ErrorCode::not_found);
}

TEST_F(StoreKeys, AVersionIsKeptAsItWasTold) {
  const auto study = new_study().id;
  std::vector<PromotionRow> rows;
  for (const auto origin : kOrigins) {
    for (const auto stage : {PromotionStage::staged, PromotionStage::released}) {
      auto wanted = pushed(stage);
      wanted.origin = origin;
      if (origin == PromotionOrigin::study) wanted.study_id = study;
      if (origin == PromotionOrigin::live) wanted.measured = MeasuredGain{1, 2, 0.5};
      rows.push_back(must(store_->promote(wanted)));
      EXPECT_EQ(rows.back().origin, origin);
      EXPECT_EQ(rows.back().stage, stage);
      EXPECT_EQ(rows.back().study_id, wanted.study_id);
      EXPECT_EQ(rows.back().measured, wanted.measured);
      EXPECT_EQ(rows.back().actor, "ada");
      EXPECT_EQ(rows.back().note, "faster");
    }
  }
  EXPECT_EQ(must(store_->promotions({})), rows);
  EXPECT_EQ(must(store_->promotions({.key = key_})), rows);
  EXPECT_THAT(must(store_->promotions({.key = ConfigKey{key_.workload, key_.topology}})),
              IsEmpty());
  EXPECT_EQ(must(store_->promotions({.stage = PromotionStage::staged})).size(), 5u);
  EXPECT_EQ(current(), rows[9]);
  EXPECT_EQ(staged(), rows[8]);
}

TEST_F(StoreKeys, RefusesVersionsThatAreNone) {
  std::vector<NewPromotion> bad(7, pushed());
  bad[0].origin = PromotionOrigin::study;  // without naming a study
  bad[1].stage = PromotionStage::withdrawn;
  bad[2].stage = PromotionStage::held;
  bad[3].actor = "\xff";
  bad[4].note = "\xff";
  bad[5].config = 7;
  bad[6].measured = MeasuredGain{1, 1, std::numeric_limits<double>::infinity()};
  for (const auto& each : bad) {
    const auto refused = store_->promote(each);
    EXPECT_EQ(code_of(refused), ErrorCode::invalid_argument);
    message_of(refused);
  }
  EXPECT_THAT(must(store_->promotions({})), IsEmpty());
  EXPECT_THAT(must(store_->audit({})), IsEmpty());
}

TEST_F(StoreKeys, OnlyWhatIsDeclaredIsPromoted) {
  const auto study = new_study().id;
  auto found = pushed();
  found.study_id = study;
  found.origin = PromotionOrigin::study;
  using Json = nlohmann::json;
  found.config = {{"X", 3}};
  const auto row = must(store_->promote(found));
  EXPECT_EQ(row.declared, must(store_->study(std::to_string(study))).definition.at("space"));
  // Whoever brings it back declares nothing, and what it declared stays with it.
  auto again = pushed();
  again.config = found.config;
  again.origin = PromotionOrigin::rollback;
  must(store_->remove_study(study, sample_study().owner, ""));
  EXPECT_EQ(must(store_->promote(again)).declared, row.declared);

  const Json schedule = {{"format", "hocket-schedule"}, {"version", 1}};
  for (Json undeclared : {Json{{"X", 4}}, Json{{"BASH_ENV", "$(x)"}}, Json{{"FOO_FLAG", 1}},
                          Json{{"streams", 65}}, Json{{"job.depth", 1}}}) {
    const std::string name = undeclared.begin().key();
    for (const bool has_format : {false, true}) {
      if (has_format) undeclared.update(schedule);
      again.config = undeclared;
      again.origin = PromotionOrigin::push;
      const auto refused = store_->promote(again);
      EXPECT_EQ(code_of(refused), ErrorCode::invalid_argument) << undeclared;
      EXPECT_THAT(message_of(refused), HasSubstr(name));
    }
  }
  EXPECT_EQ(must(store_->promotions({})).size(), 2U);
}

TEST_F(StoreKeys, WhatTuningFindsForAPinnedKeyIsHeld) {
  const auto study = new_study().id;
  const auto elsewhere = must(store_->upsert_topology(sample_topology(8)));
  const auto before = must(store_->promote(pushed()));
  must(store_->set_key_state(topology_, workload_, {.pinned = true}, "ada"));
  for (const auto origin : kOrigins) {
    for (const auto stage : {PromotionStage::staged, PromotionStage::released}) {
      auto wanted = pushed(stage);
      wanted.origin = origin;
      wanted.study_id = study;
      const bool is_found = origin == PromotionOrigin::study || origin == PromotionOrigin::live;
      const auto row = must(store_->promote(wanted));
      EXPECT_EQ(row.stage, is_found ? PromotionStage::held : stage);
      EXPECT_EQ(stored(row.id), row);
      if (is_found) {
        EXPECT_EQ(current(), before);
      }
      wanted.topology_id = elsewhere;
      EXPECT_EQ(must(store_->promote(wanted)).stage, stage) << "another key";
    }
  }
  must(store_->set_key_state(topology_, workload_, {.frozen = true}, "ada"));
  auto wanted = pushed();
  wanted.origin = PromotionOrigin::live;
  EXPECT_EQ(must(store_->promote(wanted)).stage, PromotionStage::released);
}

TEST_F(StoreKeys, AVersionMovesOnlyForward) {
  for (const auto from : kStages) {
    for (const auto to : kStages) {
      SCOPED_TRACE(std::string(to_string(from)) + " to " + std::string(to_string(to)));
      auto expected = version_in(from);
      const auto events = must(store_->audit({})).size();
      const bool forward =
          from != to && (from == PromotionStage::staged ||
                         (from == PromotionStage::released && to == PromotionStage::withdrawn));
      const auto moved = store_->set_stage(expected.id, to, "eve", "slow");
      EXPECT_EQ(moved.has_value(), forward || from == to);
      if (!moved) {
        EXPECT_EQ(code_of(moved), ErrorCode::invalid_argument);
        EXPECT_THAT(message_of(moved), HasSubstr("cannot become " + std::string(to_string(to))));
      }
      if (forward) expected.stage = to;
      EXPECT_EQ(stored(expected.id), expected);
      EXPECT_EQ(must(store_->audit({})).size(), events + (forward ? 1 : 0));
    }
  }
  EXPECT_EQ(code_of(store_->set_stage(99, PromotionStage::released, "", "")), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->set_stage(1, PromotionStage::released, "\xff", "")),
            ErrorCode::invalid_argument);
}

TEST_F(StoreKeys, WithdrawingBringsThePreviousReleaseBack) {
  const auto a = must(store_->promote(pushed()));
  const auto b = must(store_->promote(pushed(PromotionStage::staged)));
  EXPECT_EQ(current(), a);
  EXPECT_EQ(staged(), b);
  must(store_->set_stage(b.id, PromotionStage::released, "ada", ""));
  EXPECT_EQ(current(), stored(b.id));
  EXPECT_EQ(staged(), std::nullopt);
  must(store_->set_stage(b.id, PromotionStage::withdrawn, "ada", ""));
  EXPECT_EQ(current(), a);
  must(store_->set_stage(a.id, PromotionStage::withdrawn, "ada", ""));
  EXPECT_EQ(current(), std::nullopt);
}

TEST_F(StoreKeys, TheAuditHasWhatJobsGotBeforeAndAfter) {
  using Json = nlohmann::json;
  const auto last = [&] { return must(store_->audit({})).back().detail; };
  auto promotion = pushed();
  promotion.config = {{"streams", 1}};
  must(store_->promote(promotion));
  EXPECT_EQ(last()["old"], Json());
  EXPECT_EQ(last()["new"], Json({{"streams", 1}}));
  promotion.config = {{"streams", 2}};
  const auto second = must(store_->promote(promotion));
  EXPECT_EQ(last()["old"], Json({{"streams", 1}}));
  EXPECT_EQ(last()["new"], Json({{"streams", 2}}));
  must(store_->promote(promotion));
  EXPECT_FALSE(last().contains("old")) << "nothing has changed";
  must(store_->set_stage(second.id, PromotionStage::withdrawn, "ada", ""));
  EXPECT_FALSE(last().contains("old")) << "it was not the current one";
  must(store_->set_stage(second.id + 1, PromotionStage::withdrawn, "ada", ""));
  EXPECT_EQ(last()["old"], Json({{"streams", 2}}));
  EXPECT_EQ(last()["new"], Json({{"streams", 1}}));
  promotion.config = Json::object();
  must(store_->promote(promotion));
  EXPECT_EQ(last()["new"], Json());
}

TEST_F(StoreKeys, ListsEveryKeyThatHasAVersionOrAState) {
  const auto other = must(store_->upsert_workload(sample_workload("other")));
  EXPECT_THAT(must(store_->keys()), IsEmpty());
  EXPECT_EQ(must(store_->key_state(key_.topology, key_.workload)), KeyState());
  must(store_->set_key_state(topology_, other, {}, "ada"));
  EXPECT_THAT(must(store_->keys()), IsEmpty()) << "as it was";
  must(store_->set_key_state(topology_, other, {.frozen = true}, "ada"));
  const auto row = must(store_->promote(pushed()));
  must(store_->promote(pushed(PromotionStage::staged)));

  KeyRow first{.topology_id = topology_,
               .workload_id = workload_,
               .key = key_,
               .topology_name = readable_name(sample_topology()),
               .workload_name = "gpt2",
               .state = {},
               .current_id = row.id};
  KeyRow second = first;
  second.workload_id = other;
  second.key.workload = fingerprint(sample_workload("other"));
  second.workload_name = "other";
  second.state = {.frozen = true};
  second.current_id.reset();
  EXPECT_THAT(must(store_->keys()), ElementsAre(first, second));
  NewPromotion none = pushed();
  none.config = nlohmann::json::object();
  first.current_id = must(store_->promote(none)).id;
  first.is_at_default = true;
  EXPECT_THAT(must(store_->keys()), ElementsAre(first, second));
  EXPECT_EQ(must(store_->key_state(key_.topology, second.key.workload)), second.state);
  EXPECT_EQ(must(store_->key_state(key_.topology, key_.workload)), KeyState());
  for (const KeyState& state : {KeyState{true, false}, {true, true}, {false, false}}) {
    must(store_->set_key_state(topology_, other, state, "ada"));
    EXPECT_EQ(must(store_->key_state(key_.topology, second.key.workload)), state);
  }
  EXPECT_EQ(code_of(store_->set_key_state(99, workload_, {}, "")), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->set_key_state(topology_, 99, {}, "")), ErrorCode::not_found);
}

TEST_F(StoreKeys, QuarantineKeepsOneReasonAConfigurationUntilItIsLifted) {
  const auto elsewhere = must(store_->upsert_topology(sample_topology(8)));
  const auto add = [&](std::int64_t topology, const nlohmann::json& config, const char* reason) {
    ++now_ns_;
    return store_->quarantine({topology, workload_, config, reason, "tuner"});
  };
  must(add(topology_, {{"streams", 1}}, "slow"));
  must(add(topology_, {{"streams", 2}}, "slower"));
  must(add(elsewhere, {{"streams", 1}}, "slow there"));
  must(add(topology_, {{"streams", 1}}, "hangs"));
  const auto rows = must(store_->quarantined(topology_, workload_));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].config, nlohmann::json({{"streams", 1}}));
  EXPECT_EQ(rows[0].reason, "hangs");
  EXPECT_EQ(rows[0].actor, "tuner");
  EXPECT_EQ(rows[0].quarantined_at_ns, now_ns_);
  EXPECT_EQ(rows[1].reason, "slower");

  EXPECT_EQ(must(store_->lift_quarantine(topology_, workload_, "tuner")), 2);
  EXPECT_EQ(must(store_->lift_quarantine(topology_, workload_, "tuner")), 0);
  EXPECT_THAT(must(store_->quarantined(topology_, workload_)), IsEmpty());
  EXPECT_EQ(must(store_->quarantined(elsewhere, workload_)).size(), 1u);
  EXPECT_EQ(code_of(add(99, {{"x", 1}}, "")), ErrorCode::not_found);
  EXPECT_EQ(code_of(add(topology_, nlohmann::json::array(), "")), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(add(topology_, {{"x", 1}}, "\xff")), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store_->lift_quarantine(topology_, 99, "")), ErrorCode::not_found);
}

TEST_F(StoreKeys, EveryChangeOfAKeyIsAudited) {
  now_ns_ = 50;
  const auto row = must(store_->promote(pushed(PromotionStage::staged)));
  must(store_->set_stage(row.id, PromotionStage::withdrawn, "eve", "slow"));
  must(store_->set_key_state(topology_, workload_, {.pinned = true}, "bob"));
  must(store_->quarantine({topology_, workload_, {{"x", 1}}, "slow", "tuner"}));
  must(store_->lift_quarantine(topology_, workload_, "tuner"));
  must(store_->record_audit({"ada", "start", "gpt2-1", {{"port", 1}}}));
  const std::string key = to_string(key_);
  EXPECT_THAT(
      must(store_->audit({})),
      ElementsAre(
          AuditRow{1,
                   50,
                   "ada",
                   "promote",
                   key,
                   {{"version", 1},
                    {"origin", "push"},
                    {"stage", "staged"},
                    {"note", "faster"},
                    {"old", nullptr},
                    {"new", pushed().config}}},
          AuditRow{2,
                   50,
                   "eve",
                   "set_stage",
                   key,
                   {{"version", 1}, {"from", "staged"}, {"stage", "withdrawn"}, {"note", "slow"}}},
          AuditRow{3, 50, "bob", "set_key_state", key, {{"pinned", true}, {"frozen", false}}},
          AuditRow{4, 50, "tuner", "quarantine", key, {{"config", {{"x", 1}}}, {"reason", "slow"}}},
          AuditRow{5, 50, "tuner", "lift_quarantine", key, {{"configurations", 1}}},
          AuditRow{6, 50, "ada", "start", "gpt2-1", {{"port", 1}}}));
  for (const NewAudit& bad : {NewAudit{"\xff", "", "", {{"x", 1}}},
                              {"", "\xff", "", {{"x", 1}}},
                              {"", "", "\xff", {{"x", 1}}},
                              {"", "", "", 7}}) {
    EXPECT_EQ(code_of(store_->record_audit(bad)), ErrorCode::invalid_argument);
  }
}

TEST_F(StoreKeys, TheAuditIsReadInPieces) {
  for (int i = 1; i <= 6; ++i) {
    must(store_->record_audit({"ada", "ping", i % 2 == 0 ? "even" : "odd", {{"i", i}}}));
  }
  const auto ids = [&](const AuditFilter& filter) {
    std::vector<std::int64_t> found;
    for (const auto& row : must(store_->audit(filter))) found.push_back(row.id);
    return found;
  };
  EXPECT_THAT(ids({.limit = 2}), ElementsAre(1, 2));
  EXPECT_THAT(ids({.after_id = 2, .limit = 2}), ElementsAre(3, 4));
  EXPECT_THAT(ids({.after_id = 4}), ElementsAre(5, 6));
  EXPECT_THAT(ids({.limit = 2, .newest = true}), ElementsAre(5, 6));
  EXPECT_THAT(ids({.after_id = 5, .limit = 2, .newest = true}), ElementsAre(6));
  EXPECT_THAT(ids({.limit = 2, .subject = "even"}), ElementsAre(2, 4));
  EXPECT_THAT(ids({.after_id = 2, .limit = 9, .subject = "even"}), ElementsAre(4, 6));
  EXPECT_THAT(ids({.subject = ""}), IsEmpty());
  EXPECT_THAT(ids({.limit = 0}), IsEmpty());
}

TEST_F(StoreKeys, EveryChangeChangesTheCount) {
  const auto study = new_study();
  std::int64_t trial_id = 0;
  const std::function<bool()> changes[] = {
      [&] { return store_->upsert_topology(sample_topology(4)).has_value(); },
      [&] { return store_->upsert_workload(sample_workload("new")).has_value(); },
      [&] { return store_->create_study(sample_study()).has_value(); },
      [&] { return store_->update_study(study.id, {.owner = "x"}).has_value(); },
      [&] { return (trial_id = new_trial(study.id).id) > 0; },
      [&] { return store_->renew_lease(trial_id, 0).has_value(); },
      [&] { return store_->expire_leases(study.id).has_value(); },
      [&] { return store_->finish_trial(new_trial(study.id).id, sample_result(1)).has_value(); },
      [&] { return store_->promote(pushed(PromotionStage::staged)).has_value(); },
      [&] { return store_->set_stage(1, PromotionStage::released, "", "").has_value(); },
      [&] {
        return store_->set_key_state(topology_, workload_, {true, true}, "").has_value();
      },
      [&] {
        return store_->quarantine({topology_, workload_, {{"x", 1}}}).has_value();
      },
      [&] { return store_->lift_quarantine(topology_, workload_, "").has_value(); },
      [&] { return store_->record_audit({}).has_value(); },
  };
  std::int64_t before = must(store_->change_count());
  for (const auto& change : changes) {
    EXPECT_TRUE(change());
    const auto after = must(store_->change_count());
    EXPECT_NE(after, before);
    before = after;
    must(store_->keys());
    EXPECT_EQ(must(store_->change_count()), before) << "reading changes nothing";
  }
}

}  // namespace
}  // namespace hocket
