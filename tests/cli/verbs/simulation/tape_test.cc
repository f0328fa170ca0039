#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/application.h"
#include "cli/base/context.h"
#include "tests/cli/answer.h"
#include "tests/core/tape/tape_fixtures.h"
#include "tests/mutate.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Two launches of a step of a compute task and a collective of two parts.
class TapeVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    SetClock clock(0);
    TapeWriter writer(header_, clock, [this](std::string_view bytes) { tape_ += bytes; });
    Plan plan(header_.plan);
    plan.observe(&writer);
    const auto step = std::make_shared<const CapturedStep>(std::vector<CapturedStep::Task>{
        {"backward\n\xff", 3, false, 0, {write({0})}}, {"reduce", 1, true, 100, {update({0})}}});
    std::int64_t now_ns = 0;
    for (int launch = 0; launch < 2; ++launch) {
      plan.launch(step);
      const TaskId task = *plan.next_compute();
      clock.now = now_ns += 2'000'345;
      plan.finish_compute(task);
      while (const auto part = plan.next_part()) {
        clock.now = now_ns += 1'000'000;
        plan.finish_part(part->task, part->bytes);
      }
    }
  }

  std::string file(const std::string& name, const std::string& bytes) {
    return folder_.write(name, bytes);
  }

  const TemporaryFolder folder_;
  const TapeHeader header_{.plan = {.partition_bytes = 64, .credit_bytes = 64},
                           .rank = 1,
                           .ranks = 2,
                           .virtual_time = true,
                           .name = "two launches"};
  std::string tape_;
};

TEST_F(TapeVerb, ShowsALineForEachRecordAndTask) {
  const auto answer = ask_hocket({"tape", "show", file("a", tape_)});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("name: two launches\n"));
  EXPECT_THAT(answer.out, HasSubstr("order: fifo\n"));
  EXPECT_THAT(answer.out, HasSubstr("1  0.000000 ms  captured step 0: 2 tasks\n"
                                    "2  0.000000 ms  launched step 0: 2 tasks from 0\n"
                                    "2  0.000000 ms  submitted 0 backward \xef\xbf\xbd\n"
                                    "2  0.000000 ms  submitted 1 reduce, 100 bytes\n"
                                    "3  0.000000 ms  ready 0 backward \xef\xbf\xbd\n"));
  EXPECT_THAT(answer.out, HasSubstr("5  2.000345 ms  finished 0 backward"));
  EXPECT_THAT(answer.out, HasSubstr("started_part 3 reduce, 36 bytes at 64\n"));
}

TEST_F(TapeVerb, ShowsJsonLines) {
  const auto answer = ask_hocket({"tape", "show", file("a", tape_), "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  std::istringstream lines(answer.out);
  std::vector<nlohmann::json> documents;
  for (std::string line; std::getline(lines, line);)
    documents.push_back(nlohmann::json::parse(line));
  const auto header = tape_header_from_json(documents.front());
  ASSERT_TRUE(header);
  EXPECT_EQ(*header, header_);
  EXPECT_EQ(documents.size(), 1 + read_tape(tape_).records.size() + 4) << "and the launched tasks";
  EXPECT_EQ(documents[4], nlohmann::json::parse(
                              R"({"record":2,"time_ns":0,"kind":"submitted","task":1,
                                  "name":"reduce","priority":1,"bytes":100,
                                  "accesses":[{"data":0,"mode":"update"}]})"));
}

TEST_F(TapeVerb, ShowsAndComparesOtherOptions) {
  TapeRecord configured;
  configured.kind = TapeKind::configured;
  configured.plan = {.partition_bytes = 64, .credit_bytes = 4096, .order = PartOrder::priority};
  const std::string one = file("a", tape_of(header_, {configured}));
  EXPECT_THAT(ask_hocket({"tape", "show", one}).out,
              HasSubstr("1  0.000000 ms  configured partition_bytes 64, credit_bytes 4096, "
                        "order priority\n"));
  EXPECT_THAT(ask_hocket({"tape", "show", one, "--json"}).out,
              HasSubstr(R"({"credit_bytes":4096,"kind":"configured","order":"priority",)"
                        R"("partition_bytes":64,"record":1,"time_ns":0})"));
  configured.plan.credit_bytes = 4097;
  const auto different =
      ask_hocket({"tape", "diff", one, file("b", tape_of(header_, {configured}))});
  EXPECT_EQ(different.status, kFailed);
  EXPECT_THAT(different.out, HasSubstr("record 1 differs\n"));
  EXPECT_EQ(ask_hocket({"tape", "replay", one}).status, kDone);
}

TEST_F(TapeVerb, StopsAtTheLimit) {
  const auto all = ask_hocket({"tape", "show", file("a", tape_), "--json"}).out;
  const auto some = ask_hocket({"tape", "show", file("a", tape_), "--json", "--limit", "3"}).out;
  EXPECT_EQ(std::count(some.begin(), some.end(), '\n'), 4);
  EXPECT_THAT(all, StartsWith(some));
}

TEST_F(TapeVerb, ShowsWhatIsWholeOfATapeThatIsCutOff) {
  const auto whole = ask_hocket({"tape", "show", file("a", tape_)});
  const auto cut = ask_hocket({"tape", "show", file("b", tape_.substr(0, tape_.size() - 2))});
  EXPECT_EQ(cut.status, kBadInput);
  EXPECT_THAT(whole.out, StartsWith(cut.out));
  EXPECT_THAT(cut.out, HasSubstr("submitted 0"));
  EXPECT_THAT(cut.err, HasSubstr("the tape ends in the middle of a record at byte " +
                                 std::to_string(tape_.size() - 2)));
}

TEST_F(TapeVerb, ReplaysDecisions) {
  const auto answer = ask_hocket({"tape", "replay", file("a", tape_)});
  EXPECT_EQ(answer.status, kDone) << answer.err;
  EXPECT_EQ(answer.out, "10 decisions, all as on the tape\n");

  const auto cut = ask_hocket({"tape", "replay", file("b", tape_.substr(0, tape_.size() - 1))});
  EXPECT_EQ(cut.status, kBadInput);
  EXPECT_EQ(cut.out, answer.out);
  EXPECT_THAT(cut.err, HasSubstr("without its end mark"));

  auto records = read_tape(tape_).records;
  records[3].number = 1;
  const auto other = ask_hocket({"tape", "replay", file("c", tape_of(header_, records))});
  EXPECT_EQ(other.status, kFailed);
  EXPECT_THAT(other.out, HasSubstr("1 decisions, then one that differs\nrecord 4 at 0.000000 ms\n"
                                   "  on the tape: started 1 reduce\n"
                                   "  decided:     started 0 backward"));

  records[3].kind = TapeKind::finished;
  const auto impossible = ask_hocket({"tape", "replay", file("d", tape_of(header_, records))});
  EXPECT_EQ(impossible.status, kBadInput);
  EXPECT_THAT(impossible.err, HasSubstr("record 4: task 1 reduce is finished without running"));
}

TEST_F(TapeVerb, ComparesTapesWhateverTheTimes) {
  auto records = read_tape(tape_).records;
  for (auto& record : records) record.time_ns *= 2;
  const std::string slow = file("slow", tape_of(header_, records));
  const auto same = ask_hocket({"tape", "diff", file("a", tape_), slow});
  EXPECT_EQ(same.status, kDone) << same.err;
  EXPECT_EQ(same.out,
            "19 records, the same on both tapes\n"
            "                A         B\n"
            "finished steps  2         2\n"
            "a step, mean    4 ms      8.001 ms\n"
            "last finish     8.001 ms  16 ms\n");

  records[9].bytes = 35;
  const auto different =
      ask_hocket({"tape", "diff", file("a", tape_), file("b", tape_of(header_, records))});
  EXPECT_EQ(different.status, kFailed);
  EXPECT_THAT(different.out, HasSubstr("record 10 differs\n    7  "));
  EXPECT_THAT(different.out, HasSubstr("finished steps  2         1\n")) << "a byte is missing";
  EXPECT_THAT(different.out, HasSubstr("  A 10  4.000345 ms  finished_part 1 reduce, 36 bytes\n"
                                       "  B 10  8.000690 ms  finished_part 1 reduce, 35 bytes\n"));

  records.resize(5);
  const auto shorter =
      ask_hocket({"tape", "diff", file("c", tape_of(header_, records)), file("a", tape_)});
  EXPECT_EQ(shorter.status, kFailed);
  EXPECT_THAT(shorter.out, HasSubstr("  A ends\n  B 6  "));

  const auto cut =
      ask_hocket({"tape", "diff", file("a", tape_), file("d", tape_.substr(0, tape_.size() - 1))});
  EXPECT_EQ(cut.status, kBadInput);
  EXPECT_THAT(cut.err, HasSubstr("d: the tape ends"));
}

TEST_F(TapeVerb, AnswersMisuseWithOneLine) {
  const std::string path = file("a", tape_), text = file("text", "some text");
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"tape"},
                                             {"tape", "show"},
                                             {"tape", "play", path},
                                             {"tape", "diff", path},
                                             {"tape", "show", path, "--", "x"},
                                             {"tape", "show", path, "--limit", "-1"},
                                             {"tape", "replay", text}}) {
    const auto answer = ask_hocket(arguments);
    EXPECT_EQ(answer.status, kBadInput) << answer.out;
    EXPECT_THAT(answer.err, StartsWith("hocket: "));
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1);
  }
  EXPECT_EQ(ask_hocket({"tape", "show", folder_.file("none")}).status, kFailed);
  EXPECT_EQ(ask_hocket({"tape", "--help"}).status, kDone);
}

TEST_F(TapeVerb, DamageNeverCrashesAVerb) {
  std::mt19937_64 random(4);
  const std::string whole = file("a", tape_);
  for (int i = 0; i < 200; ++i) {
    const std::string damaged = file("b", mutate(tape_, random));
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"tape", "show", damaged},
             {"tape", "show", damaged, "--json", "--limit", "1000"},
             {"tape", "diff", whole, damaged},
             {"tape", "replay", damaged}}) {
      const auto answer = ask_hocket(arguments);
      ASSERT_LE(answer.status, kBadInput) << i;
      ASSERT_LE(std::count(answer.err.begin(), answer.err.end(), '\n'), 1);
    }
  }
}

}  // namespace
}  // namespace hocket
