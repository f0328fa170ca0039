#include "core/tape/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>

#include "tests/core/tape/tape_fixtures.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Forwards every call, and builds the records that a reader must find.
class Witness final : public PlanObserver {
 public:
  Witness(PlanObserver& next, const SetClock& clock) : next_(next), clock_(clock) {}

  const std::vector<TapeRecord>& records() const { return records_; }

  void configured(const PlanOptions& options) override {
    add(TapeKind::configured).plan = options;
    next_.configured(options);
  }
  void submitted(const SubmittedTask& task) override {
    TapeRecord& record = add(TapeKind::submitted);
    record.number = tasks_;
    record.tasks = {{std::string(task.name),
                     task.priority,
                     task.is_collective,
                     task.bytes,
                     {task.accesses.begin(), task.accesses.end()},
                     task.lane,
                     task.communication}};
    numbers_[key(task.id)] = tasks_++;
    next_.submitted(task);
  }
  void launched(const CapturedStep& step, TaskId first) override {
    std::vector<TapeTask> tasks;
    for (const auto& task : step.tasks()) {
      tasks.push_back({task.name, task.priority, task.is_collective, task.bytes, task.accesses,
                       task.lane, task.communication});
    }
    const auto known = std::ranges::find(captured_, tasks);
    const auto number = static_cast<std::uint64_t>(known - captured_.begin());
    if (known == captured_.end()) {
      captured_.push_back(tasks);
      TapeRecord& record = add(TapeKind::captured);
      record.number = number;
      record.tasks = std::move(tasks);
    }
    TapeRecord& record = add(TapeKind::launched);
    record.number = number;
    record.first_task = tasks_;
    for (std::uint32_t i = 0; i < step.size(); ++i) {
      numbers_[key(step.id_of(i, first))] = tasks_++;
    }
    next_.launched(step, first);
  }
  void announced(std::span<const std::uint64_t> collectives) override {
    add(TapeKind::announced).collectives = {collectives.begin(), collectives.end()};
    next_.announced(collectives);
  }
  void ready(TaskId task) override {
    add(TapeKind::ready).number = numbers_.at(key(task));
    next_.ready(task);
  }
  void started(TaskId task) override {
    add(TapeKind::started).number = numbers_.at(key(task));
    next_.started(task);
  }
  void started_part(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) override {
    add_part(TapeKind::started_part, task, offset_bytes, bytes);
    next_.started_part(task, offset_bytes, bytes);
  }
  void finished(TaskId task) override {
    add(TapeKind::finished).number = numbers_.at(key(task));
    next_.finished(task);
  }
  void finished_part(TaskId task, std::int64_t bytes) override {
    add_part(TapeKind::finished_part, task, 0, bytes);
    next_.finished_part(task, bytes);
  }
  void finished_push(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) override {
    add_part(TapeKind::finished_push, task, offset_bytes, bytes);
    next_.finished_push(task, offset_bytes, bytes);
  }
  void summed(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) override {
    add_part(TapeKind::summed, task, offset_bytes, bytes);
    next_.summed(task, offset_bytes, bytes);
  }
  void started_pull(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) override {
    add_part(TapeKind::started_pull, task, offset_bytes, bytes);
    next_.started_pull(task, offset_bytes, bytes);
  }
  void finished_pull(TaskId task, std::int64_t bytes) override {
    add_part(TapeKind::finished_pull, task, 0, bytes);
    next_.finished_pull(task, bytes);
  }

 private:
  static std::pair<std::uint32_t, std::uint32_t> key(TaskId task) {
    return {task.slot, task.generation};
  }
  TapeRecord& add(TapeKind kind) {
    TapeRecord& record = records_.emplace_back();
    record.kind = kind;
    record.time_ns = clock_.now_ns();
    return record;
  }

  void add_part(TapeKind kind, TaskId task, std::int64_t offset_bytes, std::int64_t bytes) {
    TapeRecord& record = add(kind);
    record.number = numbers_.at(key(task));
    record.offset_bytes = offset_bytes;
    record.bytes = bytes;
  }

  PlanObserver& next_;
  const SetClock& clock_;
  std::vector<TapeRecord> records_;
  std::uint64_t tasks_ = 0;
  // A slot's generation may start again after a launch, so the last task is kept.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> numbers_;
  std::vector<std::vector<TapeTask>> captured_;
};

const TapeHeader kHeader{.plan = {.partition_bytes = 64, .credit_bytes = 128},
                         .rank = 0,
                         .ranks = 1,
                         .virtual_time = false,
                         .name = "test"};

TEST(Tape, HasWhatAPlanWasToldAndDecided) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::string tape;
    SetClock clock(0);
    std::vector<TapeRecord> expected;
    {
      TapeWriter writer(random_tape_header(seed), clock,
                        [&tape](std::string_view bytes) { tape += bytes; });
      Witness witness(writer, clock);
      run_random_plan(seed, &witness, &clock);
      expected = witness.records();
    }
    const auto reader = TapeReader::open(tape);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->header(), random_tape_header(seed));
    const TapeContents contents = read_tape(tape);
    ASSERT_EQ(contents.error, "");
    ASSERT_EQ(contents.records.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(contents.records[i], expected[i]) << i;
    ASSERT_EQ(tape_of(random_tape_header(seed), contents.records), tape);
  }
}

TEST(Tape, KnowsTheNameOfEachTask) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const std::string tape = random_tape(seed);
    auto reader = TapeReader::open(tape);
    std::vector<std::vector<TapeTask>> captured;
    std::vector<std::string> names;
    for (auto record = reader->next(); record && *record; record = reader->next()) {
      const TapeRecord& read = **record;
      if (read.kind == TapeKind::submitted) names.push_back(read.tasks.front().name);
      if (read.kind == TapeKind::captured) captured.push_back(read.tasks);
      if (read.kind != TapeKind::launched) continue;
      EXPECT_EQ(read.first_task, names.size());
      EXPECT_EQ(reader->captured_size(read.number), captured[read.number].size());
      for (const TapeTask& task : captured[read.number]) names.push_back(task.name);
    }
    ASSERT_EQ(reader->tasks(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) ASSERT_EQ(reader->name_of(i), names[i]) << i;
  }
}

TEST(Tape, AnyPrefixGivesAPrefixOfTheRecordsAndSaysWhereItEnds) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    const std::string tape = random_tape(seed);
    const auto whole = read_tape(tape).records;
    std::size_t records = 0;
    for (std::size_t size = 0; size < tape.size(); ++size) {
      const auto prefix = read_tape(std::string_view(tape).substr(0, size));
      ASSERT_THAT(prefix.error, HasSubstr("at byte " + std::to_string(size)));
      ASSERT_THAT(prefix.error, StartsWith("the tape ends "));
      ASSERT_GE(prefix.records.size(), records) << "more bytes, fewer records";
      records = prefix.records.size();
      ASSERT_LE(records, whole.size());
      if (records > 0) {
        ASSERT_THAT(prefix.error, HasSubstr("after " + std::to_string(records) + " whole records"));
        ASSERT_EQ(prefix.records.back(), whole[records - 1]);
      }
    }
    EXPECT_EQ(records, whole.size()) << "all but the end mark";
  }
}

TEST(Tape, ComesInChunksOfWholeRecords) {
  std::string tape;
  std::size_t chunks = 0;
  const SetClock clock(0);
  {
    TapeWriter writer(kHeader, clock, [&](std::string_view bytes) {
      EXPECT_GE(bytes.size(), ++chunks <= 2 ? 65536u : 1u);
      tape += bytes;
      const auto so_far = read_tape(tape);
      EXPECT_THAT(so_far.error, ::testing::AnyOf("", HasSubstr("without its end mark")));
    });
    for (std::uint32_t i = 0; i < 30000; ++i) {
      writer.submitted({{i, 0}, "task", 1, {}, false, 0});
    }
  }
  EXPECT_EQ(chunks, 3u);
  EXPECT_EQ(read_tape(tape).records.size(), 30000u);
  EXPECT_EQ(read_tape(tape).error, "");
  EXPECT_LT(tape.size(), 30000u * 7);
}

TEST(Tape, AStepThatComesBackIsNotWrittenTwice) {
  std::string tape;
  const SetClock clock(0);
  const auto step = [](const char* name) {
    return std::make_unique<const CapturedStep>(
        std::vector<CapturedStep::Task>{{name, 0, false, 0, {}}});
  };
  {
    TapeWriter writer(kHeader, clock, [&tape](std::string_view bytes) { tape += bytes; });
    for (const char* name : {"a", "b", "a", "b", "b"}) {
      // The next step may be allocated at the address of this one.
      const auto launched = step(name);
      writer.launched(*launched, {0, 0});
      writer.submitted({{1, 0}, "between", 0, {}, false, 0});
    }
  }
  std::vector<std::string> captured;
  std::vector<std::uint64_t> launched;
  for (const auto& record : read_tape(tape).records) {
    if (record.kind == TapeKind::captured) captured.push_back(record.tasks.front().name);
    if (record.kind == TapeKind::launched) launched.push_back(record.number);
  }
  EXPECT_THAT(captured, ::testing::ElementsAre("a", "b"));
  EXPECT_THAT(launched, ::testing::ElementsAre(0, 1, 0, 1, 1));
}

TEST(Tape, CutsLongNames) {
  std::string tape;
  const SetClock clock(0);
  TapeHeader header = kHeader;
  header.name = std::string(100'000, 'n');
  {
    TapeWriter writer(header, clock, [&tape](std::string_view bytes) { tape += bytes; });
    writer.submitted({{0, 0}, std::string(100'000, 't'), 0, {}, false, 0});
  }
  EXPECT_EQ(read_tape(tape).records.front().tasks.front().name.size(), kMaxTapeNameBytes);
  EXPECT_EQ(TapeReader::open(tape)->header().name.size(), kMaxTapeNameBytes);
}

TEST(Tape, SaysWhereItIsDamaged) {
  const std::string start = tape_of(kHeader, {}).substr(0, tape_of(kHeader, {}).size() - 1);
  const std::string at = " at byte " + std::to_string(start.size());
  const std::string task("\x0a\x01n\x01\x00\x00\x00\x00\x00", 9);  // a name, then a task
  // The same with what it communicates to follow.
  const std::string collective = start + std::string("\x0a\x01n\x01\x00\x00\x80\x80\x10\x01", 10);
  const struct {
    std::string bytes, error;
  } cases[] = {
      {start + '\x0b' + "more", "damaged at byte " + std::to_string(start.size() + 1)},
      {start + '\x0b' + "more", "something follows the end mark"},
      {start + '\x11', "damaged" + at + ", after 0 whole records: unknown kind of record 17"},
      {start + std::string(1, '\0'), "unknown kind of record 0"},
      {start + task + '\x11', "after 1 whole records"},
      {start + std::string("\x0c\x00\x00\x01\x00", 5), "a partition's size must be from 1"},
      {start + std::string("\x0c\x00\x01\x00\x00", 5), "a window's size must be from 1"},
      {start + std::string("\x0c\x00\x01\x01\x03", 5), "an unknown order"},
      {start + std::string("\x0c\x00\x01\x01\x83\x80\x10", 7), "an order must be from 0 to 262146"},
      {start + std::string("\x0c\x00\x01\x01\x06\x01", 6),
       "servers that follow an announced order"},
      {start + std::string("\x0c\x00\x01\x01\x05\x00", 6), "a window's size must be from 1"},
      {start + std::string("\x05\x00\x00", 3), "a task's distance is 0 of 0 so far"},
      {start + std::string("\x03\x00\x00", 3), "a captured step's number is 0 of 0"},
      {start + std::string("\x01\x00\x00", 3), "a name's number is 0 of 0"},
      {start + "\x0a" + std::string("\x81\x20"), "a name's length must be from 0 to 4096"},
      {start + task.substr(0, 5) + std::string("\x00\x80\x80\x40", 4), "a priority must be"},
      {start + task.substr(0, 5) + std::string("\x00\x80\x80\x20\x01\x00", 6),
       "a collective has no lane"},
      {collective + "\x0a", "a kind of communication must be from 0 to 9"},
      {collective + "\x05", "a task that is pushed or pulled"},
      {collective + std::string("\x00\x03", 2), "a group must be from 4"},
      {collective + std::string("\x00\x07", 2), "an unknown tier of a group"},
      {collective + "\x07\x04\x80\x80\x80\x20", "a peer must be from"},
      {start + task.substr(0, 8) + "\x01\x03", "an unknown access mode"},
      {start + task.substr(0, 8) + "\x01\x80\x80\x80\x20", "an access must be from"},
      {start + task.substr(0, 8) + "\xff\x01", "the tape ends in the middle of a record"},
      {start + "\x05" + std::string(9, '\xff') + '\x02', "a number of more than 64 bits"},
      {start + "\x05" + std::string(9, '\xff') + '\x01', "a time must be from"},
  };
  for (const auto& [bytes, error] : cases) {
    const auto contents = read_tape(bytes);
    EXPECT_THAT(contents.error, HasSubstr(error));
  }
  auto reader = TapeReader::open(cases[2].bytes);
  EXPECT_EQ(reader->next().error(), reader->next().error());
}

TEST(Tape, RefusesAHeaderThatIsNone) {
  const auto with = [](const char* field, nlohmann::json value) {
    auto document = to_json(kHeader);
    document[field] = std::move(value);
    const std::string text = document.dump();
    return "hocktape" + std::string(1, static_cast<char>(text.size() | 0x80)) +
           std::string(1, static_cast<char>(text.size() >> 7)) + text + '\x0b';
  };
  EXPECT_EQ(read_tape(with("rank", 0)).error, "");
  EXPECT_EQ(read_tape(with("version", 1)).error, "");
  EXPECT_THAT(read_tape(with("servers", 2)).error, HasSubstr("\"pull_credit_bytes\""));
  const struct {
    std::string bytes, error;
  } cases[] = {{"a letter", "this is no tape"},
               {"", "the tape ends in its header at byte 0"},
               {"hockt", "the tape ends in its header at byte 5"},
               {"hocktape\x7f", "the tape ends in its header at byte 9"},
               {"hocktape\xff\xff\xff\x01 ", "the header's size must be"},
               {"hocktape\x02[]", "must be a JSON object"},
               {with("format", "hocket-report"), "field \"format\""},
               {with("version", 6), "use a newer hocket"},
               {with("ranks_per_host", 3), "ranks_per_host"},
               {with("mesh", {{{"name", "data"}, {"size", 3}}}), "mesh"},
               {with("partition_bytes", 0), "field \"partition_bytes\""},
               {with("credit_bytes", -1), "field \"credit_bytes\""},
               {with("order", "static"), "field \"order\""},
               {with("rank", -1), "field \"rank\""},
               {with("ranks", 0), "field \"ranks\""},
               {with("virtual_time", 1), "field \"virtual_time\""},
               {with("name", nullptr), "field \"name\""}};
  for (const auto& [bytes, error] : cases) {
    EXPECT_THAT(read_tape(bytes).error, HasSubstr(error)) << bytes;
  }
}

TEST(Tape, DamageIsNeverMoreThanAnError) {
  std::mt19937_64 random(1);
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    const std::string tape = mutate(random_tape(seed % 50), random);
    auto reader = TapeReader::open(tape);
    if (!reader) continue;
    auto record = reader->next();
    for (; record && *record; record = reader->next()) describe_record(**record, *reader);
    EXPECT_TRUE(record || record.error().message.find(" at byte ") != std::string::npos);
  }
}

}  // namespace
}  // namespace hocket
