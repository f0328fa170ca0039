#include "daemon/traces/served_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <random>

#include "archive/profiles/transfer/http_trace_transfer.h"
#include "core/base/clock.h"
#include "core/files/private_file.h"
#include "tests/odd_files.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

class ServedTracesTest : public ::testing::Test {
 protected:
  static ProfileRow row_of(const TraceSet& set) {
    ProfileRow row;
    row.ranks = {{.rank = 0, .trace_path = set.of_rank(0).text()},
                 {.rank = 1, .trace_path = "/elsewhere/rank-1.sqlite"},
                 {.rank = 2, .trace_path = set.of_rank(2).text()}};
    return row;
  }

  ServedTracesOptions options(const std::string& store = "postgresql://db/hocket") const {
    return {.folder = folder_.file("served"), .url = "http://node7:7077", .store = store};
  }

  const TemporaryFolder folder_;
  ServedTraces traces_{options()};
};

TEST_F(ServedTracesTest, AreReadAsTheyWereSent) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto set = must(traces_.make_set("ada"));
  EXPECT_EQ(set.daemon, "http://node7:7077");
  EXPECT_NE(must(traces_.make_set("ada")).id, set.id);
  std::string sent;
  while (sent.size() < 3 * kTracePieceBytes) {
    std::string piece(1 + random() % kTracePieceBytes, '\0');
    for (char& byte : piece) byte = static_cast<char>(random());
    const auto offset = std::ssize(sent);
    sent += piece;
    EXPECT_EQ(must(traces_.append(set.id, 3, offset, piece)), std::ssize(sent));
    // A client that got no answer sends a piece again.
    EXPECT_EQ(must(traces_.append(set.id, 3, offset, piece)), std::ssize(sent));
  }
  std::string read;
  for (;;) {
    const auto piece = must(traces_.read(set.id, 3, std::ssize(read)));
    if (piece.empty()) break;
    EXPECT_LE(piece.size(), kTracePieceBytes);
    read += piece;
  }
  EXPECT_TRUE(read == sent);
  EXPECT_EQ(traces_.bytes_of(set.of_rank(3)), std::ssize(sent));
  EXPECT_EQ(traces_.bytes_of(set.of_rank(4)), 0);
  EXPECT_THAT(must(traces_.read(set.id, 3, kMostServedTraceBytes)), IsEmpty());
}

TEST_F(ServedTracesTest, PiecesThatDoNotFitAreRefused) {
  const auto set = must(traces_.make_set("ada"));
  must(traces_.append(set.id, 0, 0, "abc"));
  const auto gap = traces_.append(set.id, 0, 4, "e");
  EXPECT_EQ(code_of(gap), ErrorCode::invalid_argument);
  EXPECT_THAT(gap.error().message, HasSubstr("the next piece is at 3"));
  EXPECT_EQ(code_of(traces_.append(set.id, 0, 2, "cd")), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(traces_.append(std::string(kTraceSetDigits, '0'), 0, 0, "x")),
            ErrorCode::not_found);
  for (const char* wrong : {"", ".", "..", "../served", "/etc"}) {
    EXPECT_EQ(code_of(traces_.append(wrong, 0, 0, "x")), ErrorCode::not_found) << wrong;
    EXPECT_EQ(code_of(traces_.read(wrong, 0, 0)), ErrorCode::not_found) << wrong;
  }
  EXPECT_EQ(code_of(traces_.read(set.id, 1, 0)), ErrorCode::not_found);
  EXPECT_EQ(must(traces_.read(set.id, 0, 0)), "abc");
}

TEST_F(ServedTracesTest, ADiskThatIsAlmostFullTakesNoMore) {
  auto full = options();
  full.least_free_bytes = std::numeric_limits<std::int64_t>::max();
  ServedTraces traces(full);
  const auto set = must(traces.make_set("ada"));
  const auto refused = traces.append(set.id, 0, 0, "x");
  EXPECT_EQ(code_of(refused), ErrorCode::unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("almost full"));
}

TEST_F(ServedTracesTest, AreFilesForTheirOwnDaemonAlone) {
  const auto set = must(traces_.make_set("ada"));
  must(traces_.append(set.id, 0, 0, "abc"));
  const auto row = traces_.with_own_paths(row_of(set));
  EXPECT_TRUE(fs::is_regular_file(row.ranks[0].trace_path)) << row.ranks[0].trace_path;
  EXPECT_EQ(row.ranks[1].trace_path, "/elsewhere/rank-1.sqlite");
  EXPECT_EQ(row.ranks[2].trace_path, set.of_rank(2).text()) << "it was never sent here";
  EXPECT_EQ(ServedTraces().with_own_paths(row_of(set)), row_of(set));
}

TEST_F(ServedTracesTest, GoWithTheirProfileAndAreGivenTimeBefore) {
  const auto kept = must(traces_.make_set("ada")), gone = must(traces_.make_set("ada"));
  const auto of_another_store =
      must(ServedTraces(options("postgresql://other/db")).make_set("ada"));
  must(traces_.append(gone.id, 0, 0, "abc"));
  must(create_private_folders(folder_.file("served") + "/notes"));
  const std::vector<ProfileRow> rows = {row_of(kept)};
  const std::int64_t now_ns = system_unix_ns();
  EXPECT_EQ(must(traces_.sweep(rows, now_ns)).sets, 0) << "it may be about to be saved";
  // Files are timed by the kernel's coarse clock, which may be behind.
  const std::int64_t later_ns = now_ns + kUnsavedSetNs + 60'000'000'000;
  const auto swept = must(traces_.sweep(rows, later_ns));
  EXPECT_EQ(swept.sets, 1);
  EXPECT_GT(swept.bytes, 3);
  EXPECT_FALSE(fs::exists(folder_.file("served") + "/" + gone.id));
  for (const std::string& stays : {kept.id, of_another_store.id, std::string("notes")}) {
    EXPECT_TRUE(fs::exists(folder_.file("served") + "/" + stays)) << stays;
  }
  EXPECT_EQ(must(traces_.sweep({}, later_ns)).sets, 1);
  EXPECT_EQ(must(ServedTraces({.folder = folder_.file("none")}).sweep({}, later_ns)).sets, 0);
}

TEST_F(ServedTracesTest, AreTheirOwnersAloneWhateverTheUmask) {
  const auto before = ::umask(0);
  const auto set = must(traces_.make_set("ada"));
  must(traces_.append(set.id, 0, 0, "trace"));
  ::umask(before);
  for (const auto& [path, mode] :
       {std::pair{folder_.file("served"), 0700u},
        std::pair{folder_.file("served/" + set.id), 0700u},
        std::pair{folder_.file("served/" + set.id + "/rank-0.sqlite"), 0600u},
        std::pair{folder_.file("served/" + set.id + "/store"), 0600u}}) {
    struct stat status = {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0) << path;
    EXPECT_EQ(status.st_mode & 0777, mode) << path;
  }
}

TEST_F(ServedTracesTest, WhatIsNoFileIsNeitherReadNorWritten) {
  const auto set = must(traces_.make_set("ada"));
  for (const char* name : {"/rank-0.sqlite", "/store"}) {
    const std::string path = folder_.file("served/" + set.id + name);
    const auto use = [&] {
      (void)traces_.read(set.id, 0, 0);
      (void)traces_.append(set.id, 0, 0, "trace");
      (void)traces_.sweep({}, 0);
    };
    for_odd_files(path, use, [&](const OddFile& odd, bool ended) {
      EXPECT_TRUE(ended) << odd.kind;
      if (std::string_view(name) == "/store") return;
      EXPECT_FALSE(traces_.read(set.id, 0, 0)) << odd.kind;
      EXPECT_FALSE(traces_.append(set.id, 0, 0, "trace")) << odd.kind;
    });
  }
}

TEST_F(ServedTracesTest, AFolderThatOthersCanWriteIsNotUsed) {
  must(traces_.make_set("ada"));
  ASSERT_EQ(::chmod(folder_.file("served").c_str(), 0777), 0);
  EXPECT_THAT(message_of(traces_.make_set("ada")), HasSubstr("chmod go-w"));
}

}  // namespace
}  // namespace hocket
