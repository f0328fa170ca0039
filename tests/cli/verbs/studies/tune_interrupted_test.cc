// Tests sweeps that are interrupted and resumed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <iterator>
#include <sstream>

#include "core/files/scratch_folder.h"
#include "store/open.h"
#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// Counts its runs in a file. The third run writes its process id and that of a child in another
/// session, and blocks, unless the file "go" exists.
constexpr const char* kScript = R"(
echo run >>runs
if [ $(wc -l <runs) = 3 ] && [ ! -e go ]; then
  exec 3>pids
  setsid sh -c 'echo $$ >&3; exec sleep 1000' &
  echo $$ >&3
  wait
fi
echo t=$(( (X - 20) * (X - 20) + 100 ))
)";

std::vector<std::string> tune() {
  return {"tune",   "--param", "X=int:1..64", "--trials", "6",  "--objective", "regex:t=([0-9]+)",
          "--json", "--study", "long",        "--",       "sh", "-c",          kScript};
}

class TuneInterrupted : public ::testing::Test {
 protected:
  /// Stops the sweep in its third trial.
  Ended stop(int signal, const std::vector<std::string>& options = {}) {
    Fifo fifo(folder_.file("pids"));
    auto arguments = tune();
    arguments.insert(arguments.begin() + 1, options.begin(), options.end());
    Program program(folder_, arguments);
    const auto pids = fifo.read_pids(2);
    EXPECT_EQ(pids.size(), 2U);
    program.signal(signal);
    auto ended = program.wait();
    fifo.wait_for_end();
    // After SIGKILL its supervisor, which outlives it, ends the trial and then itself.
    if (signal != SIGKILL) {
      for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid)) << pid;
    }
    folder_.write("go", "");
    return ended;
  }

  /// Keeps a program from the state and the cache of the user who runs the tests.
  Program::Environment own_folders() const {
    return {{"XDG_STATE_HOME", folder_.path()}, {"XDG_CACHE_HOME", folder_.path()}};
  }

  nlohmann::json trials() const {
    return hocket_run(folder_, {"trials", "long", "--json"}).json().at("trials");
  }

  /// Returns the result of an uninterrupted sweep with the same options.
  static nlohmann::json undisturbed() {
    const TemporaryFolder folder;
    folder.write("go", "");
    return hocket_run(folder, tune()).json();
  }

  static nlohmann::json params_of(const nlohmann::json& trials) {
    auto list = nlohmann::json::array();
    for (const auto& trial : trials) list.push_back({trial.at("params"), trial.at("value")});
    return list;
  }

  void expect_resumed_as_if_never_stopped(const nlohmann::json& kept) {
    const auto resumed = hocket_run(folder_, {"tune", "--resume", "--json"});
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    const auto document = resumed.json();
    ASSERT_GE(document.at("trials").size(), kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(document.at("trials")[i], kept[i]);
    const auto expected = undisturbed();
    EXPECT_EQ(params_of(document.at("trials")), params_of(expected.at("trials")));
    EXPECT_EQ(document.at("best"), expected.at("best"));
    EXPECT_EQ(document.at("promoted"), true);
    EXPECT_EQ(document.at("gain"), expected.at("gain"));
    EXPECT_EQ(document.at("needed"), expected.at("needed"));
    for (std::size_t i = 0; i < document.at("trials").size(); ++i) {
      EXPECT_EQ(document.at("trials")[i].at("number"), i + 1);
    }
  }

  TemporaryFolder folder_;
};

TEST_F(TuneInterrupted, CtrlCEndsTheTrialAndSaysHowToGoOn) {
  const auto ended = stop(SIGINT);
  EXPECT_EQ(ended.status, 130);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("2 trials are kept"));
  EXPECT_THAT(ended.err, HasSubstr("hocket tune --resume --study long\n"));
  EXPECT_EQ(hocket_run(folder_, {"studies", "--json"}).json().at("studies")[0].at("state"),
            "interrupted");
  const auto kept = trials();
  ASSERT_EQ(kept.size(), 2U);
  expect_resumed_as_if_never_stopped(kept);
}

/// Returns the words behind `mark` up to the end of its line.
std::vector<std::string> command_behind(const std::string& text, const std::string& mark) {
  const auto at = text.find(mark);
  EXPECT_NE(at, std::string::npos) << mark << " in " << text;
  if (at == std::string::npos) return {};
  const auto begin = at + mark.size();
  std::istringstream line(text.substr(begin, text.find('\n', begin) - begin));
  return {std::istream_iterator<std::string>(line), {}};
}

TEST_F(TuneInterrupted, EveryVerbSaysWhatIsRecommendedAndTheCommandThatConfirmsItWorks) {
  const auto ended = stop(SIGINT, {"--default", "X=64"});
  const std::string mark = "to confirm and promote it: hocket ";
  EXPECT_THAT(ended.err, HasSubstr("recommended by study long so far, not confirmed: X="));
  EXPECT_THAT(ended.err, HasSubstr(mark + "tune --resume --study long --trials 2\n"));
  const auto best = hocket_run(folder_, {"best"});
  EXPECT_EQ(best.status, 0) << best.err;
  EXPECT_THAT(best.out, HasSubstr("not promoted: the recommended setting is not confirmed"));
  const auto document = hocket_run(folder_, {"best", "long", "--json"}).json();
  EXPECT_EQ(document.at("interim"), true);
  EXPECT_EQ(document.at("promoted"), false);
  const auto fetched =
      hocket_run(folder_, {"fetch", "--format", "args", "--", "sh", "-c", kScript});
  EXPECT_EQ(fetched.status, 2);
  EXPECT_THAT(fetched.err, HasSubstr(mark));
  const auto with = hocket_run(folder_, {"with", "--", "sh", "-c", kScript});
  EXPECT_EQ(with.status, 0) << "the command runs in any case";
  EXPECT_THAT(with.err, HasSubstr(mark));

  const auto confirmed = hocket_run(folder_, command_behind(best.out, mark));
  ASSERT_EQ(confirmed.status, 0) << confirmed.err;
  EXPECT_THAT(confirmed.err, HasSubstr("2 trials have been run, so the search ends here"));
  EXPECT_EQ(hocket_run(folder_, {"best", "--json"}).json().at("best").at("params"),
            document.at("best").at("params"));
  std::int64_t searched = 0;
  for (const auto& trial : trials()) searched += trial.at("phase") == "search" ? 1 : 0;
  EXPECT_EQ(searched, 2);
}

TEST_F(TuneInterrupted, AnotherStudyBeginsFromWhatItMeasured) {
  stop(SIGTERM);
  auto again = tune();
  again[again.size() - 5] = "next";
  again.insert(again.begin() + 1, {"--from", "long"});
  const auto next = hocket_run(folder_, again);
  ASSERT_EQ(next.status, 0) << next.err;
  EXPECT_THAT(next.err, HasSubstr("starts from study long at distance 0.0"));
  const auto tried = next.json().at("trials");
  EXPECT_EQ(tried[1].at("params"), trials()[1].at("params")) << "its best is tried first";
}

TEST_F(TuneInterrupted, SigtermDoesTheSame) {
  EXPECT_EQ(stop(SIGTERM).status, 130);
  EXPECT_EQ(trials().size(), 2U);
}

TEST_F(TuneInterrupted, SigkillLosesNoFinishedTrial) {
  EXPECT_EQ(stop(SIGKILL).status, 128 + SIGKILL);
  // The killed process could not store this state.
  EXPECT_EQ(hocket_run(folder_, {"studies", "--json"}).json().at("studies")[0].at("state"),
            "interrupted");
  auto kept = trials();
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[2].at("state"), "running");
  kept.erase(2);
  expect_resumed_as_if_never_stopped(kept);
}

TEST_F(TuneInterrupted, WhatSigkillLeavesInTheTemporaryFolderGoesWithTheNextRun) {
  stop(SIGKILL);
  const auto left = find_scratch_folders(folder_.path());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_TRUE(left[0].is_left_over);
  const auto doctor = hocket_run(folder_, {"doctor", "--no-start", "--json"}, own_folders()).json();
  EXPECT_EQ(doctor.at("left_over"), 1);
  EXPECT_THAT(hocket_run(folder_, {"prune", "--dry-run"}, own_folders()).out,
              HasSubstr(left[0].path));
  // Any run: not only that which goes on with the same study.
  const auto next = hocket_run(folder_, {"run", "--ranks", "1", "--", "true"});
  EXPECT_EQ(next.status, 0) << next.err;
  EXPECT_TRUE(find_scratch_folders(folder_.path()).empty());
  EXPECT_FALSE(std::filesystem::exists(left[0].path));
  EXPECT_EQ(hocket_run(folder_, {"tune", "--resume", "--json"}).status, 0);
  EXPECT_TRUE(find_scratch_folders(folder_.path()).empty());
}

TEST_F(TuneInterrupted, ARunLeavesTheTemporaryFilesOfOneThatRuns) {
  Fifo fifo(folder_.file("pids"));
  Program program(folder_, tune());
  EXPECT_EQ(fifo.read_pids(2).size(), 2U);
  EXPECT_EQ(hocket_run(folder_, {"run", "--ranks", "1", "--", "true"}).status, 0);
  EXPECT_THAT(hocket_run(folder_, {"prune"}, own_folders()).out, HasSubstr("nothing to remove"));
  const auto found = find_scratch_folders(folder_.path());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].is_left_over);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().status, 130);
  EXPECT_TRUE(find_scratch_folders(folder_.path()).empty());
}

TEST_F(TuneInterrupted, ResumeRefusesAnotherCommandAndAFinishedStudy) {
  stop(SIGTERM);
  const auto other = hocket_run(folder_, {"tune", "--resume", "--", "sh", "-c", "echo t=1"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("another command"));
  const auto same =
      hocket_run(folder_, {"tune", "--resume", "--study", "long", "--", "sh", "-c", kScript});
  EXPECT_EQ(same.status, 0) << same.err;
  const auto finished = hocket_run(folder_, {"tune", "--resume", "--study", "long"});
  EXPECT_EQ(finished.status, 2);
  EXPECT_THAT(finished.err, HasSubstr("finished"));
  EXPECT_EQ(hocket_run(folder_, {"tune", "--resume", "--trials", "3"}).status, 2);
}

TEST_F(TuneInterrupted, ResumeDoesNotSearchOnWhereTheSearchHadStopped) {
  stop(SIGTERM);
  {
    const auto store = open_store(folder_.file("store.db"));
    ASSERT_TRUE(store) << store.error().message;
    auto study = (*store)->study("long").value();
    study.definition["stopped"] = "enough";
    ASSERT_TRUE((*store)->update_study(study.id, {.definition = study.definition}));
  }
  const auto resumed = hocket_run(folder_, {"tune", "--resume", "--json"});
  EXPECT_THAT(resumed.err, HasSubstr("its search has stopped: enough\n"));
  EXPECT_EQ(resumed.json().at("stopped"), "enough");
  std::int64_t searched = 0;
  for (const auto& trial : trials()) searched += trial.at("phase") == "search" ? 1 : 0;
  EXPECT_EQ(searched, 2);
  EXPECT_THAT(hocket_run(folder_, {"tune", "--resume", "--study", "long"}).err,
              HasSubstr("study long is finished; its search stopped early: enough; "));
}

TEST_F(TuneInterrupted, ResumeRunsInTheFolderOfTheStudy) {
  stop(SIGTERM);
  const TemporaryFolder elsewhere;
  const auto resumed = hocket_run(elsewhere, {"tune", "--resume", "--json"},
                                  {{"HOCKET_STORE", folder_.file("store.db")}});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_FALSE(std::filesystem::exists(elsewhere.file("runs")));
}

TEST_F(TuneInterrupted, ResumeRefusesAStudyWhoseOwnerIsAlive) {
  Fifo fifo(folder_.file("pids"));
  Program program(folder_, tune());
  EXPECT_EQ(fifo.read_pids(2).size(), 2U);
  const TemporaryFolder elsewhere;
  const auto refused = hocket_run(elsewhere, {"tune", "--resume", "--take-over"},
                                  {{"HOCKET_STORE", folder_.file("store.db")}});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("is being run by process " + std::to_string(program.pid())));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().status, 130);
}

}  // namespace
}  // namespace hocket
