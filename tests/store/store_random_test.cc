// Checks on random sequences of calls that a store whose file is closed and opened again answers
// like one that stays open in memory.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <source_location>

#include "store/open.h"
#include "tests/store/fixtures.h"
#include "tests/store/test_place.h"

namespace hocket {
namespace {

/// Makes the same call on both stores and compares what they return.
class TwinStores {
 public:
  TwinStores(unsigned seed, const std::string& store)
      : random_(seed), place_(store), memory_(open_store_in_memory([this] { return now_ns_; })) {}

  /// Closes the file, if it is open, and opens it.
  void reopen() {
    file_.reset();
    file_ = must(open_store(place_, {.now_unix_ns = [this] { return now_ns_; }}));
  }

  void step() {
    ++now_ns_;
    switch (below(33)) {
      case 0:
        return compare(
            [&, n = below(3)](Store& s) { return s.upsert_topology(sample_topology(n + 1)); });
      case 1:
        return compare([&, n = below(3)](Store& s) {
          return s.upsert_workload(sample_workload("w" + std::to_string(n)));
        });
      case 2:
        return compare([study = new_study()](Store& s) { return s.create_study(study); });
      case 3:
        return compare(
            [update = update(), id = id(4)](Store& s) { return s.update_study(id, update); });
      case 4:
      case 5:
      case 6:
        return compare([trial = new_trial()](Store& s) { return s.start_trial(trial); });
      case 7:
      case 8:
      case 9:
        return compare([result = result(), id = id(12),
                        worker = below(3) == 0 ? text() : std::string()](Store& s) {
          return s.finish_trial(id, result, worker);
        });
      case 28:
      case 29:
        return compare(
            [id = id(4), claim = new_claim()](Store& s) { return s.claim_trial(id, claim); });
      case 30:
        return compare(
            [id = id(4), claim = new_claim()](Store& s) { return s.renew_worker(id, claim); });
      case 31:
        if (coin()) return compare([id = id(4)](Store& s) { return s.offer_lost_trials(id); });
        return compare([id = id(4), worker = text(), is_lost = coin()](Store& s) {
          return s.leave_worker(id, worker, is_lost);
        });
      case 10:
        return compare([id = id(4)](Store& s) { return s.abandon_running_trials(id); });
      case 11:
        return compare(
            [id = id(12), lease_ns = below(20)](Store& s) { return s.renew_lease(id, lease_ns); });
      case 12:
        return compare([id = id(4)](Store& s) { return s.expire_leases(id); });
      case 13:
      case 14:
      case 15:
        return compare([promotion = new_promotion()](Store& s) { return s.promote(promotion); });
      case 16:
      case 17:
        return compare([id = id(12), stage = stage(), actor = text(), note = text()](Store& s) {
          return s.set_stage(id, stage, actor, note);
        });
      case 18:
        return compare([t = id(3), w = id(3), state = KeyState{coin(), coin()},
                        actor = text()](Store& s) { return s.set_key_state(t, w, state, actor); });
      case 19:
        return compare(
            [quarantine = NewQuarantine{id(3), id(3), {{"x", below(3)}}, text(), text()}](
                Store& s) { return s.quarantine(quarantine); });
      case 20:
        return compare([t = id(3), w = id(3), actor = text()](Store& s) {
          return s.lift_quarantine(t, w, actor);
        });
      case 21:
      case 22:
      case 23:
        return compare([profile = new_profile()](Store& s) { return s.add_profile(profile); });
      case 24:
        return compare([id = id(8), kept = coin()](Store& s) { return s.keep_profile(id, kept); });
      case 25:
        // Rarely, because the ids of studies grow beyond those that are asked for.
        if (below(4) == 0) {
          return compare([id = id(4), owner = coin() ? "host:1" : "owner1",
                          actor = text()](Store& s) { return s.remove_study(id, owner, actor); });
        }
        if (below(8) == 0) {
          return compare([before_ns = below(300), actor = text()](Store& s) {
            return s.prune_audit(before_ns, actor);
          });
        }
        return compare([id = id(8)](Store& s) { return s.remove_profile(id); });
      case 26:
        return compare([request = NewProfileRequest{text(), below(3), text()}](Store& s) {
          return s.request_profile(request);
        });
      case 27:
        return compare([job = text(), name = text(), age_ns = below(60)](Store& s) {
          return s.take_profile_request(job, name, age_ns);
        });
      default:
        return compare([audit = NewAudit{text(), text(), text(), params()}](Store& s) {
          return s.record_audit(audit);
        });
    }
  }

  void compare_everything() {
    compare([](Store& s) { return s.topologies(); });
    compare([](Store& s) { return s.workloads(""); });
    compare([](Store& s) { return s.workloads("w1"); });
    compare([](Store& s) { return s.studies(); });
    compare([](Store& s) { return s.latest_unfinished_study(); });
    compare([](Store& s) { return s.promotions({}); });
    PromotionFilter versions{maybe_id(3), maybe_id(3), maybe_id(4)};
    if (coin()) versions.stage = stage();
    if (coin()) versions.key = some_key(below(5));
    compare([&](Store& s) { return s.promotions(versions); });
    compare([](Store& s) { return s.keys(); });
    AuditFilter events{.after_id = below(30), .newest = coin()};
    if (coin()) events.limit = below(9);
    if (coin()) events.subject = coin() ? text() : to_string(some_key(below(5)));
    compare([&](Store& s) { return s.audit(events); });
    compare([](Store& s) { return s.audit({}); });
    compare([](Store& s) { return s.profiles(); });
    compare([](Store& s) { return s.profile_requests(); });
    for (int i = 0; i < 9; ++i) {
      compare([i](Store& s) { return s.profile(std::to_string(i)); });
      compare([i](Store& s) { return s.profile("name" + std::to_string(i)); });
      compare([i](Store& s) { return s.profile_iterations(i); });
      compare([i](Store& s) { return s.profile_metrics(i); });
    }
    for (int i = 0; i < 5; ++i) {
      compare([i](Store& s) { return s.study(std::to_string(i)); });
      compare([i](Store& s) { return s.study("name" + std::to_string(i)); });
      compare([i](Store& s) { return s.trials(i, TrialDetail::summary); });
      compare([i](Store& s) { return s.workers(i); });
      compare([i](Store& s) { return s.trials(i, TrialDetail::with_measurements); });
      const ConfigKey key = some_key(i);
      compare([&](Store& s) { return s.current_promotion(key.topology, key.workload); });
      compare([&](Store& s) { return s.staged_promotion(key.topology, key.workload); });
      compare([&](Store& s) { return s.key_state(key.topology, key.workload); });
      // SQLite alone uses the id of the newest again after it was lifted.
      compare([i](Store& s) {
        auto rows = s.quarantined(i % 3 + 1, i / 2 + 1);
        if (rows) std::ranges::for_each(*rows, [](QuarantineRow& row) { row.id = 0; });
        return rows;
      });
    }
  }

 private:
  template <class Call>
  void compare(const Call& call,
               const std::source_location from = std::source_location::current()) {
    SCOPED_TRACE("the call of line " + std::to_string(from.line()));
    const auto a = call(*file_);
    const auto b = call(*memory_);
    ASSERT_EQ(a.has_value(), b.has_value()) << (a ? b : a).error().message;
    if (!a) {
      EXPECT_EQ(a.error().code, b.error().code);
      EXPECT_EQ(a.error().message, b.error().message);
    } else if constexpr (!std::is_void_v<typename std::decay_t<decltype(a)>::value_type>) {
      EXPECT_TRUE(*a == *b);
    }
  }

  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  bool coin() { return below(2) == 0; }
  /// Returns an id from 1; sometimes one that does not exist.
  std::int64_t id(int last) { return 1 + below(last + 1); }
  std::optional<std::int64_t> maybe_id(int last) {
    return coin() ? std::nullopt : std::optional(id(last));
  }
  TrialPhase phase() { return coin() ? TrialPhase::search : TrialPhase::confirm; }
  nlohmann::json params() {
    if (below(10) == 0) return nlohmann::json::array({1});
    return {{"x", below(100)}, {"y", below(100) / 7.0}, {"z", {{"name", "\xc3\xa9"}}}};
  }
  NewStudy new_study() {
    NewStudy study = sample_study(coin() ? "" : "name" + std::to_string(below(5)));
    if (coin()) study.command.clear();
    study.definition = params();
    study.topology_id = maybe_id(3);
    study.workload_id = maybe_id(3);
    return study;
  }
  static ConfigKey some_key(int i) {
    return {fingerprint(sample_topology(i % 3 + 1)),
            fingerprint(sample_workload("w" + std::to_string(i / 2)))};
  }
  std::string text() {
    return std::array{"", "ada", "r\xc3\xa9my", "not UTF-8: \xff"}[below(12) == 0 ? 3 : below(3)];
  }
  PromotionStage stage() { return static_cast<PromotionStage>(below(4)); }
  NewTrial new_trial() {
    NewTrial trial{id(4), phase(), params(), text()};
    if (coin()) trial.lease_ns = below(20);
    trial.is_offered = coin();
    return trial;
  }
  NewClaim new_claim() { return {text(), text(), below(40)}; }
  NewPromotion new_promotion() {
    NewPromotion promotion{id(3), id(3), maybe_id(4), {{"streams", 1 + below(64)}}};
    if (below(10) == 0) promotion.config = params();
    if (coin()) promotion.measured = MeasuredGain{1. + below(9), 9, 1};
    promotion.origin = static_cast<PromotionOrigin>(below(5));
    promotion.stage = static_cast<PromotionStage>(below(8) == 0 ? below(4) : below(2));
    promotion.actor = text();
    promotion.note = text();
    return promotion;
  }
  /// Returns a random profile; sometimes a rank, an iteration or a metric occurs twice or has no
  /// rank.
  NewProfile new_profile() {
    NewProfile profile{.name = coin() ? "" : "name" + std::to_string(below(5)), .source = text()};
    profile.topology_id = maybe_id(3);
    profile.workload_id = maybe_id(3);
    profile.config = params();
    const int ranks = below(4);
    for (int i = 0; i < ranks; ++i) {
      profile.ranks.push_back({below(9) == 0 ? 0 : (i + 2) % 4, text(), coin() ? "" : "/t"});
      profile.iterations.push_back({profile.ranks.back().rank, below(3), now_ns_, below(9)});
      profile.metrics.push_back({profile.ranks[0].rank, "m" + std::to_string(below(8)), 1.5});
      profile.metrics.push_back({{}, "n" + std::to_string(below(8)), below(9) / 7.0});
    }
    return profile;
  }
  StudyUpdate update() {
    StudyUpdate update;
    if (coin()) update.state = static_cast<StudyState>(below(3));
    if (coin()) update.owner = "owner" + std::to_string(below(2));
    if (coin()) update.definition = params();
    if (coin()) update.result = params();
    if (coin()) update.expected_owner = "owner" + std::to_string(below(2));
    update.topology_id = below(4) == 0 ? maybe_id(3) : std::nullopt;
    update.workload_id = below(4) == 0 ? maybe_id(3) : std::nullopt;
    return update;
  }
  TrialOutcome result() {
    TrialOutcome result = sample_result(below(3));
    result.state = static_cast<TrialState>(below(8) == 0 ? 0 : 1 + below(3));
    if (coin()) result.value.reset();
    if (coin()) result.spread.reset();
    if (coin()) result.message = "message";
    if (coin()) result.metrics["m"] = std::vector<double>(static_cast<std::size_t>(below(3)), 1);
    return result;
  }

  std::mt19937 random_;
  std::int64_t now_ns_ = 0;
  const std::string place_;
  std::unique_ptr<Store> file_;
  const std::unique_ptr<Store> memory_;
};

TEST(StoreRandom, AnswersAsOneInMemoryThatStaysOpen) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TestPlace place;
    TwinStores stores(seed, place.store());
    for (int i = 0; i < 200; ++i) {
      if (i % 50 == 0) stores.reopen();
      stores.step();
      if (i % 20 == 19) stores.compare_everything();
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace hocket
