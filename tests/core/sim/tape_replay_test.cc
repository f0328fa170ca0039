#include "core/sim/tape_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/tape/tape_fixtures.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

Result<TapeReplay> replay(std::string_view bytes) {
  auto reader = TapeReader::open(bytes);
  HOCKET_TRY(reader);
  return replay_tape(*reader);
}

bool is_decision(TapeKind kind) {
  return kind == TapeKind::ready || kind == TapeKind::started || kind == TapeKind::started_part ||
         kind == TapeKind::started_pull;
}

TEST(TapeReplay, DecidesAsOnTheTape) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    const std::string tape = random_tape(seed);
    const auto result = replay(tape);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_FALSE(result->difference)
        << result->difference->record << ": " << result->difference->on_tape << " / "
        << result->difference->decided;
    EXPECT_FALSE(result->incomplete);
    const auto records = read_tape(tape).records;
    EXPECT_EQ(result->records, records.size());
    EXPECT_EQ(result->decisions(), std::ranges::count_if(records, is_decision, &TapeRecord::kind));
    EXPECT_EQ(result->started, std::ranges::count(records, TapeKind::finished, &TapeRecord::kind));
    const auto count = [&](TapeKind kind) {
      return static_cast<std::uint64_t>(std::ranges::count(records, kind, &TapeRecord::kind));
    };
    EXPECT_EQ(result->started_parts, count(TapeKind::finished_part) +
                                         count(TapeKind::finished_push) +
                                         count(TapeKind::finished_pull));
    EXPECT_EQ(result->end_ns, records.empty() ? 0 : records.back().time_ns);
  }
}

/// Returns a different decision of the same kind as `record`; `tasks` is the number of tasks.
TapeRecord altered(TapeRecord record, std::uint64_t tasks, std::mt19937_64& random) {
  if (record.kind == TapeKind::started_part && random() % 2) {
    ++(random() % 2 ? record.bytes : record.offset_bytes);
    return record;
  }
  record.number = (record.number + 1 + random() % (tasks - 1)) % tasks;
  return record;
}

TEST(TapeReplay, FindsADecisionThatWasAltered) {
  std::mt19937_64 random(7);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    auto records = read_tape(random_tape(seed)).records;
    std::vector<std::size_t> candidates;  // decisions among at least two tasks
    std::vector<std::uint64_t> tasks;
    std::uint64_t submitted = 0;
    std::vector<std::uint64_t> captured;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (records[i].kind == TapeKind::submitted) ++submitted;
      if (records[i].kind == TapeKind::captured) captured.push_back(records[i].tasks.size());
      if (records[i].kind == TapeKind::launched) submitted += captured[records[i].number];
      if (submitted < 2 || !is_decision(records[i].kind)) continue;
      candidates.push_back(i);
      tasks.push_back(submitted);
    }
    if (candidates.empty()) continue;
    const std::size_t chosen = random() % candidates.size();
    TapeRecord& record = records[candidates[chosen]];
    record = altered(record, tasks[chosen], random);
    const auto result = replay(tape_of(random_tape_header(seed), records));
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_TRUE(result->difference);
    EXPECT_EQ(result->difference->record, candidates[chosen] + 1);
    EXPECT_EQ(result->difference->time_ns, record.time_ns);
    EXPECT_NE(result->difference->on_tape, result->difference->decided);
  }
}

TEST(TapeReplay, MissesADecisionThatIsNotThere) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    auto records = read_tape(random_tape(seed)).records;
    const auto ready = std::ranges::find(records, TapeKind::ready, &TapeRecord::kind);
    if (ready == records.end()) continue;
    const auto removed = ready - records.begin();
    records.erase(ready);
    const auto result = replay(tape_of(random_tape_header(seed), records));
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_TRUE(result->difference);
    EXPECT_EQ(result->difference->record, static_cast<std::uint64_t>(removed) + 1);
    EXPECT_THAT(result->difference->decided, ::testing::StartsWith("ready "));
  }
}

TEST(TapeReplay, ReplaysWhatIsWholeOfATapeThatIsCutOff) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    const std::string tape = random_tape(seed);
    for (std::size_t size = tape_of(random_tape_header(seed), {}).size() - 1; size < tape.size();
         ++size) {
      const auto result = replay(std::string_view(tape).substr(0, size));
      ASSERT_TRUE(result) << result.error().message;
      ASSERT_FALSE(result->difference);
      ASSERT_TRUE(result->incomplete);
      ASSERT_THAT(result->incomplete->message, HasSubstr("at byte " + std::to_string(size)));
    }
  }
}

/// Writes records by hand: a kind and its subject.
class Script {
 public:
  explicit Script(PartOrder order = PartOrder::fifo)
      : header_{.plan = {.partition_bytes = 64, .credit_bytes = 128, .order = order},
                .rank = 0,
                .ranks = 1,
                .virtual_time = true,
                .name = "script"} {}

  Script& compute(std::vector<Access> accesses = {}) {
    return add(TapeKind::submitted, 0, 0, {{"compute", 0, false, 0, std::move(accesses)}});
  }
  Script& collective(std::int64_t bytes) {
    return add(TapeKind::submitted, 0, 0, {{"collective", 0, true, bytes, {}}});
  }
  Script& captured() { return add(TapeKind::captured, 0, 0, {{"compute", 0, false, 0, {}}}); }
  Script& does(TapeKind kind, std::uint64_t number, std::int64_t bytes = 0) {
    return add(kind, number, bytes, {});
  }
  Script& configured(const PlanOptions& options) {
    add(TapeKind::configured, 0, 0, {});
    records_.back().plan = options;
    return *this;
  }
  Script& announces(std::vector<std::uint64_t> collectives) {
    add(TapeKind::announced, 0, 0, {});
    records_.back().collectives = std::move(collectives);
    return *this;
  }

  /// Returns the error, or how the plan differs from the tape.
  std::string outcome() const {
    const auto result = replay(tape_of(header_, records_));
    if (!result) return result.error().message;
    if (!result->difference) return "as on the tape";
    return result->difference->on_tape + " / " + result->difference->decided;
  }

 private:
  Script& add(TapeKind kind, std::uint64_t number, std::int64_t bytes,
              std::vector<TapeTask> tasks) {
    TapeRecord& record = records_.emplace_back();
    record.kind = kind;
    record.number = number;
    record.bytes = bytes;
    record.tasks = std::move(tasks);
    return *this;
  }

  TapeHeader header_;
  std::vector<TapeRecord> records_;
};

constexpr auto kLaunched = TapeKind::launched, kReady = TapeKind::ready,
               kStarted = TapeKind::started, kStartedPart = TapeKind::started_part,
               kFinished = TapeKind::finished, kFinishedPart = TapeKind::finished_part;

TEST(TapeReplay, RefusesWhatNoPlanCouldHaveWritten) {
  const auto running = Script().compute().does(kReady, 0).does(kStarted, 0);
  EXPECT_EQ(Script(running).does(kFinished, 0).outcome(), "as on the tape");
  EXPECT_THAT(Script().compute().does(kReady, 0).does(kFinished, 0).outcome(),
              HasSubstr("record 3: task 0 compute is finished without running"));
  EXPECT_THAT(Script(running).does(kFinished, 0).does(kFinished, 0).outcome(),
              HasSubstr("record 5: task 0 compute is finished without running"));
  EXPECT_THAT(Script(running).does(kFinishedPart, 0).outcome(), HasSubstr("a part of 0 bytes"));
  EXPECT_EQ(Script(running).does(kStarted, 0).outcome(), "started 0 compute / nothing");
  EXPECT_EQ(Script(running).does(kStartedPart, 0).outcome(),
            "started_part 0 compute, 0 bytes at 0 / nothing");

  const auto sending = Script().collective(64).does(kReady, 0).does(kStartedPart, 0, 64);
  EXPECT_EQ(Script(sending).does(kFinishedPart, 0, 64).outcome(), "as on the tape");
  EXPECT_THAT(Script(sending).does(kFinishedPart, 0, 65).outcome(),
              HasSubstr("record 4: a part of 65 bytes of task 0 collective is finished without"));
  EXPECT_THAT(Script(sending).does(kFinishedPart, 0, 64).does(kFinishedPart, 0, 64).outcome(),
              HasSubstr("record 5"));
  EXPECT_THAT(Script(sending).does(kFinished, 0).outcome(), HasSubstr("without running"));

  EXPECT_EQ(Script().compute().outcome(), "the end / ready 0 compute");
  EXPECT_EQ(Script().compute().compute().outcome(), "submitted 1 compute / ready 0 compute");
}

TEST(TapeReplay, RefusesPushesAndPullsThatNoPlanCouldHave) {
  const PlanOptions served{
      .partition_bytes = 64, .credit_bytes = 64, .servers = 2, .pull_credit_bytes = 64};
  const auto pushing =
      Script().configured(served).collective(64).does(kReady, 0).does(kStartedPart, 0, 64);
  const auto pulling = Script(pushing)
                           .does(TapeKind::finished_push, 0, 64)
                           .does(TapeKind::summed, 0, 64)
                           .does(TapeKind::started_pull, 0, 64);
  EXPECT_EQ(Script(pulling).does(TapeKind::finished_pull, 0, 64).outcome(), "as on the tape");
  EXPECT_EQ(Script(pushing).does(TapeKind::started_pull, 0, 64).outcome(),
            "started_pull 0 collective, 64 bytes at 0 / nothing");
  EXPECT_THAT(Script(pushing).does(kFinishedPart, 0, 64).outcome(),
              HasSubstr("a part is finished that parameter servers sum"));
  EXPECT_THAT(Script(pushing).does(TapeKind::finished_push, 0, 65).outcome(),
              HasSubstr("a part of 65 bytes at 0 of task 0 collective is pushed without"));
  EXPECT_THAT(Script(pulling).does(TapeKind::summed, 0, 64).outcome(),
              HasSubstr("a part of 64 bytes at 0 of task 0 collective is summed without"));
  EXPECT_THAT(Script(pulling).does(TapeKind::finished_push, 0, 64).outcome(),
              HasSubstr("is pushed without"));
  EXPECT_THAT(Script(pushing).does(TapeKind::finished_pull, 0, 64).outcome(),
              HasSubstr("a part of 64 bytes of task 0 collective is pulled without"));
  EXPECT_THAT(Script().collective(64).does(kReady, 0).does(TapeKind::finished_pull, 0).outcome(),
              HasSubstr("without parameter servers"));
  EXPECT_THAT(Script(pulling).configured({.partition_bytes = 64, .credit_bytes = 64}).outcome(),
              HasSubstr("the order changes before"));
}

TEST(TapeReplay, RefusesLaunchesThatAPlanWouldRefuse) {
  const auto twice =
      Script().captured().does(kLaunched, 0).does(kReady, 0).does(kLaunched, 0).does(kReady, 1);
  EXPECT_EQ(Script(twice).outcome(), "as on the tape");
  EXPECT_THAT(Script(twice).does(kLaunched, 0).outcome(),
              HasSubstr("record 6: step 0 is launched"));
  EXPECT_THAT(Script(twice).compute().outcome(), HasSubstr("while a launch is unfinished"));
  EXPECT_THAT(Script().compute().does(kReady, 0).captured().does(kLaunched, 0).outcome(),
              HasSubstr("step 0 is launched while 1 tasks before it are unfinished"));
}

TEST(TapeReplay, RefusesAnnouncementsWithoutParts) {
  EXPECT_THAT(Script().announces({0}).outcome(), HasSubstr("decides its own order"));
  const auto submitted = Script(PartOrder::announced).collective(128).does(kReady, 0);
  EXPECT_EQ(Script(submitted).announces({0, 0, 7}).outcome(), "as on the tape");
  EXPECT_THAT(Script(submitted).announces({0, 0}).announces({0}).outcome(),
              HasSubstr("collective 0 is announced more often than it has parts"));
  EXPECT_THAT(Script(PartOrder::announced).announces({0, 0, 0}).collective(128).outcome(),
              HasSubstr("announced more often than it has parts"));
  EXPECT_EQ(
      Script(PartOrder::announced).announces({0, 0}).collective(128).does(kReady, 0).outcome(),
      "as on the tape");
}

TEST(TapeReplay, FollowsChangesOfTheOptions) {
  const PlanOptions fifo{.partition_bytes = 32, .credit_bytes = 64};
  const PlanOptions announced{
      .partition_bytes = 128, .credit_bytes = 64, .order = PartOrder::announced};
  const auto part = [](Script script, std::uint64_t task, std::int64_t bytes) {
    return script.does(kReady, task)
        .does(kStartedPart, task, bytes)
        .does(kFinishedPart, task, bytes);
  };
  const auto changed = part(
      part(Script().collective(64), 0, 64).configured(announced).announces({1}).collective(128), 1,
      128);
  EXPECT_EQ(Script(changed).outcome(), "as on the tape");
  EXPECT_EQ(part(Script(changed).configured(fifo).collective(64), 2, 64).outcome(),
            "as on the tape");
  EXPECT_THAT(Script(changed).announces({1}).outcome(),
              HasSubstr("collective 1 is announced more"));
  const auto refused = HasSubstr("the order changes before all that was submitted or announced");
  EXPECT_THAT(Script(changed).announces({2}).configured(fifo).outcome(), refused);
  EXPECT_THAT(Script().compute().does(kReady, 0).configured(announced).outcome(), refused);
}

TEST(TapeReplay, ReplaysNumbersOfDataThatAreFarApart) {
  const DataId far{kMaxTapeData - 1};
  EXPECT_EQ(Script().compute({write(far)}).does(kReady, 0).compute({read(far)}).outcome(),
            "as on the tape");
}

TEST(TapeReplay, DamageIsNeverMoreThanAnErrorOrADifference) {
  std::mt19937_64 random(2);
  std::size_t replayed = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    const auto result = replay(mutate(random_tape(seed % 60), random));
    if (result) ++replayed;
  }
  EXPECT_GT(replayed, 1000u) << "most should come as far as a record";
}

TEST(TapeReplay, RecordsInAnotherOrderAreNeverMoreThanAnErrorOrADifference) {
  std::mt19937_64 random(3);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    auto records = read_tape(random_tape(seed % 60)).records;
    if (records.size() < 3) continue;
    // Steps and tasks keep their positions, so that numbers still refer to something.
    for (int swaps = 0; swaps < 3; ++swaps) {
      const std::size_t i = random() % (records.size() - 1);
      const auto movable = [](const TapeRecord& record) {
        return record.tasks.empty() && record.kind != kLaunched;
      };
      if (!movable(records[i]) || !movable(records[i + 1])) continue;
      std::swap(records[i], records[i + 1]);
      if (random() % 3 == 0) records[i + 1] = records[i];
    }
    replay(tape_of(random_tape_header(seed % 60), records));
  }
}

}  // namespace
}  // namespace hocket
