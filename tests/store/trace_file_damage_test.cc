// Tests trace files whose writer was killed or found the disk full, incomplete copies, and files of
// other kinds.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "store/sqlite/connection.h"
#include "store/trace_file.h"
#include "tests/store/fixtures.h"
#include "tests/store/random_trace.h"

namespace hocket {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// Returns part number `part` of a trace; its records identify themselves.
RankTrace numbered_part(std::int64_t part) {
  RankTrace trace;
  trace.names = {"name of part " + std::to_string(part), "shared"};
  for (std::int64_t i = 0; i < 1'500; ++i) {
    TraceRecord record;
    record.kind = static_cast<TraceKind>(i % 5);
    record.name = static_cast<std::uint32_t>(i % 2);
    record.begin_ns = (part * 1'500 + i) * 10;
    record.end_ns = record.begin_ns + 15;
    record.task = part * 1'500 + i;
    trace.records.push_back(record);
  }
  trace.step_starts = {{part, part * 15'000}};
  trace.dropped = 1;
  return trace;
}

/// Checks that the file holds the first of the numbered records; returns how many.
std::int64_t expect_beginning(TraceFileReader& reader) {
  const TraceFileSummary summary = must(reader.summary());
  const RankTrace trace = must(reader.read());
  EXPECT_EQ(summary.records, static_cast<std::int64_t>(trace.records.size()));
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    EXPECT_EQ(trace.records[i].task, number);
    if (trace.records[i].task != number) break;
    EXPECT_EQ(trace.records[i].begin_ns, number * 10);
    EXPECT_EQ(trace.records[i].end_ns, number * 10 + 15);
  }
  return summary.records;
}

void write_parts(const std::string& path, std::int64_t parts) {
  const auto writer = must(create_trace_file(path, RankTrace()));
  for (std::int64_t i = 0; i < parts; ++i) must(writer->append(numbered_part(i)));
  must(writer->finish());
}

template <class Body>
pid_t start_damager(Body&& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  int status = 99;
  try {
    status = body();
  } catch (...) {
  }
  _exit(status);
}

TEST(TraceFileDamage, AKilledWriterLosesNothingThatItHadAppended) {
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const TemporaryFolder folder;
    const std::string path = folder.file("t.sqlite");
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = start_damager([&] {
      auto writer = create_trace_file(path, RankTrace());
      for (std::int64_t i = 0; writer && (*writer)->append(numbered_part(i)); ++i) {
        if (::write(ends[1], &i, sizeof i) != sizeof i) return 1;
      }
      return 2;
    });
    ASSERT_GT(child, 0);
    close(ends[1]);
    std::int64_t appended = 0, part = 0;
    while (::read(ends[0], &part, sizeof part) == sizeof part) {
      EXPECT_EQ(part, appended);
      // The child continues meanwhile, and is killed at an arbitrary point.
      if (++appended == 1 + round) kill(child, SIGKILL);
    }
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto reader = must(open_trace_file(path));
    EXPECT_FALSE(must(reader->summary()).is_finished);
    const std::int64_t found = expect_beginning(*reader);
    EXPECT_GE(found, appended * 1'500);
    EXPECT_EQ(found % 1'500, 0) << "no part is there by half";
    EXPECT_EQ(must(reader->step_starts()).size(), static_cast<std::size_t>(found / 1'500));
    EXPECT_EQ(must(reader->read()).dropped, found / 1'500);
  }
}

TEST(TraceFileDamage, AFullDiskKeepsWhatWasAppendedAndTakesMoreOnceThereIsRoom) {
  const TemporaryFolder folder;
  const std::string path = folder.file("t.sqlite");
  const pid_t child = start_damager([&] {
    signal(SIGXFSZ, SIG_IGN);
    const auto limit = [](rlim_t bytes) {
      const rlimit limits{bytes, RLIM_INFINITY};
      return setrlimit(RLIMIT_FSIZE, &limits) == 0;
    };
    const auto writer = must(create_trace_file(path, RankTrace()));
    if (!limit(1'000'000)) return 1;
    std::int64_t part = 0;
    auto ok = writer->append(numbered_part(part));
    while (ok) ok = writer->append(numbered_part(++part));
    if (part < 2 || ok.error().code != ErrorCode::unavailable) return 2;
    if (!ok.error().message.starts_with("disk full: trace file " + path)) return 3;
    if (writer->append(numbered_part(part))) return 4;
    if (must(must(open_trace_file(path))->summary()).records != part * 1'500) return 5;
    if (!limit(RLIM_INFINITY)) return 6;
    must(writer->append(numbered_part(part)));
    must(writer->finish());
    return 0;
  });
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const auto reader = must(open_trace_file(path));
  EXPECT_TRUE(must(reader->summary()).is_finished);
  EXPECT_GT(expect_beginning(*reader), 3'000);
  EXPECT_EQ(must(reader->read()).names.size(), must(reader->step_starts()).size() + 1)
      << "names that were rolled back are written again";
}

TEST(TraceFileDamage, AFileThatBreaksOffIsReadAsFarAsItGoes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("t.sqlite"), copy = folder.file("copy.sqlite");
  write_parts(path, 20);
  const std::string whole = read_bytes(path);
  std::int64_t most = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::size_t size = random() % whole.size();
    write_bytes(copy, std::string_view(whole).substr(0, size));
    const auto reader = open_trace_file(copy);
    if (!reader) {
      EXPECT_EQ(code_of(reader), ErrorCode::invalid_argument);
      EXPECT_THAT(message_of(reader), HasSubstr(copy));
      EXPECT_LT(size, whole.size() / 10) << "most of it could have been read";
      continue;
    }
    EXPECT_FALSE(must((*reader)->summary()).is_finished);
    const std::int64_t found = expect_beginning(**reader);
    EXPECT_LE(found, 30'000);
    // Blocks lie behind the rows, so few blocks are missing, and mostly the last one.
    const auto share = static_cast<double>(size) / static_cast<double>(whole.size());
    EXPECT_GE(static_cast<double>(found), (share - 0.1) * 30'000);
    most = std::max(most, found);
  }
  EXPECT_GT(most, 20'000);
}

TEST(TraceFileDamage, SomethingElseIsRefusedAndLeftAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("t.sqlite");
  const auto refusal = [&] {
    const std::string before = read_bytes(path);
    const auto reader = open_trace_file(path);
    EXPECT_EQ(code_of(reader), ErrorCode::invalid_argument);
    EXPECT_EQ(read_bytes(path), before);
    EXPECT_THAT(message_of(reader), HasSubstr(path));
    fs::remove(path);
    return message_of(reader);
  };
  EXPECT_EQ(code_of(open_trace_file(path)), ErrorCode::not_found);
  EXPECT_EQ(code_of(open_trace_file("")), ErrorCode::not_found);
  EXPECT_THAT(message_of(open_trace_file(folder.path())), HasSubstr("is not a file"));
  write_bytes(path, "");
  EXPECT_THAT(refusal(), HasSubstr("is not a trace"));
  write_bytes(path, std::string(10'000, 'x'));
  EXPECT_THAT(refusal(), HasSubstr("is not an SQLite database"));
  must(must(open_store(path))->create_study(sample_study()));
  EXPECT_THAT(refusal(), HasSubstr("it has none of the tables of one"));
}

TEST(TraceFileDamage, WhatCannotBeInATraceIsReported) {
  struct Case {
    const char* sql;
    const char* message;
  };
  const TemporaryFolder folder;
  const std::string path = folder.file("t.sqlite"), copy = folder.file("copy.sqlite");
  write_parts(path, 2);
  for (const Case& each :
       {Case{"PRAGMA user_version = 3", "has version 3, this hocket knows versions 1 to 2"},
        Case{"DROP TABLE HOCKET_BLOCKS", "HOCKET_BLOCKS"},
        Case{"DELETE FROM META_DATA_CAPTURE WHERE name = 'HOCKET_RANK'", "HOCKET_RANK is missing"},
        Case{"UPDATE META_DATA_CAPTURE SET value = '3x' WHERE name = 'HOCKET_RANKS'",
             "HOCKET_RANKS is missing"},
        Case{"INSERT INTO HOCKET_GROUPS (id, name, ranks) VALUES (900, 'x', '[]')", "group"},
        Case{"INSERT INTO HOCKET_GROUPS (id, name, ranks) VALUES (-1, 'x', '[]')", "group"},
        Case{"DELETE FROM StringIds WHERE id = 0", "a name is missing"},
        Case{"DELETE FROM StringIds WHERE id = 2", "name is missing"},
        Case{"UPDATE HOCKET_BLOCKS SET records = records + 1 WHERE id = 2", "block 2"},
        Case{"UPDATE HOCKET_BLOCKS SET records = 9223372036854775807", "block 1"},
        Case{"UPDATE HOCKET_BLOCKS SET data = zeroblob(20000000) WHERE id = 3", "too big"},
        Case{"UPDATE StringIds SET value = zeroblob(20000000) WHERE id = 0", "too big"},
        Case{
            "DROP TABLE HOCKET_STEPS; CREATE VIEW HOCKET_STEPS AS WITH RECURSIVE n(step, start) AS "
            "(VALUES (1, 1) UNION ALL SELECT step + 1, 1 FROM n) SELECT * FROM n",
            "a view in place of a table"},
        Case{"CREATE VIEW HOCKET_MORE AS SELECT 1", "a view in place of a table"},
        Case{"UPDATE HOCKET_BLOCKS SET records = 0", "block 1"},
        Case{"UPDATE HOCKET_BLOCKS SET data = x'07' WHERE id = 3", "block 3"},
        Case{"UPDATE HOCKET_BLOCKS SET data = 12 WHERE id = 3", "block 3"}}) {
    SCOPED_TRACE(each.sql);
    fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
    {
      auto db = must(sqlite::Connection::open(copy, sqlite::Connection::Mode::create, 0));
      must(db.execute_script(each.sql));
    }
    const auto reader = open_trace_file(copy);
    const auto trace = reader ? (*reader)->read() : failure(reader.error());
    EXPECT_TRUE(code_of(trace) == ErrorCode::invalid_argument ||
                code_of(trace) == ErrorCode::unavailable);
    EXPECT_THAT(message_of(trace), HasSubstr(each.message));
  }
}

TEST(TraceFileDamage, MutatedFilesAreAnErrorOrWorkButNeverACrash) {
  const TemporaryFolder folder;
  const std::string path = folder.file("t.sqlite");
  write_parts(path, 3);
  const std::string intact = read_bytes(path);
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::string bytes = intact;
    if (seed % 5 == 0) bytes.resize(random() % bytes.size());
    // Half of the changes are near a page's start, where SQLite keeps its structure.
    for (std::uint64_t i = 0; i < 1 + seed % 24 && !bytes.empty(); ++i) {
      std::size_t at = random() % bytes.size();
      if (random() % 2 == 0) at = at / 8192 * 8192 + random() % 110;
      if (at < bytes.size()) bytes[at] = static_cast<char>(random());
    }
    write_bytes(path, bytes);
    const auto reader = open_trace_file(path);
    const auto trace = reader ? (*reader)->read() : failure(reader.error());
    refused += !trace;
    if (!trace) message_of(trace);
    EXPECT_TRUE(!trace || std::ranges::all_of(trace->records, is_plausible));
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 200);
}

}  // namespace
}  // namespace hocket
