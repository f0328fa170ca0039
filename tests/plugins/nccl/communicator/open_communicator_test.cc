// The plugin as NCCL loads it, in processes that call it as NCCL does, with a daemon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/step/schedule_config.h"
#include "store/open.h"
#include "tests/fault/child.h"
#include "tests/fault/daemon_process.h"
#include "tests/temporary_folder.h"

namespace hocket::nccl {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using Json = nlohmann::json;
using Lines = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

constexpr int kFine = 0, kRankDied = 4, kLimit = 5;

/// Eight collectives of one size, which take most of the time.
constexpr const char* kOneSize =
    "iteration\ncompute 300\n"
    "all-reduce world 4MiB\nall-reduce world 4MiB\nall-reduce world 4MiB\nall-reduce world 4MiB\n"
    "all-reduce world 4MiB\nall-reduce world 4MiB\nall-reduce world 4MiB\nall-reduce world 4MiB\n"
    "wait world\n";

class NcclPlugin : public ::testing::Test {
 protected:
  void start_daemon() {
    daemon_.emplace(DaemonProcess::Options{.store = folder_.file("store.db"),
                                           .log = folder_.file("daemon.log")});
    ASSERT_TRUE(daemon_->listens());
    client_.emplace(daemon_->port());
  }

  /// Starts ranks that train with the plugin.
  std::unique_ptr<Child> start(Lines arguments, Variables variables = {}) {
    ChildOptions child{.argv = {HOCKET_NCCL_HOST, "--run-ahead", "8"}};
    child.argv.insert(child.argv.end(), arguments.begin(), arguments.end());
    child.environment = {{"LD_LIBRARY_PATH", HOCKET_NCCL_PLUGIN_FOLDER},
                         {"NCCL_TUNER_PLUGIN", "hocket"},
                         {"NCCL_PROFILER_PLUGIN", "hocket"},
                         {"NCCL_HOST_LOG", "1"},
                         {"HOCKET_STORE", folder_.file("own.db")},
                         {"HOCKET_NCCL_EXPLORE", "0.3"},
                         {"HOCKET_NCCL_STEP_BACK", "0"}};
    if (daemon_) child.environment["HOCKET_DAEMON"] = daemon_->url();
    for (const auto& [name, value] : variables) child.environment[name] = value;
    child.out_path = folder_.file("out");
    child.err_path = folder_.file("err");
    return std::make_unique<Child>(child);
  }

  /// Waits for the ranks' end, and returns the exit status.
  int end(Child& child) {
    const int status = child.wait(std::chrono::minutes(3)).value_or(-1);
    result_ = Json::parse(text_of("out"), nullptr, false);
    return status;
  }
  int run(const Lines& arguments, const Variables& variables = {}) {
    return end(*start(arguments, variables));
  }

  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_.file(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string workload(const std::string& text) const { return folder_.write("workload", text); }

  Json jobs() {
    auto answer = client_->ask("GET", "/v1/jobs");
    return answer ? (*answer)["jobs"] : Json::array();
  }
  bool says(const std::string& text) const {
    return text_of("err").find(text) != std::string::npos;
  }
  /// Returns the choices with which the collectives of a function ran at last.
  std::set<std::string> last_choices(const std::string& function) const {
    std::set<std::string> choices;
    for (const Json& setting : result_["settings"])
      if (setting["function"] == function) choices.insert(setting["last"]);
    return choices;
  }

  const TemporaryFolder folder_;
  std::optional<DaemonProcess> daemon_;
  std::optional<DaemonClient> client_;
  Json result_;
};

TEST_F(NcclPlugin, NeedsLibcAloneAndExportsItsTables) {
  const auto output_of = [](const std::string& command) {
    std::string text;
    char bytes[4096];
    std::FILE* pipe = ::popen(command.c_str(), "r");
    while (const std::size_t got = std::fread(bytes, 1, sizeof bytes, pipe))
      text.append(bytes, got);
    EXPECT_EQ(::pclose(pipe), 0) << command;
    return text;
  };
  const std::string library = HOCKET_NCCL_PLUGIN_FOLDER "/libnccl-tuner-hocket.so";
  const std::string dynamic = output_of("readelf -dW " + library);
  std::istringstream lines(dynamic);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == line.npos) continue;
    EXPECT_TRUE(line.find("[libc.so.6]") != line.npos || line.find("[ld-linux") != line.npos)
        << line;
  }
  EXPECT_THAT(dynamic, HasSubstr("NODELETE"));
  const std::string symbols = output_of("readelf --dyn-syms -W " + library);
  std::istringstream all(symbols);
  std::set<std::string> exported;
  for (std::string line; std::getline(all, line);) {
    // RHEL 9 has glibc 2.34.
    for (const char* newer : {"GLIBC_2.35", "GLIBC_2.36", "GLIBC_2.37", "GLIBC_2.38", "GLIBC_2.39"})
      EXPECT_EQ(line.find(newer), line.npos) << line;
    if (line.find(" UND ") != line.npos || line.find(" GLOBAL ") == line.npos) continue;
    exported.insert(line.substr(line.rfind(' ') + 1));
  }
  EXPECT_EQ(exported,
            (std::set<std::string>{"ncclTunerPlugin_v4", "ncclTunerPlugin_v5", "ncclTunerPlugin_v6",
                                   "ncclProfiler_v4", "ncclProfiler_v5", "ncclProfiler_v6",
                                   "hocket_nccl_tuners"}));
}

TEST_F(NcclPlugin, WithoutDaemonAndStoreNcclIsLeftAlone) {
  EXPECT_EQ(run({"--workload", "ddp", "--iterations", "100"}), kFine) << text_of("err");
  EXPECT_EQ(result_["switches"], 0);
  EXPECT_EQ(result_["mismatches"], 0);
}

TEST_F(NcclPlugin, WithoutTheLibraryNcclIsLeftAlone) {
  EXPECT_EQ(run({"--workload", "ddp", "--iterations", "100"},
                {{"HOCKET_CLIENT_LIBRARY", "/nowhere/libhocket_client.so.1"}}),
            kFine);
  EXPECT_TRUE(says("client library was not found"));
  EXPECT_EQ(result_["switches"], 0);
}

TEST_F(NcclPlugin, CanBeSwitchedOff) {
  start_daemon();
  EXPECT_EQ(run({"--workload", "ddp", "--iterations", "100"}, {{"HOCKET_NCCL", "off"}}), kFine);
  EXPECT_EQ(result_["switches"], 0);
  EXPECT_THAT(client_->ask("GET", "/v1/configs").value()["configs"], IsEmpty());
}

TEST_F(NcclPlugin, SwitchesItselfOffWhereRanksShareADevice) {
  start_daemon();
  EXPECT_EQ(run({"--workload", workload(kOneSize), "--iterations", "3000", "--ranks", "3"},
                {{"LD_PRELOAD", NCCL_FAKE_DRIVER}, {"HOCKET_NCCL_STEP_BACK", ""}}),
            kFine)
      << text_of("err");
  EXPECT_TRUE(says("NCCL is left alone: ranks 0 and ")) << text_of("err");
  EXPECT_THAT(last_choices("AllReduce"), ::testing::SizeIs(1));
  EXPECT_THAT(jobs(), IsEmpty());
  EXPECT_EQ(result_["switches"], 0);
  EXPECT_EQ(result_["mismatches"], 0);
  EXPECT_EQ(result_["violations"], 0);
}

TEST_F(NcclPlugin, StaysOnASharedDeviceIfToldToAndSaysWhatItCost) {
  EXPECT_EQ(run({"--workload", "ddp", "--iterations", "300"}, {{"LD_PRELOAD", NCCL_FAKE_DRIVER}}),
            kFine);
  EXPECT_FALSE(says("share a GPU"));
  EXPECT_TRUE(says("the plugin's cost: ")) << text_of("err");
}

TEST_F(NcclPlugin, SwitchesItselfOffWhereNcclsReportsMakeIterationsLonger) {
  start_daemon();
  auto ranks = start({"--workload", workload(kOneSize), "--iterations", "6000", "--limit", "60",
                      "--event-us", "500"},
                     {{"HOCKET_NCCL_STEP_BACK", ""}});
  EXPECT_TRUE(
      eventually([&] { return says("the plugin is off on all ranks"); }, std::chrono::minutes(1)))
      << text_of("err");
  EXPECT_TRUE(says("% longer while NCCL reports collectives to the plugin")) << text_of("err");
  EXPECT_THAT(jobs(), IsEmpty());
  EXPECT_THAT(end(*ranks), ::testing::AnyOf(kFine, kLimit)) << text_of("err");
  EXPECT_EQ(result_["switches"], 0);
  EXPECT_EQ(result_["mismatches"], 0);
  EXPECT_EQ(result_["violations"], 0);
}

TEST_F(NcclPlugin, ComparesFirstAndTriesThen) {
  start_daemon();
  auto ranks = start({"--workload", workload(kOneSize), "--iterations", "9000"},
                     {{"HOCKET_NCCL_STEP_BACK", ""}});
  EXPECT_TRUE(eventually([&] { return says("trying trial"); }, std::chrono::minutes(2)))
      << text_of("err");
  EXPECT_EQ(end(*ranks), kFine) << text_of("err");
  EXPECT_FALSE(says("NCCL is left alone"));
  EXPECT_EQ(result_["mismatches"], 0);
}

TEST_F(NcclPlugin, TheTunerAloneSaysThatItNeedsTheProfiler) {
  EXPECT_EQ(run({"--workload", "ddp", "--iterations", "20"}, {{"NCCL_PROFILER_PLUGIN", ""}}),
            kFine);
  EXPECT_TRUE(says("NCCL_PROFILER_PLUGIN=hocket"));
}

TEST_F(NcclPlugin, AJobStartsWithWhatIsStoredForItsClasses) {
  start_daemon();
  const std::string file = workload(kOneSize);
  auto first = start({"--workload", file, "--iterations", "4000", "--ranks", "3"},
                     {{"HOCKET_NCCL_EXPLORE", "0"}});
  ASSERT_TRUE(eventually([&] { return !jobs().empty(); })) << text_of("err");
  const Json job = jobs()[0];
  EXPECT_EQ(job["name"], "nccl all_reduce 4MiB");
  EXPECT_EQ(job["world_size"], 3);
  Json config = job["config"];
  config["job"] = {{"arm", "ring_ll128"}, {"channels", "16"}};
  const std::string key = "/v1/configs/" + job["key"].get<std::string>();
  const auto pushed = client_->ask("PUT", key, {{"config", config}});
  ASSERT_TRUE(pushed) << pushed.error().message;
  // A pinned version is taken whatever a window says on a busy machine.
  ASSERT_TRUE(client_->ask("PUT", key + "/pin", {{"version", (*pushed)["version"]}}));
  EXPECT_EQ(end(*first), kFine) << text_of("err");
  EXPECT_EQ(result_["mismatches"], 0);

  EXPECT_EQ(run({"--workload", file, "--iterations", "1500", "--ranks", "3"},
                {{"HOCKET_NCCL_EXPLORE", "0"}}),
            kFine);
  EXPECT_TRUE(says("starts with ring_ll128, 16 channels (daemon")) << text_of("err");
  EXPECT_EQ(last_choices("AllReduce"), std::set<std::string>{"RING/LL128/16"});
  EXPECT_EQ(result_["mismatches"], 0);
  EXPECT_EQ(result_["violations"], 0);
}

TEST_F(NcclPlugin, TriesWhileTheJobTrainsAndRanksNeverDiffer) {
  start_daemon();
  auto ranks = start({"--workload", workload(kOneSize), "--iterations", "6000", "--ranks", "3"});
  EXPECT_TRUE(eventually([&] { return says("trying trial"); }, std::chrono::minutes(2)))
      << text_of("err");
  EXPECT_EQ(end(*ranks), kFine) << text_of("err");
  EXPECT_GT(result_["switches"], 0);
  EXPECT_EQ(result_["mismatches"], 0);
  EXPECT_EQ(result_["violations"], 0);
  EXPECT_TRUE(says("settled on"));
}

TEST_F(NcclPlugin, WhatIsMeasuredIsShownAndALateRankNamed) {
  start_daemon();
  auto ranks = start({"--workload", workload(kOneSize), "--iterations", "9000", "--late", "1:200"},
                     {{"HOCKET_NCCL_EXPLORE", "0"}});
  EXPECT_TRUE(eventually(
      [&] {
        const Json all = jobs();
        return !all.empty() && all[0].contains("note");
      },
      std::chrono::minutes(2)))
      << text_of("err");
  const Json job = jobs().at(0);
  EXPECT_THAT(job["note"].get<std::string>(), StartsWith("ring_simple, "));
  EXPECT_THAT(job["note"].get<std::string>(), HasSubstr("rank 1 late"));
  EXPECT_EQ(job["values"]["late_rank"], 1);
  EXPECT_GT(job["values"]["transfer_us"], 0);
  EXPECT_GT(job["values"]["waiting_us"], 100);
  EXPECT_THAT(job["values"].value("own_cost_percent", -1.0),
              ::testing::AllOf(::testing::Ge(0), ::testing::Le(100)));
  EXPECT_THAT(job["topology"].get<std::string>(), HasSubstr("cores"));
  const auto metrics = client_->send("GET", "/metrics").value().body;
  EXPECT_THAT(metrics, HasSubstr("hocket_job_value{name=\"nccl all_reduce 4MiB\""));
  EXPECT_THAT(metrics, HasSubstr("value=\"transfer_us\""));
  // The ranks' counters reach the daemon with a later report than the note.
  const std::string path = "/v1/jobs/" + job["job"].get<std::string>() + "/stragglers";
  Json found;
  EXPECT_TRUE(eventually([&] {
    auto answer = client_->ask("GET", path);
    if (answer) found = std::move(*answer);
    return found.value("verdict", "") == "late_ranks";
  })) << found.dump(1);
  EXPECT_EQ(found["ranks"][1]["pattern"], "persistent") << found.dump(1);
  EXPECT_EQ(end(*ranks), kFine) << text_of("err");
  EXPECT_TRUE(says("rank 1 comes late"));
}

TEST_F(NcclPlugin, AProfileThatIsAskedForIsStored) {
  start_daemon();
  auto ranks = start({"--workload", workload(kOneSize), "--iterations", "9000"},
                     {{"HOCKET_NCCL_EXPLORE", "0"}, {"HOCKET_STORE", folder_.file("store.db")}});
  ASSERT_TRUE(eventually([&] { return !jobs().empty(); })) << text_of("err");
  ASSERT_TRUE(client_->ask("POST", "/v1/jobs/" + jobs()[0]["job"].get<std::string>() + "/profile",
                           {{"iterations", 20}}));
  EXPECT_TRUE(eventually([&] { return says("a profile was saved"); })) << text_of("err");
  EXPECT_EQ(end(*ranks), kFine) << text_of("err");
  auto store = open_store(folder_.file("store.db"));
  ASSERT_TRUE(store);
  const auto profiles = (*store)->profiles();
  ASSERT_TRUE(profiles);
  EXPECT_EQ(profiles->size(), 1u);
}

TEST_F(NcclPlugin, ReproducibleLeavesReductionsAlone) {
  start_daemon();
  auto ranks =
      start({"--workload", "fsdp", "--iterations", "1500"}, {{"HOCKET_NCCL_REPRODUCIBLE", "1"}});
  EXPECT_TRUE(eventually([&] { return !jobs().empty(); })) << text_of("err");
  EXPECT_EQ(end(*ranks), kFine) << text_of("err");
  EXPECT_TRUE(says("all_gather"));
  EXPECT_FALSE(says("reduce_scatter"));
  for (const Json& setting : result_["settings"]) {
    const bool may_change = setting["function"] == "AllGather";
    EXPECT_TRUE(may_change || setting["ran"].size() == 1) << setting;
  }
  EXPECT_EQ(result_["mismatches"], 0);
}

TEST_F(NcclPlugin, ARankWithoutThePluginStopsTheTuningOfAll) {
  start_daemon();
  EXPECT_EQ(run({"--workload", workload(kOneSize), "--iterations", "3000", "--ranks", "3",
                 "--no-plugin", "2"}),
            kFine)
      << text_of("err");
  EXPECT_EQ(result_["switches"], 0);
  EXPECT_EQ(result_["mismatches"], 0);
}

TEST_F(NcclPlugin, StoppedRanksAndOneSidedCallsNeverMakeRanksDiffer) {
  start_daemon();
  for (const char* kinds : {"stop", "extra-call"}) {
    auto ranks = start({"--workload", workload(kOneSize), "--iterations", "4000", "--ranks", "4",
                        "--faults", "6", "--fault-kinds", kinds});
    EXPECT_EQ(end(*ranks), kFine) << text_of("err");
    EXPECT_EQ(result_["mismatches"], 0);
    EXPECT_THAT(result_["deciding"], IsEmpty());
  }
}

TEST_F(NcclPlugin, AOneSidedCallBeforeLaunchesAreCountedIsNoticed) {
  start_daemon();
  EXPECT_EQ(run({"--workload", workload(kOneSize), "--iterations", "4000", "--ranks", "3",
                 "--extra-call", "1@20"}),
            kFine)
      << text_of("err");
  EXPECT_TRUE(says("ranks 0 and 1 have made different calls") ||
              says("ranks 1 and 2 have made different calls"))
      << text_of("err");
  EXPECT_EQ(result_["switches"], 0);
  EXPECT_EQ(result_["mismatches"], 0);
}

TEST_F(NcclPlugin, TheDeathOfARankLeavesNobodyWaitingInThePlugin) {
  start_daemon();
  for (const char* kill : {"0@20000", "2@20000"}) {
    auto ranks = start(
        {"--workload", workload(kOneSize), "--iterations", "6000", "--ranks", "3", "--kill", kill});
    EXPECT_EQ(end(*ranks), kRankDied) << text_of("err");
    EXPECT_EQ(result_["mismatches"], 0);
    for (const Json& rank : result_["deciding"]) EXPECT_THAT(result_["dead"], Contains(rank));
  }
}

TEST_F(NcclPlugin, TheDeathOfTheDaemonLeavesTheJobWithItsSetting) {
  start_daemon();
  auto ranks = start({"--workload", workload(kOneSize), "--iterations", "5000"});
  EXPECT_TRUE(eventually([&] { return says("trying trial"); }, std::chrono::minutes(2)));
  daemon_->kill();
  EXPECT_EQ(end(*ranks), kFine) << text_of("err");
  EXPECT_EQ(result_["mismatches"], 0);
}

TEST_F(NcclPlugin, SeveralCommunicatorsAndGraphsAgreeEachByItself) {
  start_daemon();
  for (const char* name : {"two-comms", "edge"}) {
    auto ranks = start({"--workload", name, "--iterations", "600", "--ranks", "4", "--nodes", "2"});
    EXPECT_EQ(end(*ranks), kFine) << name << "\n" << text_of("err");
    EXPECT_EQ(result_["mismatches"], 0);
    EXPECT_EQ(result_["violations"], 0);
  }
}

}  // namespace
}  // namespace hocket::nccl
