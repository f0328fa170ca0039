// The host program with the sample plugin: that it calls as NCCL does, reports what a plugin does
// wrong, and ends whatever happens to its ranks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/fault/child.h"
#include "tests/temporary_folder.h"

namespace hocket::nccl_host {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Json = nlohmann::json;
using Lines = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

constexpr int kFine = 0, kUsage = 2, kMismatch = 3, kRankDied = 4, kLimit = 5, kViolation = 6;

struct Ran {
  int status = -1;
  Json result = {};
  std::string errors = {};
};

class NcclHost : public ::testing::Test {
 protected:
  /// Runs the host, without pauses unless `arguments` say otherwise.
  Ran run(const Lines& arguments, const Variables& variables = {}) {
    ChildOptions child{.argv = {HOCKET_NCCL_HOST, "--scale", "0"}, .environment = variables};
    child.argv.insert(child.argv.end(), arguments.begin(), arguments.end());
    child.environment["LD_LIBRARY_PATH"] = HOCKET_NCCL_SAMPLE_FOLDER ":" + folder_.path().string();
    child.out_path = folder_.file("out");
    child.err_path = folder_.file("err");
    Child process(child);
    Ran ran{.status = process.wait(std::chrono::minutes(3)).value_or(-1)};
    ran.result = Json::parse(text_of("out"), nullptr, false);
    ran.errors = text_of("err");
    return ran;
  }

  Ran run_sample(Lines arguments, Variables variables = {}) {
    arguments.insert(arguments.end(), {"--tuner", "sample", "--profiler", "sample"});
    variables["SAMPLE_LOG"] = folder_.file("log");
    for (int rank = 0; rank < 64; ++rank) {
      std::filesystem::remove(folder_.file("log." + std::to_string(rank)));
    }
    return run(arguments, variables);
  }

  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_.file(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Returns the calls that the sample got on the main thread ("main") or another one ("other").
  Lines calls(int rank, const std::string& thread = "main") const {
    std::istringstream in(text_of("log." + std::to_string(rank)));
    Lines result;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(thread + " ")) result.push_back(line.substr(thread.size() + 1));
    }
    return result;
  }

  /// Returns the first `words` words of each call that starts with one of `starts`.
  Lines calls(int rank, const Lines& starts, int words) const {
    Lines result;
    for (const std::string& call : calls(rank)) {
      if (std::none_of(starts.begin(), starts.end(),
                       [&](const std::string& start) { return call.starts_with(start); })) {
        continue;
      }
      std::istringstream in(call);
      std::string text, word;
      for (int i = 0; i < words && in >> word; ++i) text += (i > 0 ? " " : "") + word;
      result.push_back(text);
    }
    return result;
  }

  std::string workload(const std::string& text) const { return folder_.write("workload", text); }

  const TemporaryFolder folder_;
};

TEST_F(NcclHost, WithoutAPluginRanksAgree) {
  for (const char* name : {"ddp", "fsdp", "small", "two-comms", "edge"}) {
    SCOPED_TRACE(name);
    const Ran ran = run({"--ranks", "6", "--nodes", "2", "--workload", name, "--iterations", "10"});
    EXPECT_EQ(ran.status, kFine) << ran.errors;
    EXPECT_EQ(ran.result["mismatches"], 0);
    EXPECT_EQ(ran.result["violations"], 0);
    EXPECT_EQ(ran.result["calls"], 0);
    EXPECT_EQ(ran.result["iterations"], 10);
    EXPECT_THAT(ran.result["settings"], Not(IsEmpty()));
    for (const Json& setting : ran.result["settings"]) {
      EXPECT_EQ(setting["last"], setting["default"]);
      EXPECT_GE(setting["last_to_best"], 1.0);
    }
    EXPECT_NEAR(ran.result["model_iteration"]["default_us"].get<double>(),
                ran.result["iteration_us"]["last_tenth"].get<double>(), 0.01);
  }
}

TEST_F(NcclHost, TheChoiceOfThePluginRuns) {
  const Ran ran = run_sample({"--ranks", "4", "--workload", "small", "--iterations", "5"},
                             {{"SAMPLE_CHANNELS", "3"}});
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  EXPECT_EQ(ran.result["calls"], 4 * 5 * 6);
  EXPECT_EQ(ran.result["decision"]["count"], 4 * 5 * 6);
  EXPECT_EQ(ran.result["collectives"], 5 * 6);
  for (const Json& setting : ran.result["settings"]) {
    EXPECT_EQ(setting["ran"], Json({{"RING/SIMPLE/3", 5}}));
  }
  EXPECT_EQ(ran.result["switches"], 0);
}

TEST_F(NcclHost, ChangesOfAChoiceAreCounted) {
  const auto file = workload("iteration\nall-reduce world 64KiB");
  const Ran ran = run_sample({"--ranks", "3", "--workload", file, "--iterations", "11"},
                             {{"SAMPLE_DOES", "alternate"}});
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  EXPECT_EQ(ran.result["switches"], 10);
}

TEST_F(NcclHost, ChannelsAreClampedAndZeroMeansTheDefault) {
  const Lines arguments = {"--workload", "ddp", "--iterations", "1", "--channels", "8"};
  const auto channels = [&](const char* asked) {
    const Ran ran = run_sample(arguments, {{"SAMPLE_CHANNELS", asked}});
    EXPECT_EQ(ran.status, kFine) << ran.errors;
    return ran.result["settings"].back()["last"].get<std::string>();
  };
  EXPECT_EQ(channels("0"), "RING/SIMPLE/8");
  EXPECT_EQ(channels("99"), "RING/SIMPLE/8");
  EXPECT_EQ(channels("2"), "RING/SIMPLE/2");
}

TEST_F(NcclHost, TheNewestAllowedVersionIsTaken) {
  for (const int tuner : {4, 5, 6}) {
    for (const int profiler : {4, 5, 6}) {
      const Ran ran =
          run_sample({"--workload", "small", "--iterations", "1", "--tuner-version",
                      std::to_string(tuner), "--profiler-version", std::to_string(profiler)});
      EXPECT_EQ(ran.status, kFine) << ran.errors;
      EXPECT_EQ(ran.result["tuner_version"], tuner);
      EXPECT_EQ(ran.result["profiler_version"], profiler);
      EXPECT_THAT(calls(0, {"tuner.init", "profiler.init"}, 2),
                  ElementsAre("profiler.init " + std::to_string(profiler),
                              "tuner.init " + std::to_string(tuner)));
    }
  }
}

TEST_F(NcclHost, PluginsAreFoundAsNcclFindsThem) {
  const Lines arguments = {"--workload", "small", "--iterations", "1"};
  const auto version = [&](const std::string& name, const Variables& variables = {}) {
    Lines all = arguments;
    if (!name.empty()) all.insert(all.end(), {"--tuner", name});
    const Ran ran = run(all, variables);
    EXPECT_EQ(ran.status, kFine);
    return ran.result["tuner_version"].get<int>();
  };
  EXPECT_EQ(version("sample"), 5);
  EXPECT_EQ(version("libnccl-tuner-sample.so"), 5);
  EXPECT_EQ(version(HOCKET_NCCL_SAMPLE_FOLDER "/libnccl-tuner-sample.so"), 5);
  EXPECT_EQ(version("", {{"NCCL_TUNER_PLUGIN", "sample"}}), 5);
  EXPECT_EQ(version("none", {{"NCCL_TUNER_PLUGIN", "sample"}}), 0);
  // "none" is no name, whatever libraries there are.
  std::filesystem::create_symlink(HOCKET_NCCL_SAMPLE_FOLDER "/libnccl-tuner-sample.so",
                                  folder_.file("libnccl-tuner-none.so"));
  EXPECT_EQ(version("none"), 0);
  EXPECT_EQ(version("/somewhere/sample"), 0);
  EXPECT_EQ(version(""), 0);
}

TEST_F(NcclHost, TheProfilerComesFirstAndGoesLastForEachCommunicator) {
  const auto file = workload(
      "comm other world\ncomm half split world by 2\niteration\n"
      "all-reduce half 4KiB");
  EXPECT_EQ(run_sample({"--ranks", "4", "--workload", file, "--iterations", "1"}).status, kFine);
  EXPECT_THAT(
      calls(3, {"profiler.", "tuner."}, 1),
      ElementsAre("profiler.init", "tuner.init", "profiler.init", "tuner.init", "profiler.init",
                  "tuner.init", "tuner.finalize", "profiler.finalize", "tuner.finalize",
                  "profiler.finalize", "tuner.finalize", "profiler.finalize"));
  // Ids are equal on the ranks of a communicator, and only there.
  const auto ids = [&](int rank) { return calls(rank, {"tuner.init"}, 3); };
  EXPECT_EQ(ids(0), ids(1));
  EXPECT_EQ(ids(2), ids(3));
  EXPECT_EQ(ids(0)[0], ids(3)[0]);
  EXPECT_EQ(ids(0)[1], ids(3)[1]);
  EXPECT_NE(ids(0)[0], ids(0)[1]);
  EXPECT_NE(ids(0)[2], ids(3)[2]);
  // Splits have no name.
  EXPECT_THAT(
      calls(0, {"profiler.init"}, 7),
      ElementsAre(HasSubstr("name=world"), HasSubstr("name=other"), HasSubstr("name=null")));
  const auto before = ids(0);
  run_sample({"--ranks", "4", "--workload", file, "--iterations", "1"});
  EXPECT_NE(ids(0)[0], before[0]);
}

TEST_F(NcclHost, TheLibraryIsClosedWithTheOnlyCommunicatorAndNeverWithTwo) {
  const std::string one = "iteration\nall-reduce world 4KiB";
  run_sample({"--workload", workload(one), "--iterations", "1"});
  EXPECT_THAT(calls(0), Contains("unloaded"));
  run_sample({"--workload", workload("comm other world\n" + one), "--iterations", "1"});
  EXPECT_THAT(calls(0), AllOf(SizeIs(Ge(8U)), Not(Contains("unloaded"))));
}

TEST_F(NcclHost, GroupsAreDecidedAscendingAndBeforeAnythingIsLaunched) {
  const auto file = workload(
      "iteration\n group\n all-reduce world 3MiB\n reduce-scatter world 2MiB\n"
      " all-reduce world 64KiB\n all-reduce world 1MiB\n end");
  const Ran ran =
      run_sample({"--ranks", "4", "--workload", file, "--iterations", "1"}, {{"SAMPLE_MASK", "2"}});
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  // Function 4 is the all-reduce, 3 the reduce-scatter; start 2 is a collective.
  EXPECT_THAT(
      calls(0, {"decide", "start 2 "}, 3),
      ElementsAre("decide 4 65536", "decide 4 4194304", "decide 3 2097152", "start 2 handle=7",
                  "start 2 handle=8", "start 2 handle=9", "start 2 handle=10"));
  EXPECT_EQ(ran.result["calls"], 4 * 3);
}

TEST_F(NcclHost, CommunicatorsOfAGroupAscendByTheirIds) {
  const auto file = workload(
      "comm other world\niteration\n group\n all-reduce world 64KiB\n all-reduce other 128KiB\n"
      " end\n group\n all-reduce other 128KiB\n all-reduce world 64KiB\n end");
  const Ran ran = run_sample({"--ranks", "3", "--workload", file, "--iterations", "1"});
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  const auto id = [](const std::string& init) {
    return std::stoull(init.substr(init.find("id=") + 3), nullptr, 16);
  };
  const Lines inits = calls(1, {"tuner.init"}, 3);
  ASSERT_THAT(inits, SizeIs(2));
  Lines expected = {"decide 4 65536", "decide 4 131072"};
  if (id(inits[0]) > id(inits[1])) std::swap(expected[0], expected[1]);
  expected.insert(expected.end(), {expected[0], expected[1]});
  EXPECT_EQ(calls(1, {"decide"}, 3), expected);
}

TEST_F(NcclHost, CapturedCollectivesAreDecidedOnce) {
  const auto file = workload(
      "setup\n capture step\n all-reduce world 1MiB\n all-gather world 64KiB\n end-capture\n"
      "iteration\n replay step\n compute 5\n replay step");
  const Ran ran = run_sample({"--ranks", "3", "--workload", file, "--iterations", "7"});
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  EXPECT_EQ(ran.result["calls"], 3 * 2);
  EXPECT_EQ(ran.result["replayed"], 3 * 7 * 4);
  EXPECT_EQ(ran.result["collectives"], 7 * 4);
}

TEST_F(NcclHost, SimulatedCollectivesAreDecidedAndDoNotRun) {
  const auto file = workload(
      "iteration\n group\n all-reduce world 1MiB\n all-gather world 64KiB\n simulate\n"
      " all-reduce world 4KiB");
  const Ran ran = run_sample({"--ranks", "3", "--workload", file, "--iterations", "7"});
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  EXPECT_EQ(ran.result["calls"], 3 * 7 * 3);
  EXPECT_EQ(ran.result["simulated"], 3 * 7 * 2);
  EXPECT_EQ(ran.result["collectives"], 7);
}

TEST_F(NcclHost, NothingIsDecidedForOneRankOrNothingToSend) {
  const auto file = workload(
      "comm alone split world by 1\niteration\n all-reduce alone 1MiB\n all-reduce world 0\n"
      " group\n all-gather world 0\n end");
  const Ran ran = run_sample({"--ranks", "3", "--workload", file, "--iterations", "2"});
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  EXPECT_EQ(ran.result["decisions"], 0);
  EXPECT_THAT(calls(1, {"tuner.init"}, 4), ElementsAre(HasSubstr("ranks=3"), HasSubstr("ranks=1")));
}

TEST_F(NcclHost, AnotherChoiceOnSomeRanksIsAMismatch) {
  const Ran ran = run_sample({"--ranks", "4", "--workload", "small", "--iterations", "20"},
                             {{"SAMPLE_DOES", "diverge"}});
  EXPECT_EQ(ran.status, kMismatch);
  EXPECT_EQ(ran.result["mismatches"], 20 * 6 - 100);
  EXPECT_THAT(ran.errors, HasSubstr("rank 0 runs collective 101, AllReduce of 1048576 bytes, "
                                    "as RING/SIMPLE/16, but rank 1 runs collective 101, AllReduce "
                                    "of 1048576 bytes, as RING/LL/16"));
}

TEST_F(NcclHost, BreachesOfTheInterfaceAreViolations) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"overwrite", "changed_disallowed"},
      {"forbid", "nothing_allowed"},
      {"error", "error_returned"}};
  for (const auto& [does, kind] : cases) {
    const Ran ran = run_sample({"--ranks", "2", "--workload", "small", "--iterations", "5"},
                               {{"SAMPLE_DOES", does}});
    EXPECT_EQ(ran.status, kViolation) << does;
    EXPECT_EQ(ran.result["violation_kinds"], Json({{kind, 2 * 5 * 6}}));
    EXPECT_THAT(ran.errors, HasSubstr(kind));
  }
  const Ran ran =
      run_sample({"--workload", "small", "--iterations", "5"}, {{"SAMPLE_CHANNELS", "-4"}});
  EXPECT_EQ(ran.status, kViolation);
  EXPECT_EQ(ran.result["violation_kinds"], Json({{"invalid_channels", 2 * 5 * 6}}));
}

TEST_F(NcclHost, AKilledRankEndsTheRunAndTheOthersFinalize) {
  const Ran ran = run_sample({"--ranks", "4", "--workload", "small", "--iterations", "1000",
                              "--kill", "2@50", "--abort-ms", "50"});
  EXPECT_EQ(ran.status, kRankDied);
  EXPECT_EQ(ran.result["dead"], Json({2}));
  EXPECT_EQ(ran.result["aborted"], Json({0, 1, 3}));
  EXPECT_EQ(ran.result["mismatches"], 0);
  EXPECT_THAT(calls(2, {"decide"}, 1), SizeIs(50));
  EXPECT_THAT(calls(2), Not(Contains("tuner.finalize")));
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(calls(rank), AllOf(Contains("tuner.finalize"), Contains("profiler.finalize")));
  }
}

TEST_F(NcclHost, AStoppedRankGoesOn) {
  const Ran ran = run_sample({"--ranks", "3", "--workload", "small", "--iterations", "20", "--stop",
                              "1@30:200", "--stop", "2@60:100", "--stop", "2@61:5"});
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  EXPECT_EQ(ran.result["collectives"], 20 * 6);
  EXPECT_GE(ran.result["wall_s"], 0.2);
}

TEST_F(NcclHost, AnExtraDecisionOnOneRankIsSimulated) {
  const Lines arguments = {"--ranks",      "3",  "--workload",   "small",
                           "--iterations", "20", "--extra-call", "1@30"};
  const Ran ran = run_sample(arguments);
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  EXPECT_EQ(ran.result["calls"], 3 * 20 * 6 + 1);
  EXPECT_EQ(ran.result["simulated"], 1);
  // A plugin that goes by its own count of decisions then differs.
  const Ran counting = run_sample(arguments, {{"SAMPLE_DOES", "alternate"}});
  EXPECT_EQ(counting.status, kMismatch);
  EXPECT_EQ(counting.result["mismatches"], 20 * 6 - 30);
}

TEST_F(NcclHost, ARankWithoutThePluginUsesTheDefault) {
  const Ran ran =
      run_sample({"--ranks", "3", "--workload", "small", "--iterations", "20", "--no-plugin", "1"});
  EXPECT_EQ(ran.status, kMismatch);
  EXPECT_EQ(ran.result["calls"], 2 * 20 * 6);
  EXPECT_THAT(calls(1), IsEmpty());
}

TEST_F(NcclHost, OthersFinishTheCollectiveThatARankLeavesOut) {
  const Ran ran =
      run_sample({"--ranks", "3", "--workload", "small", "--iterations", "20", "--uneven", "1"});
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  EXPECT_EQ(ran.result["calls"], 3 * 20 * 6 - 1);
  EXPECT_EQ(ran.result["collectives"], 20 * 6);
  // It leaves out all calls of a group.
  EXPECT_EQ(run_sample({"--ranks", "4", "--workload", "edge", "--iterations", "5", "--uneven", "1"})
                .status,
            kFine);
}

TEST_F(NcclHost, ADecisionThatHangsEndsAtTheLimitAndIsNamed) {
  const Ran ran =
      run_sample({"--ranks", "3", "--workload", "small", "--iterations", "20", "--limit", "2"},
                 {{"SAMPLE_DOES", "hang"}});
  EXPECT_EQ(ran.status, kLimit);
  EXPECT_EQ(ran.result["deciding"], Json({1}));
  EXPECT_EQ(ran.result["dead"], Json::array());
}

TEST_F(NcclHost, RandomFaultsEndWithinTheLimit) {
  const std::string seed = std::to_string(std::random_device()());
  SCOPED_TRACE("--seed " + seed);
  const Lines arguments = {"--ranks",       "4",
                           "--workload",    "edge",
                           "--iterations",  "100",
                           "--faults",      "20",
                           "--seed",        seed,
                           "--abort-ms",    "50",
                           "--fault-kinds", "stop,extra-call,uneven,kill"};
  const Ran ran = run_sample(arguments), again = run_sample(arguments);
  for (const Ran* each : {&ran, &again}) {
    EXPECT_THAT(each->status, ::testing::AnyOf(kFine, kRankDied)) << each->errors;
    EXPECT_EQ(each->result["exceeded_limit"], false);
  }
  EXPECT_EQ(ran.result["faults"], again.result["faults"]);
}

TEST_F(NcclHost, SixtyFourRanksRun) {
  for (const char* run_ahead : {"0", "64"}) {
    const Ran ran = run_sample({"--ranks", "64", "--nodes", "8", "--workload", "two-comms",
                                "--iterations", "10", "--scale", "1", "--run-ahead", run_ahead});
    EXPECT_EQ(ran.status, kFine) << ran.errors;
    EXPECT_EQ(ran.result["calls"], 64 * 10 * 4);
    // 8 rows with 2 collectives and 8 columns with 2.
    EXPECT_EQ(ran.result["collectives"], 10 * 32);
    EXPECT_THAT(calls(63, {"tuner.init"}, 5), Contains(HasSubstr("ranks=8 nodes=8")));
  }
}

TEST_F(NcclHost, WithoutAMaskThereAreNoEvents) {
  run_sample({"--workload", "edge", "--iterations", "3"});
  EXPECT_THAT(calls(0), Each(Not(AllOf(StartsWith("st")))));
  EXPECT_THAT(calls(0, "other"), IsEmpty());
}

TEST_F(NcclHost, EventsComeInTheOrderOfVersion5) {
  const auto file = workload("iteration\nall-reduce world 64KiB bfloat16");
  EXPECT_EQ(run_sample({"--workload", file, "--iterations", "1"},
                       {{"SAMPLE_MASK", "66"}, {"SAMPLE_CHANNELS", "2"}})
                .status,
            kFine);
  EXPECT_THAT(
      calls(1, {"start", "stop", "state", "decide"}, 20),
      ElementsAre("start 256 handle=1 parent=0 context=1", "state 23 handle=1 timer=0",
                  "start 512 handle=2 parent=1 context=1", "stop handle=2",
                  "state 24 handle=1 timer=0",
                  "decide 4 65536 pipe=1 registered=0 channels=0 context=1",
                  "start 1 handle=3 parent=0 context=1",
                  "start 2 handle=4 parent=2 context=1 AllReduce 32768 ncclBfloat16 RING SIMPLE "
                  "channels=2 sequence=0",
                  "stop handle=4", "stop handle=3", "stop handle=1"));
  const Lines kernels = calls(1, "other");
  ASSERT_THAT(kernels, SizeIs(6));
  for (int channel = 0; channel < 2; ++channel) {
    const std::string handle = "handle=" + std::to_string(5 + channel);
    EXPECT_THAT(kernels[channel], StartsWith("start 64 " + handle + " parent=4 context=1 channel=" +
                                             std::to_string(channel) + " timer="));
    EXPECT_THAT(kernels[2 + 2 * channel], StartsWith("state 22 " + handle + " timer="));
    EXPECT_EQ(kernels[3 + 2 * channel], "stop " + handle);
  }
}

TEST_F(NcclHost, HandlesOfKernelsAreReusedUncleared) {
  const auto file = workload("iteration\nall-reduce world 64KiB");
  run_sample({"--workload", file, "--iterations", "65"},
             {{"SAMPLE_MASK", "64"}, {"SAMPLE_CHANNELS", "1"}, {"SAMPLE_DOES", "forget"}});
  const Lines kernels = calls(0, "other");
  // The 65th kernel is in the slot of the first.
  ASSERT_THAT(kernels, SizeIs(64 * 3 + 2));
  EXPECT_EQ(kernels.back(), kernels[2]);
  EXPECT_THAT(kernels.back(), StartsWith("stop handle="));
}

TEST_F(NcclHost, KernelTimersSpanTheWaitAndTheTransfer) {
  const auto file = workload("iteration\nall-reduce world 64KiB");
  const Ran ran =
      run_sample({"--workload", file, "--iterations", "1", "--late", "0:300", "--connect-us", "0"},
                 {{"SAMPLE_MASK", "66"}, {"SAMPLE_CHANNELS", "1"}});
  const auto duration_us = [&](int rank) {
    const auto timer = [](const std::string& line) {
      return std::stoull(line.substr(line.find("timer=") + 6));
    };
    const Lines kernels = calls(rank, "other");
    return static_cast<double>(timer(kernels.at(1)) - timer(kernels.at(0))) / 1e3;
  };
  const double transfer_us = ran.result["settings"][0]["last_us"];
  EXPECT_NEAR(duration_us(0), transfer_us, 0.1);
  EXPECT_NEAR(duration_us(1), transfer_us + 300, 0.1);
}

TEST_F(NcclHost, Version4HasNoEventsOfCalls) {
  const auto file = workload("iteration\nall-reduce world 64KiB");
  run_sample({"--workload", file, "--iterations", "1", "--profiler-version", "4"},
             {{"SAMPLE_MASK", "4095"}, {"SAMPLE_CHANNELS", "1"}});
  EXPECT_THAT(calls(0, {"start", "stop", "state"}, 4),
              ElementsAre("start 1 handle=1 parent=0", "start 2 handle=2 parent=1", "stop handle=2",
                          "stop handle=1"));
  EXPECT_THAT(calls(0, "other"), SizeIs(3));
}

TEST_F(NcclHost, TheHandleOfTheCallIsStoppedAgainWhenTheMaskIsOff) {
  const auto file = workload("iteration\nall-reduce world 64KiB");
  run_sample({"--workload", file, "--iterations", "4"},
             {{"SAMPLE_MASK", "512"}, {"SAMPLE_MASK_CALLS", "2"}});
  EXPECT_THAT(calls(0, {"start 512", "stop", "decide"}, 3),
              ElementsAre("start 512 handle=2", "stop handle=2", "decide 4 65536", "stop handle=1",
                          "start 512 handle=4", "stop handle=4", "decide 4 65536", "stop handle=3",
                          "stop handle=4", "decide 4 65536", "stop handle=4", "decide 4 65536"));
}

TEST_F(NcclHost, AfterAFailedInitEventsComeWithoutAContext) {
  const auto file = workload("iteration\nall-reduce world 64KiB");
  const Variables variables = {{"SAMPLE_MASK", "2"}, {"SAMPLE_DOES", "init"}};
  const Ran ran = run_sample({"--workload", file, "--iterations", "1"}, variables);
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  EXPECT_THAT(calls(0), AllOf(Contains(StartsWith("start 2 handle=4 parent=2 context=0")),
                              Not(Contains("profiler.finalize"))));
  // Version 4 would make NCCL call a null function.
  const Ran old =
      run_sample({"--workload", file, "--iterations", "1", "--profiler-version", "4"}, variables);
  EXPECT_EQ(old.status, kViolation);
  EXPECT_TRUE(old.result["violation_kinds"].contains("mask_without_context"));
}

TEST_F(NcclHost, ReplaysReportOnlyWithEventsOfKernels) {
  const auto file = workload(
      "setup\n capture step\n all-reduce world 1MiB\n end-capture\niteration\n replay step");
  const auto count = [&](const char* mask, const std::string& start) {
    run_sample({"--workload", file, "--iterations", "3"},
               {{"SAMPLE_MASK", mask}, {"SAMPLE_CHANNELS", "1"}});
    const Lines others = calls(0, "other");
    return std::count_if(others.begin(), others.end(),
                         [&](const std::string& call) { return call.starts_with(start); });
  };
  EXPECT_EQ(count("2", "start"), 0);
  EXPECT_EQ(count("66", "start 2 "), 3);
  EXPECT_EQ(count("66", "start 64 "), 3);
}

TEST_F(NcclHost, EqualSeedsGiveEqualTimes) {
  const auto times = [&](const char* seed) {
    return run({"--ranks", "3", "--workload", "ddp", "--iterations", "9", "--noise", "0.1",
                "--seed", seed})
        .result["iteration_us"];
  };
  EXPECT_EQ(times("5"), times("5"));
  EXPECT_NE(times("5"), times("6"));
}

TEST_F(NcclHost, RealTimeFollowsTheModel) {
  const Ran ran = run({"--workload", "small", "--iterations", "20", "--scale", "20"});
  EXPECT_EQ(ran.status, kFine) << ran.errors;
  // A busy machine takes longer, never shorter.
  EXPECT_GE(ran.result["iteration_real_us"]["all"].get<double>(),
            20 * ran.result["iteration_us"]["all"].get<double>());
}

TEST_F(NcclHost, ForbiddenAlgorithmsDoNotRun) {
  const Ran ran = run({"--workload", "small", "--iterations", "2", "--forbid", "RING/LL,RING/LL128",
                       "--forbid", "TREE"});
  for (const Json& setting : ran.result["settings"]) {
    EXPECT_THAT(setting["last"].get<std::string>(), StartsWith("RING/SIMPLE/"));
  }
  EXPECT_EQ(run({"--forbid", "RING"}).status, kUsage);
  EXPECT_EQ(run({"--forbid", "SOME"}).status, kUsage);
}

TEST_F(NcclHost, WrongOptionsAreUsageErrors) {
  for (const Lines& arguments : std::vector<Lines>{{"--ranks", "0"},
                                                   {"--nodes", "3"},
                                                   {"--workload", "nowhere"},
                                                   {"--kill", "1"},
                                                   {"--kill", "7@1"},
                                                   {"--late", "x"},
                                                   {"--tuner-version", "3"}}) {
    EXPECT_EQ(run(arguments).status, kUsage) << arguments[0];
  }
}

TEST_F(NcclHost, TheResultIsAlsoAFile) {
  const Ran ran = run({"--workload", "small", "--iterations", "1", "--json", folder_.file("json")});
  EXPECT_EQ(Json::parse(text_of("json")), ran.result);
}

}  // namespace
}  // namespace hocket::nccl_host
