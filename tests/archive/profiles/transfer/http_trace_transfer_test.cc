#include "archive/profiles/transfer/http_trace_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "archive/profiles/load_profile.h"
#include "core/base/json.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/client/fake_daemon.h"
#include "tests/daemon/running_daemon.h"
#include "tests/reserved_port.h"
#include "tests/scoped_environment.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

/// A job and a daemon that serves its traces.
class TraceTransfer : public ::testing::Test {
 protected:
  Environment environment(const std::string& daemon) const {
    return [daemon](const char* name) {
      return std::string_view(name) == "HOCKET_DAEMON" ? std::optional(daemon) : std::nullopt;
    };
  }

  ServedTracesOptions options() const {
    return {.folder = job_.folder.file("served"), .url = port_.url(), .store = "here"};
  }

  const ScopedEnvironment no_daemon_{"HOCKET_DAEMON", nullptr};
  ProfiledJob job_;
  const ReservedPort port_;
  std::optional<RunningDaemon> daemon_{std::in_place, *job_.store, port_.port(), options()};
  HttpTraceTransfer transfer_{environment(port_.url())};
};

TEST_F(TraceTransfer, ATraceOfManyPiecesArrivesWhole) {
  std::mt19937 random(5);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kTracePieceBytes, 3 * kTracePieceBytes + 7}) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::string file = job_.folder.file("trace");
    write_bytes(file, bytes);
    const auto url = must(transfer_.make_set()).value().of_rank(3);
    must(transfer_.send(file, url));
    // An empty trace has no piece, so nothing was sent.
    if (size == 0) {
      EXPECT_EQ(code_of(transfer_.fetch(url)), ErrorCode::not_found);
      continue;
    }
    std::string path;
    {
      const LocalTrace trace = must(transfer_.fetch(url));
      path = trace.path;
      EXPECT_TRUE(must(read_file(path)) == bytes) << size;
    }
    EXPECT_FALSE(fs::exists(path)) << "it goes with its object";
    EXPECT_TRUE(fs::exists(file));
  }
}

TEST_F(TraceTransfer, AProfileWhoseTracesWereSentIsLoadedAsIfTheyWereHere) {
  const auto traces = ProfiledJob::traces();
  const ProfileRow here = job_.add_traces(traces);
  ProfileToSave save{.folder = must(create_profile_folder(*job_.store, job_.path, "job")),
                     .target = &transfer_,
                     .ranks = {}};
  const std::string folder = save.folder.path;
  for (const SimulatedTrace& simulated : traces) save.ranks.push_back({simulated.trace});
  const ProfileRow there = must(save_profile(*job_.store, job_.path, std::move(save)));
  EXPECT_THAT(notes_of(there), testing::Not(testing::Contains(HasSubstr("daemon"))));
  for (const ProfileRank& rank : there.ranks) {
    EXPECT_EQ(parse_trace_url(rank.trace_path).value().daemon, port_.url());
  }
  EXPECT_FALSE(fs::exists(folder));
  const auto loaded = must(load_profile(there));
  EXPECT_TRUE(loaded.traces == must(load_profile(here)).traces);
  EXPECT_THAT(loaded.notes, IsEmpty());

  daemon_.reset();
  const auto alone = load_profile(there);
  EXPECT_EQ(code_of(alone), ErrorCode::not_found);
  EXPECT_THAT(alone.error().message, HasSubstr("rank 0 is left out: daemon " + port_.url()));
}

TEST_F(TraceTransfer, OnlyAStoreOnAServerWithoutASharedFolderSendsThem) {
  const auto with_folder = [](const char* name) {
    return std::string_view(name) == "HOCKET_TRACES" ? std::optional<std::string>("/shared")
                                                     : std::nullopt;
  };
  EXPECT_EQ(trace_target("/var/lib/hocket.db", environment("http://a")), nullptr);
  EXPECT_EQ(trace_target("postgresql://db/hocket", with_folder), nullptr);
  EXPECT_NE(trace_target("postgresql://db/hocket", environment("http://a")), nullptr);
  const auto nowhere = [](const char*) { return std::optional<std::string>(); };
  EXPECT_EQ(must(trace_target("postgresql://db/hocket", nowhere)->make_set()), std::nullopt);
  daemon_.emplace(*job_.store, port_.port());
  EXPECT_EQ(must(transfer_.make_set()), std::nullopt) << "this daemon serves none";
}

TEST_F(TraceTransfer, ADaemonThatFailsInBetweenIsAnErrorThatNamesIt) {
  const std::string file = job_.folder.file("trace");
  write_bytes(file, std::string(2 * kTracePieceBytes, 'x'));
  FakeDaemon fake(FakeDaemon::answering([](const FakeDaemon::Request& request) {
    if (!request.says("offset=0 ")) {
      return http_answer(503, R"({"error":{"code":"unavailable","message":"the disk is full"}})");
    }
    if (request.is("PUT")) return http_answer(200, R"({"bytes":524288})");
    return http_answer(200, "ab", "application/octet-stream");
  }));
  const TraceUrl url{fake.url(), std::string(kTraceSetDigits, 'a'), 0};
  const auto sent = transfer_.send(file, url);
  ASSERT_FALSE(sent);
  const auto fetched = transfer_.fetch(url);
  ASSERT_FALSE(fetched);
  for (const Error& error : {sent.error(), fetched.error()}) {
    EXPECT_EQ(error.code, ErrorCode::unavailable);
    EXPECT_THAT(error.message, HasSubstr("the disk is full"));
    EXPECT_THAT(error.message, HasSubstr(fake.url()));
  }
}

TEST_F(TraceTransfer, AnAnswerThatIsNoDaemonsIsRefused) {
  for (const char* body :
       {"{}", R"({"daemon":"http://a","set":"../x"})",
        R"({"daemon":"file:///etc","set":"0123456789abcdef0123456789abcdef"})", "[]", "<html>"}) {
    FakeDaemon fake(
        FakeDaemon::answering([&](const FakeDaemon::Request&) { return http_answer(201, body); }));
    HttpTraceTransfer transfer(environment(fake.url()));
    const auto set = transfer.make_set();
    ASSERT_FALSE(set) << body;
    EXPECT_THAT(set.error().message, HasSubstr(fake.url())) << body;
    const auto fetched = transfer.fetch({fake.url(), std::string(kTraceSetDigits, 'a'), 0});
    EXPECT_EQ(code_of(fetched), ErrorCode::unavailable) << body;
  }
}

}  // namespace
}  // namespace hocket
