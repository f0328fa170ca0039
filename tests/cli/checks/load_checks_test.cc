// Tests what `hocket doctor` concludes from what processes have loaded.

#include "cli/checks/load_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const LoadExpectation kExpected{.version = "0.1.0"};

/// A process of hocket's own, in which all is well as far as it goes without a GPU.
LoadedProcess probe() {
  LoadedProcess process{.host = "h", .pid = 7};
  process.has_python = process.has_probe = true;
  LoadReport& said = process.said;
  said.event = LoadEvent::probe;
  said.is_hooked = true;
  said.python = "/env/bin/python3";
  said.client_library = "/lib/libhocket_client.so.1";
  said.client_version = "0.1.0";
  said.torch = "2.13.0";
  said.nccl = "2.28.9";
  said.nccl_library = "/lib/libnccl.so.2";
  said.tuners_asked = {5, 4, 3};
  said.profilers_asked = {5, 4, 3, 2, 1};
  said.tuners = said.profilers = {6, 5, 4};
  said.plugin = "/lib/libnccl-tuner-hocket.so";
  said.gpus = 0;
  return process;
}

/// A rank of a job over NCCL, in which all is well.
LoadedProcess rank(int number) {
  LoadedProcess process = probe();
  process.has_probe = false;
  process.has_group = process.has_step = process.is_called = true;
  process.said.event = LoadEvent::step;
  process.pid = 100 + number;
  process.said.rank = number;
  process.said.ranks = 2;
  process.said.backend = "nccl";
  process.said.uses_nccl = true;
  process.tuner = process.profiler = 5;
  return process;
}

DoctorCheck at(const std::vector<DoctorCheck>& checks, const std::string& what) {
  for (const DoctorCheck& check : checks)
    if (check.what.starts_with(what)) return check;
  ADD_FAILURE() << "no check of " << what;
  return {};
}

DoctorCheck probed(const LoadedProcess& process, const std::string& what,
                   const LoadExpectation& expected = kExpected) {
  return at(check_probe({process}, {}, expected), what);
}

/// Whatever is wrong or missing says how it is mended.
void expect_remedies(const std::vector<DoctorCheck>& checks) {
  for (const DoctorCheck& check : checks) {
    EXPECT_EQ(check.remedy.empty(), check.state == CheckState::ok)
        << check.what << ": " << check.found;
  }
}

TEST(ProbeChecks, SayWhatWasLoaded) {
  const auto checks = check_probe({probe()}, {}, kExpected);
  expect_remedies(checks);
  EXPECT_EQ(at(checks, "Python").state, CheckState::ok);
  EXPECT_EQ(at(checks, "client library").found, "0.1.0, /lib/libhocket_client.so.1");
  EXPECT_THAT(at(checks, "PyTorch").found, HasSubstr("2.13.0"));
  EXPECT_EQ(at(checks, "hocket.torch").state, CheckState::ok);
  EXPECT_EQ(at(checks, "NCCL").found, "2.28.9, /lib/libnccl.so.2");
}

TEST(ProbeChecks, WithoutAGpuWhetherThePluginIsTakenIsNotKnown) {
  const DoctorCheck check = probed(probe(), "plugin for NCCL");
  EXPECT_EQ(check.state, CheckState::note);
  EXPECT_THAT(check.found, AllOf(HasSubstr("tuner 5, profiler 5"), HasSubstr("is not known")));
  LoadedProcess older = probe();
  older.said.tuners_asked = {3, 2};
  older.said.nccl = "2.21.5";
  const DoctorCheck old = probed(older, "plugin for NCCL");
  EXPECT_EQ(old.state, CheckState::note);
  EXPECT_THAT(old.found, HasSubstr("2.21.5 looks for older plugins"));
  EXPECT_THAT(old.remedy, HasSubstr("nvidia-nccl"));
}

TEST(ProbeChecks, OnAGpuThePluginIsTakenOrThatIsAnError) {
  LoadedProcess process = probe();
  process.said.uses_nccl = true;
  const DoctorCheck refused = probed(process, "plugin for NCCL");
  EXPECT_EQ(refused.state, CheckState::wrong);
  EXPECT_THAT(refused.remedy, HasSubstr("hocket nccl --install"));
  process.said.plugin_problem = "libnccl-tuner-hocket.so: no version GLIBC_2.34";
  EXPECT_THAT(probed(process, "plugin for NCCL").found, HasSubstr("GLIBC_2.34"));
  process.said.plugin_problem = "";
  process.said.tuners_asked = {2};
  EXPECT_THAT(probed(process, "plugin for NCCL").found, HasSubstr("the tuner's versions 2 "));
  process.tuner = 5;
  const DoctorCheck half = probed(process, "plugin for NCCL");
  EXPECT_EQ(half.state, CheckState::wrong);
  EXPECT_THAT(half.remedy, HasSubstr("NCCL_PROFILER_PLUGIN"));
  process.profiler = 5;
  const DoctorCheck taken = probed(process, "plugin for NCCL");
  EXPECT_EQ(taken.state, CheckState::ok);
  EXPECT_THAT(taken.found, HasSubstr("NCCL 2.28.9 has opened it: tuner 5, profiler 5"));
}

TEST(ProbeChecks, APluginThatCannotBeOpenedOrIsNotThere) {
  LoadedProcess process = probe();
  process.said.plugin = "";
  process.said.plugin_problem = "cannot open shared object file";
  EXPECT_EQ(probed(process, "plugin for NCCL").state, CheckState::wrong);
  const DoctorCheck missing =
      probed(process, "plugin for NCCL", {.version = "0.1.0", .has_plugin = false});
  EXPECT_EQ(missing.state, CheckState::missing);
  EXPECT_EQ(missing.remedy, "pip install hocket");
}

TEST(ProbeChecks, WhatIsWrongHasACommandThatMendsIt) {
  LoadedProcess process = probe();
  process.said.is_hooked = false;
  process.said.client_problem = "libhocket_client.so.1: not found";
  process.said.torch_problem = "libcudart.so: not found";
  process.said.reducer_problem = "it does not know a_new_one";
  const auto checks = check_probe({process}, {}, kExpected);
  expect_remedies(checks);
  EXPECT_EQ(at(checks, "Python").state, CheckState::wrong);
  EXPECT_EQ(at(checks, "client library").state, CheckState::wrong);
  EXPECT_EQ(at(checks, "PyTorch").state, CheckState::wrong);
  EXPECT_EQ(at(checks, "hocket.torch").state, CheckState::note);
  EXPECT_THAT(at(checks, "hocket.torch").found, HasSubstr("a_new_one"));
}

TEST(ProbeChecks, ALibraryOfAnotherVersionIsNoted) {
  LoadedProcess process = probe();
  process.said.client_version = "0.0.9";
  const DoctorCheck other = probed(process, "client library");
  EXPECT_EQ(other.state, CheckState::note);
  EXPECT_THAT(other.found, HasSubstr("the program is 0.1.0"));
  process.said.client_version = "";
  EXPECT_THAT(probed(process, "client library").found, HasSubstr("version not known"));
}

TEST(ProbeChecks, WhatCouldNotStartIsNotKnown) {
  const auto checks = check_probe({}, {.text = "cannot start python3: not found"}, kExpected);
  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_EQ(checks[0].state, CheckState::note);
  EXPECT_THAT(checks[0].found, AllOf(HasSubstr("not known"), HasSubstr("cannot start python3")));
}

/// Returns the checks of a job that the doctor has ended, of which these processes have reported.
std::vector<DoctorCheck> launched(const std::vector<LoadedProcess>& processes,
                                  LaunchedJob job = {.reports = {},
                                                     .end = {.was_stopped = true},
                                                     .limit_ns = 60'000'000'000,
                                                     .variables = {"HOCKET_DOCTOR_FILE"}}) {
  // The lines from which these processes would have been made.
  for (const LoadedProcess& process : processes) {
    LoadReport report = process.said;
    report.host = process.host;
    report.pid = process.pid;
    if (process.has_group) {
      report.event = LoadEvent::group;
      job.reports.all.push_back(report);
    }
    if (process.has_python && (process.has_step || !process.has_group)) {
      report.event = process.has_step ? LoadEvent::step : LoadEvent::start;
      job.reports.all.push_back(report);
    }
    for (const auto& [event, version] :
         {std::pair{LoadEvent::tuner, process.tuner}, {LoadEvent::profiler, process.profiler}}) {
      if (!version) continue;
      report.event = event;
      report.interface = version;
      job.reports.all.push_back(report);
    }
    report.event = LoadEvent::call;
    if (process.is_called) job.reports.all.push_back(report);
  }
  return check_launched_job(job, kExpected);
}

TEST(JobChecks, EachRankSaysWhatItHasLoaded) {
  const auto checks = launched({rank(1), rank(0)});
  expect_remedies(checks);
  ASSERT_THAT(checks, SizeIs(3));
  EXPECT_EQ(checks[0].found, "2 ranks have reported");
  EXPECT_EQ(checks[1].what, "rank 0, h, pid 100");
  EXPECT_EQ(checks[1].state, CheckState::ok) << checks[1].found;
  EXPECT_THAT(checks[1].found,
              AllOf(HasSubstr("0.1.0, /lib/libhocket_client.so.1"), HasSubstr("2.13.0"),
                    HasSubstr("knows the Reducer"), HasSubstr("NCCL 2.28.9 has opened it"),
                    HasSubstr("asks it for collectives")));
  EXPECT_EQ(checks[2].what, "rank 1, h, pid 101");
}

TEST(JobChecks, ARankWhoseNcclRunsWithoutThePluginIsAnError) {
  LoadedProcess without = rank(1);
  without.tuner = without.profiler = std::nullopt;
  without.is_called = false;
  const DoctorCheck check = at(launched({rank(0), without}), "rank 1");
  EXPECT_EQ(check.state, CheckState::wrong);
  EXPECT_THAT(check.found, ::testing::StartsWith("plugin for NCCL: NCCL 2.28.9 has made a "
                                                 "communicator without it"));
  EXPECT_THAT(check.remedy, HasSubstr("hocket nccl --install"));
  without.said.uses_nccl = false;
  without.has_step = false;
  const DoctorCheck early = at(launched({rank(0), without}), "rank 1");
  EXPECT_EQ(early.state, CheckState::note);
  EXPECT_THAT(early.found, HasSubstr("no step of an optimizer in 60 s"));
}

TEST(JobChecks, AJobThatDoesNotUseNcclNeedsNoPlugin) {
  LoadedProcess gloo = rank(0);
  gloo.tuner = gloo.profiler = std::nullopt;
  gloo.is_called = gloo.said.uses_nccl = false;
  gloo.said.backend = "gloo";
  gloo.said.ranks = 1;
  const auto checks = launched({gloo});
  EXPECT_EQ(at(checks, "rank 0").state, CheckState::ok);
  EXPECT_THAT(at(checks, "rank 0").found, HasSubstr("NCCL is not used"));
}

TEST(JobChecks, AProgramWithoutPythonIsJudgedByThePluginAlone) {
  LoadedProcess plain = rank(0);
  plain.has_python = plain.has_group = plain.has_step = false;
  plain.said.ranks = 1;
  const DoctorCheck check = at(launched({plain}), "rank 0");
  EXPECT_EQ(check.state, CheckState::ok) << check.found;
  EXPECT_THAT(check.found, Not(HasSubstr("client library")));
  plain.is_called = false;
  EXPECT_EQ(at(launched({plain}), "rank 0").state, CheckState::note);
}

TEST(JobChecks, ALauncherThatPassesNothingOnIsAnError) {
  const auto checks = launched({});
  expect_remedies(checks);
  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_EQ(checks[0].state, CheckState::wrong);
  EXPECT_THAT(checks[0].found, HasSubstr("does not pass the environment on"));
  EXPECT_THAT(checks[0].remedy, HasSubstr("mpirun -x HOCKET_DOCTOR_FILE"));
  LoadedProcess only = rank(0);
  const auto elsewhere = launched({only});
  EXPECT_EQ(elsewhere[0].state, CheckState::note);
  EXPECT_THAT(elsewhere[0].found, HasSubstr("1 rank has reported of 2, in 60 s; those of other"));
  EXPECT_THAT(elsewhere[0].remedy, HasSubstr("--shared FOLDER"));
  only.said.ranks_on_host = 2;
  const auto some = launched({only});
  EXPECT_EQ(some[0].state, CheckState::wrong);
  EXPECT_THAT(some[0].found, HasSubstr("1 rank has reported of 2 on this host, in 60 s"));
  only.said.ranks_on_host = 1;
  EXPECT_EQ(launched({only})[0].state, CheckState::ok);
}

TEST(JobChecks, InASharedFolderAllHostsReport) {
  LaunchedJob job{.reports = {},
                  .end = {.was_stopped = true},
                  .limit_ns = 60'000'000'000,
                  .shared_folder = "/net/ada",
                  .variables = {"HOCKET_DOCTOR_FILE"}};
  const auto none = launched({}, job);
  EXPECT_EQ(none[0].state, CheckState::wrong);
  EXPECT_THAT(none[0].found, HasSubstr("or its hosts do not see /net/ada"));
  LoadedProcess first = rank(0), second = rank(1);
  first.said.ranks_on_host = second.said.ranks_on_host = 1;
  second.host = "other";
  const auto one = launched({first}, job);
  EXPECT_EQ(one[0].state, CheckState::wrong);
  EXPECT_THAT(one[0].found, HasSubstr("1 rank has reported of 2, in 60 s"));
  EXPECT_THAT(one[0].remedy, HasSubstr("all hosts must see /net/ada"));
  const auto both = launched({first, second}, job);
  EXPECT_EQ(both[0].state, CheckState::ok) << both[0].found;
  EXPECT_EQ(at(both, "rank 1, other").state, CheckState::ok);
}

TEST(JobChecks, ACommandThatFailsSaysHow) {
  LaunchedJob job{.reports = {},
                  .end = {.has_failed = true, .text = "exit status 1: no such file"},
                  .limit_ns = 60'000'000'000};
  const auto checks = launched({}, job);
  EXPECT_EQ(checks[0].state, CheckState::wrong);
  EXPECT_THAT(checks[0].found, HasSubstr("no such file"));
  LoadedProcess started = rank(0);
  started.has_group = started.has_step = started.is_called = false;
  started.tuner = started.profiler = std::nullopt;
  EXPECT_THAT(launched({started}, job)[0].found,
              AllOf(HasSubstr("none has joined"), HasSubstr("no such file")));
  EXPECT_EQ(launched({started})[0].state, CheckState::note) << "it may only be slow";
}

TEST(JobChecks, LinesOfStrangersAreCountedAndManyRanksAreCut) {
  std::vector<LoadedProcess> many;
  for (int i = 0; i < 70; ++i) many.push_back(rank(i));
  LaunchedJob job{.reports = {.unreadable = 3, .problem = "\x1b[2J"}, .end = {.was_stopped = true}};
  const auto checks = launched(many, job);
  EXPECT_THAT(at(checks, "further ranks").found, HasSubstr("6 are not shown"));
  const DoctorCheck lines = at(checks, "reports");
  EXPECT_THAT(lines.found, AllOf(HasSubstr("3 lines"), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace hocket
