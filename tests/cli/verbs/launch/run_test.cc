// Tests hocket run: ranks as processes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sstream>

#include "core/base/json.h"
#include "core/files/scratch_folder.h"
#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

Ended run(const TemporaryFolder& folder, const std::string& ranks, const std::string& script) {
  return hocket_run(folder, {"run", "--ranks", ranks, "--", "sh", "-c", script});
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

TEST(Run, TellsEachRankItsPlace) {
  const TemporaryFolder folder;
  const auto ended =
      run(folder, "3",
          "test -d \"${HOCKET_RENDEZVOUS#file:}\" && echo $RANK $LOCAL_RANK $WORLD_SIZE "
          "$LOCAL_WORLD_SIZE");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(lines(ended.out), UnorderedElementsAre("0 0 3 3", "1 1 3 3", "2 2 3 3"));
  EXPECT_EQ(ended.err, "");
}

TEST(Run, RanksMeetInAPrivateFolderThatGoesWithThem) {
  const TemporaryFolder folder;
  const auto ended =
      run(folder, "2",
          "d=${HOCKET_RENDEZVOUS#file:}; stat -c %a $d; echo x >$d/$RANK; echo $d >name$RANK");
  EXPECT_EQ(ended.out, "700\n700\n");
  const auto first = read_file(folder.file("name0")), second = read_file(folder.file("name1"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_FALSE(std::filesystem::exists(first->substr(0, first->size() - 1)));
}

TEST(Run, RanksShareASecretThatIsNewForEachRun) {
  ASSERT_EQ(setenv("HOCKET_RENDEZVOUS_SECRET", "the secret of another job", 1), 0);
  std::vector<std::string> secrets;
  for (int i = 0; i < 2; ++i) {
    const TemporaryFolder folder;
    const auto found = lines(run(folder, "2", "echo $HOCKET_RENDEZVOUS_SECRET").out);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0], found[1]);
    EXPECT_THAT(found[0], ::testing::MatchesRegex("[0-9a-f]{64}"));
    secrets.push_back(found[0]);
  }
  unsetenv("HOCKET_RENDEZVOUS_SECRET");
  EXPECT_NE(secrets[0], secrets[1]);
}

TEST(Run, AFailingRankEndsTheOthersAndGivesItsStatus) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("pids"));
  const Fifo ready(folder.file("ready"));
  // Rank 1 fails once the others, and a child of one of them, have started; rank 2 ignores SIGTERM.
  Program program(folder, {"run", "--ranks", "3", "--", "sh", "-c", R"(
case $RANK in
  0) exec 3>pids; sh -c 'echo $$ >&3; exec sleep 1000' & echo $$ >&3; wait;;
  1) exec 3<ready; read line <&3; exit 7;;
  2) exec 3>pids; trap '' TERM; echo $$ >&3; while :; do sleep 1000; done;;
esac)"});
  const auto pids = fifo.read_pids(3);
  ASSERT_EQ(pids.size(), 3U);
  folder.write("ready", "go\n");
  const auto ended = program.wait();
  EXPECT_EQ(ended.status, 7);
  EXPECT_THAT(ended.err, HasSubstr("hocket: rank 1 ended with exit status 7"));
  fifo.wait_for_end();
  EXPECT_FALSE(is_alive(pids[0]) && is_alive(pids[1]) && is_alive(pids[2]));
}

TEST(Run, ASignalledRankCountsAsInAShell) {
  const TemporaryFolder folder;
  EXPECT_EQ(run(folder, "2", "[ $RANK = 1 ] || exit 0; kill -ABRT $$").status, 128 + SIGABRT);
}

TEST(Run, PassesSignalsOn) {
  for (const int number : {SIGINT, SIGTERM}) {
    const TemporaryFolder folder;
    Fifo fifo(folder.file("pids"));
    Program program(folder, {"run", "--ranks", "2", "--", "sh", "-c", R"(
exec 3>pids
trap 'echo int >>heard; exit 0' INT
trap 'echo term >>heard; exit 0' TERM
echo $$ >&3
while :; do sleep 0.01; done)"});
    ASSERT_EQ(fifo.read_pids(2).size(), 2U);
    program.signal(number);
    EXPECT_EQ(program.wait().status, 130);
    const std::string word = number == SIGINT ? "int\n" : "term\n";
    EXPECT_EQ(read_file(folder.file("heard")).value_or(""), word + word);
  }
}

TEST(Run, RanksDieWithTheirLauncher) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("pids"));
  Program program(folder, {"run", "--ranks", "2", "--", "sh", "-c",
                           "exec 3>pids; echo $$ >&3; exec sleep 1000"});
  ASSERT_EQ(fifo.read_pids(2).size(), 2U);
  program.signal(SIGKILL);
  program.wait();
  fifo.wait_for_end();
}

TEST(Run, TheFolderOfAKilledLauncherGoesWithTheNextRun) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("pids"));
  Program program(folder, {"run", "--ranks", "1", "--", "sh", "-c",
                           "exec 3>pids; echo $$ >&3; exec sleep 1000"});
  EXPECT_EQ(fifo.read_pids(1).size(), 1U);
  program.signal(SIGKILL);
  EXPECT_EQ(program.wait().status, 128 + SIGKILL);
  fifo.wait_for_end();
  const auto left = find_scratch_folders(folder.path());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_TRUE(left[0].is_left_over);
  EXPECT_EQ(run(folder, "1", "true").status, 0);
  EXPECT_FALSE(std::filesystem::exists(left[0].path));
  EXPECT_TRUE(find_scratch_folders(folder.path()).empty());
}

TEST(Run, RefusesWhatCannotBeStarted) {
  const TemporaryFolder folder;
  const struct {
    std::vector<std::string> arguments;
    const char* message;
  } cases[] = {
      {{"run", "--ranks", "2", "--", "no-such-program-here"}, "cannot start no-such-program-here"},
      {{"run", "--ranks", "0", "--", "true"}, "--ranks: expected a number from 1"},
      {{"run", "--ranks", "5000", "--", "true"}, "--ranks: expected a number from 1"},
      {{"run", "--ranks", "2"}, "no command"},
      {{"run", "--ranks", "2", "--"}, "no command"},
      {{"run", "--", "true"}, "--ranks"},
  };
  for (const auto& each : cases) {
    const auto ended = hocket_run(folder, each.arguments);
    EXPECT_EQ(ended.status, 2) << each.message;
    EXPECT_THAT(ended.err, ::testing::StartsWith("hocket: "));
    EXPECT_THAT(ended.err, HasSubstr(each.message));
  }
}

TEST(Run, SaysAsJsonHowItEnded) {
  const TemporaryFolder folder;
  const auto ended =
      hocket_run(folder, {"run", "--json", "--ranks", "2", "--", "sh", "-c", "exit $RANK"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.json().at("failed_rank"), 1);
  EXPECT_EQ(ended.json().at("exit_status"), 1);
}

TEST(Run, StartsParameterServersAndTellsRanksWhereTheyAre) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder, {"run", "--ranks", "2", "--servers", "2", "--json", "--",
                                         "sh", "-c", "echo $HOCKET_SERVERS >>servers"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.json()["servers"], 2);
  EXPECT_TRUE(ended.json()["failed_server"].is_null());
  const auto told = lines(read_file(folder.file("servers")).value_or(""));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0], told[1]);
  EXPECT_THAT(told[0], ::testing::MatchesRegex("127.0.0.1:[0-9]+,127.0.0.1:[0-9]+"));
  EXPECT_EQ(ended.err, "") << "servers without ranks end quietly";
}

TEST(Run, AServerThatIsKilledEndsTheRanks) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("pids"));
  Program program(folder, {"run", "--ranks", "1", "--servers", "2", "--", "sh", "-c", R"(
exec 3>pids
echo $$ >&3
exec sleep 1000)"});
  ASSERT_EQ(fifo.read_pids(1).size(), 1U);
  // The launcher's children are the servers, then the rank.
  const std::string task = "/proc/" + std::to_string(program.pid());
  std::istringstream children(
      read_file(task + "/task/" + std::to_string(program.pid()) + "/children").value_or(""));
  pid_t first = 0, second = 0;
  children >> first >> second;
  ASSERT_GT(second, 0);
  kill(second, SIGKILL);
  const auto ended = program.wait();
  EXPECT_EQ(ended.status, 128 + SIGKILL);
  EXPECT_THAT(ended.err, HasSubstr("hocket: parameter server 1 ended with exit status 137"));
  fifo.wait_for_end();
  EXPECT_FALSE(is_alive(first));
}

TEST(Run, RefusesImpossibleNumbersOfServers) {
  const TemporaryFolder folder;
  for (const char* servers : {"-1", "65"}) {
    const auto ended =
        hocket_run(folder, {"run", "--ranks", "1", "--servers", servers, "--", "true"});
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, HasSubstr("--servers: expected a number from 0 to 64"));
  }
}

TEST(ParamServer, PrintsItsAddressAndEndsOnASignal) {
  const TemporaryFolder folder;
  Program program(folder, {"param-server", "--ranks", "1"});
  std::string printed;
  while (printed.find('\n') == std::string::npos) printed = program.output();
  EXPECT_THAT(printed, ::testing::MatchesRegex("127.0.0.1:[0-9]+\n"));
  program.signal(SIGTERM);
  const auto ended = program.wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.err, "");
}

TEST(ParamServer, RefusesAnAddressThatOthersReachWithoutASecret) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder, {"param-server", "--ranks", "1", "--listen", "0.0.0.0:0"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("HOCKET_RENDEZVOUS_SECRET"));
  const auto wrong = hocket_run(folder, {"param-server", "--ranks", "1", "--listen", "here"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--listen: expected ADDRESS:PORT"));
}

}  // namespace
}  // namespace hocket
