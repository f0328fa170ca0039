#include "store/trace_file.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "store/sqlite/connection.h"
#include "tests/store/fixtures.h"
#include "tests/store/random_trace.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void write(const std::string& path, const std::vector<RankTrace>& parts) {
  const auto writer = must(create_trace_file(path, parts.front()));
  for (const RankTrace& part : parts) must(writer->append(part));
  must(writer->finish());
}

/// Returns the trace expected from reading appended parts within a window.
RankTrace joined(const std::vector<RankTrace>& parts, const TraceWindow& window = {}) {
  RankTrace all = parts.front();
  all.names.clear();
  all.groups.clear();
  all.records.clear();
  all.step_starts.clear();
  all.clock_samples.clear();
  all.dropped = all.quarantined = 0;
  for (RankTrace part : parts) {
    put_in_order(part);
    std::vector<std::int32_t> groups;
    for (const TraceGroup& group : part.groups) {
      const auto known = std::ranges::find(all.groups, group);
      groups.push_back(static_cast<std::int32_t>(known - all.groups.begin()));
      if (known == all.groups.end()) all.groups.push_back(group);
    }
    for (TraceRecord record : part.records) {
      if (record.group != kAllRanks)
        record.group = groups.at(static_cast<std::size_t>(record.group));
      all.names.push_back(part.names[record.name]);
      record.name = static_cast<std::uint32_t>(all.names.size() - 1);
      all.records.push_back(record);
    }
    std::ranges::copy(part.step_starts, std::back_inserter(all.step_starts));
    std::ranges::copy(part.clock_samples, std::back_inserter(all.clock_samples));
    all.dropped += part.dropped;
    all.quarantined += part.quarantined;
  }
  std::erase_if(all.records, [&](const TraceRecord& r) {
    const bool is_point_inside =
        r.begin_ns == r.end_ns && r.begin_ns >= window.begin_ns && r.begin_ns < window.end_ns;
    return !is_point_inside && !(r.begin_ns < window.end_ns && r.end_ns > window.begin_ns);
  });
  put_in_order(all);
  return all;
}

/// Checks equality except for the order of `names`; each name must be used and occur once.
void expect_same(const RankTrace& found, const RankTrace& expected) {
  ASSERT_EQ(found.records.size(), expected.records.size());
  std::vector<bool> is_used(found.names.size());
  for (std::size_t i = 0; i < found.records.size(); ++i) {
    TraceRecord record = found.records[i];
    ASSERT_LT(record.name, found.names.size());
    is_used[record.name] = true;
    EXPECT_EQ(found.names[record.name], expected.names[expected.records[i].name]);
    record.name = expected.records[i].name;
    EXPECT_EQ(record, expected.records[i]) << i;
  }
  EXPECT_TRUE(std::ranges::all_of(is_used, [](bool used) { return used; }));
  std::vector<std::string> names = found.names;
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  RankTrace rest = found, expected_rest = expected;
  for (RankTrace* trace : {&rest, &expected_rest}) {
    trace->names.clear();
    trace->records.clear();
  }
  EXPECT_EQ(rest, expected_rest);
}

std::vector<RankTrace> random_parts(std::mt19937_64& random) {
  std::vector<RankTrace> parts;
  for (std::uint64_t i = random() % 4 + 1; i > 0; --i) {
    parts.push_back(random_trace(random, random() % 8 == 0 ? 2'000 : 60));
    if (parts.back().records.empty() || random() % 3 != 0) continue;
    TraceRecord& broken = parts.back().records[random() % parts.back().records.size()];
    (random() % 2 == 0 ? broken.end_ns : broken.bytes) = -1;
    if (random() % 4 == 0) broken.name = 99;
  }
  return parts;
}

TEST(TraceFile, EveryWindowHoldsWhatOverlapsIt) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const TemporaryFolder folder;
    const auto parts = random_parts(random);
    write(folder.file("t.sqlite"), parts);
    const auto reader = must(open_trace_file(folder.file("t.sqlite")));
    expect_same(must(reader->read()), joined(parts));
    EXPECT_EQ(must(reader->step_starts()), joined(parts).step_starts);
    for (int i = 0; i < 20; ++i) {
      TraceWindow window{static_cast<std::int64_t>(random() % 1'200) - 100, 0};
      window.end_ns = window.begin_ns + static_cast<std::int64_t>(random() % 100);
      SCOPED_TRACE(std::to_string(window.begin_ns) + " to " + std::to_string(window.end_ns));
      expect_same(must(reader->read(window)), joined(parts, window));
    }
    if (HasFailure()) return;
  }
}

TEST(TraceFile, TheSummaryIsThatOfAllRecords) {
  std::mt19937_64 random(3);
  const TemporaryFolder folder;
  const std::string path = folder.file("t.sqlite");
  const std::vector<RankTrace> parts = {random_trace(random, 3'000), random_trace(random, 50)};
  const RankTrace all = joined(parts);
  ASSERT_FALSE(all.records.empty());
  const auto writer = must(create_trace_file(path, parts[0]));
  EXPECT_EQ(must(must(open_trace_file(path))->summary()).records, 0);
  for (const RankTrace& part : parts) must(writer->append(part));
  EXPECT_FALSE(must(must(open_trace_file(path))->summary()).is_finished);
  must(writer->finish());
  const TraceFileSummary summary = must(must(open_trace_file(path))->summary());
  EXPECT_TRUE(summary.is_finished);
  EXPECT_EQ(summary.records, static_cast<std::int64_t>(all.records.size()));
  EXPECT_EQ(summary.begin_ns, all.records.front().begin_ns);
  EXPECT_EQ(summary.end_ns, std::ranges::max(all.records, {}, &TraceRecord::end_ns).end_ns);
}

TEST(TraceFile, AnEmptyTraceIsOne) {
  const TemporaryFolder folder;
  RankTrace head;
  head.rank = 1;
  head.ranks = 2;
  write(folder.file("t.sqlite"), {head});
  EXPECT_EQ(must(must(open_trace_file(folder.file("t.sqlite")))->read()), head);
}

TEST(TraceFile, AReaderSeesWhatWasAppendedBeforeItWasOpened) {
  std::mt19937_64 random(5);
  const TemporaryFolder folder;
  const std::string path = folder.file("t.sqlite");
  std::vector<RankTrace> parts;
  const auto writer = must(create_trace_file(path, random_trace(random, 0)));
  for (int i = 0; i < 5; ++i) {
    parts.push_back(random_trace(random, 700));
    must(writer->append(parts.back()));
    const auto reader = must(open_trace_file(path));
    const RankTrace before = joined(parts);
    RankTrace more = random_trace(random, 10);
    parts.push_back(more);
    must(writer->append(more));
    expect_same(must(reader->read()), before);
  }
}

TEST(TraceFile, IsCreatedOnceAndFinishedOnce) {
  const TemporaryFolder folder;
  const std::string path = folder.file("t.sqlite");
  const auto writer = must(create_trace_file(path, RankTrace()));
  const auto second = create_trace_file(path, RankTrace());
  EXPECT_EQ(code_of(second), ErrorCode::unavailable);
  EXPECT_THAT(message_of(second), HasSubstr("exists"));
  must(writer->finish());
  must(writer->finish());
  EXPECT_THAT(message_of(writer->append(RankTrace())), HasSubstr("takes no more records"));
  EXPECT_FALSE(std::filesystem::exists(path + "-journal")) << "a finished trace is one file";
  EXPECT_TRUE(must(must(open_trace_file(path))->summary()).is_finished);
}

TEST(TraceFile, CannotBeCreatedEverywhereNorForEveryRank) {
  const TemporaryFolder folder;
  EXPECT_EQ(code_of(create_trace_file(folder.file("no/t.sqlite"), RankTrace())),
            ErrorCode::unavailable);
  EXPECT_EQ(code_of(create_trace_file("", RankTrace())), ErrorCode::invalid_argument);
  for (const std::int64_t rank : {std::int64_t{-1}, std::int64_t{1} << 24}) {
    RankTrace head;
    head.rank = rank;
    const std::string path = folder.file("rank.sqlite");
    EXPECT_THAT(message_of(create_trace_file(path, head)), HasSubstr("expected 0 to 16777215"));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

/// Returns the rows of `sql` as texts, columns separated by "|".
std::vector<std::string> rows(const std::string& path, const char* sql, int columns) {
  auto db = must(sqlite::Connection::open(path, sqlite::Connection::Mode::read, 0));
  auto query = must(db.query(sql));
  std::vector<std::string> found;
  while (must(query.next())) {
    std::string& row = found.emplace_back();
    for (int i = 0; i < columns; ++i) row += (i == 0 ? "" : "|") + query.text(i);
  }
  return found;
}

TEST(TraceFile, ItsTablesAreThoseOfNsight) {
  const TemporaryFolder folder;
  const std::string path = folder.file("t.sqlite");
  RankTrace trace;
  trace.rank = 2;
  trace.ranks = 4;
  trace.host = "node";
  trace.source = "cupti";
  trace.names = {"gemm", "nccl", "copy", "step", "launch"};
  for (std::uint32_t i = 0; i < 5; ++i) {
    TraceRecord record;
    record.kind = static_cast<TraceKind>(i);
    record.name = i;
    record.lane = 7;
    record.begin_ns = 10 * i;
    record.end_ns = 10 * i + 5;
    record.bytes = record.kind == TraceKind::copy ? 64 : 0;
    trace.records.push_back(record);
  }
  trace.records[0].step = 3;
  trace.records[0].task = 4;
  trace.records[1].collective = CollectiveKind::all_reduce;
  trace.records[1].bytes = 128;
  trace.records[1].sequence = 9;
  trace.records[1].submitted_ns = 1;
  trace.records[1].ready_ns = 2;
  write(path, {trace});

  const std::string process = std::to_string(2 << 24), thread = std::to_string((2 << 24) + 7);
  EXPECT_THAT(
      rows(path,
           "SELECT start, end, deviceId, contextId, streamId, correlationId, globalPid, "
           "demangled.value, short.value, hocketKind, hocketCollective, hocketStep, hocketTask, "
           "hocketBytes, hocketSequence, hocketSubmitted, hocketReady "
           "FROM CUPTI_ACTIVITY_KIND_KERNEL "
           "JOIN StringIds AS demangled ON demangled.id = demangledName "
           "JOIN StringIds AS short ON short.id = shortName ORDER BY start",
           17),
      ElementsAre(
          "0|5|2||7||" + process + "|gemm|gemm|compute||3|4||||",
          "10|15|2||1000007||" + process + "|nccl|nccl|communication|all_reduce|||128|9|1|2"));
  EXPECT_THAT(rows(path,
                   "SELECT start, end, deviceId, streamId, globalPid, bytes, copyKind, value "
                   "FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN StringIds ON id = hocketName",
                   8),
              ElementsAre("20|25|2|7|" + process + "|64|0|copy"));
  EXPECT_THAT(
      rows(path, "SELECT start, end, eventType, text, textId, globalTid FROM NVTX_EVENTS", 6),
      ElementsAre("30|35|59|step||" + thread));
  EXPECT_THAT(rows(path,
                   "SELECT start, end, eventClass, globalTid, correlationId, value "
                   "FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId",
                   6),
              ElementsAre("40|45|0|" + thread + "||launch"));
  EXPECT_THAT(rows(path, "SELECT name, value FROM META_DATA_CAPTURE", 2),
              testing::IsSupersetOf({"HOCKET_RANK|2", "HOCKET_RANKS|4", "HOCKET_HOST|node",
                                     "HOCKET_SOURCE|cupti", "HOCKET_FINISHED|1"}));
}

TEST(TraceFile, EveryRecordHasItsRow) {
  std::mt19937_64 random(11);
  const TemporaryFolder folder;
  const std::string path = folder.file("t.sqlite");
  const RankTrace trace = random_trace(random, 3'000);
  write(path, {trace});
  std::vector<std::string> expected;
  for (const TraceRecord& record : trace.records) {
    expected.push_back(std::to_string(record.begin_ns) + "|" + std::to_string(record.end_ns) + "|" +
                       trace.names[record.name]);
  }
  auto found = rows(path,
                    "SELECT start, end, value FROM CUPTI_ACTIVITY_KIND_KERNEL "
                    "JOIN StringIds ON id = shortName UNION ALL "
                    "SELECT start, end, value FROM CUPTI_ACTIVITY_KIND_MEMCPY "
                    "JOIN StringIds ON id = hocketName UNION ALL "
                    "SELECT start, end, text FROM NVTX_EVENTS UNION ALL "
                    "SELECT start, end, value FROM CUPTI_ACTIVITY_KIND_RUNTIME "
                    "JOIN StringIds ON id = nameId",
                    3);
  std::ranges::sort(found);
  std::ranges::sort(expected);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace hocket
