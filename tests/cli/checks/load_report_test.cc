// Tests how `hocket doctor` reads what processes report, of whom none is trusted.

#include "cli/checks/load_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Returns a line of a process on "h".
std::string line(const std::string& from, const std::string& event, int pid,
                 const std::string& more = "") {
  return R"({"format":"hocket-load","version":1,"host":"h","from":")" + from + R"(","event":")" +
         event + R"(","pid":)" + std::to_string(pid) + more + "}\n";
}

TEST(LoadReports, HaveWhatALineSays) {
  const auto reports = parse_load_reports(
      line(
          "python", "probe", 7,
          R"(,"python":"/p","hooked":true,"torch":"2.13.0","nccl":"2.28.9","tuners_asked":[5,4])") +
      line("plugin", "tuner", 7, R"(,"interface":5,"plugin":"/l.so","ranks":2)"));
  ASSERT_THAT(reports.all, SizeIs(2)) << reports.problem;
  EXPECT_EQ(reports.unreadable, 0U);
  EXPECT_EQ(reports.all[0].event, LoadEvent::probe);
  EXPECT_EQ(reports.all[0].python, "/p");
  EXPECT_TRUE(reports.all[0].is_hooked);
  EXPECT_THAT(reports.all[0].tuners_asked, ElementsAre(5, 4));
  EXPECT_EQ(reports.all[0].rank, std::nullopt);
  EXPECT_EQ(reports.all[1].interface, 5);
}

TEST(LoadReports, ALineWithoutItsEndIsNotReadYet) {
  const std::string whole = line("python", "start", 7);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto reports = parse_load_reports(whole.substr(0, bytes));
    EXPECT_THAT(reports.all, SizeIs(0)) << bytes;
    EXPECT_EQ(reports.unreadable, 0U) << bytes;
  }
  EXPECT_THAT(parse_load_reports(whole).all, SizeIs(1));
}

TEST(LoadReports, WhatIsNoReportIsCountedAndHidesNoOther) {
  const std::string good = line("python", "start", 7);
  for (const std::string& bad :
       {std::string("\n"), std::string("[]\n"), std::string("{}\n"), std::string("\x1b[2J\n"),
        std::string(kMostLoadReportLineBytes + 1, ' ') + "\n", std::string(20'000, '[') + "\n",
        line("python", "call", 7), line("plugin", "step", 7), line("plugin", "dance", 7),
        line("nobody", "start", 7), line("python", "start", 0), line("python", "start", -1),
        line("python", "start", 7, R"(,"command":"rm -r /")"),
        line("python", "start", 7, R"(,"torch":2.13)"), line("python", "start", 7, R"(,"rank":-1)"),
        line("python", "start", 7, R"(,"ranks":0)"), line("python", "start", 7, R"(,"tuners":[0])"),
        line("python", "start", 7, R"(,"torch":")" + std::string(5000, 'x') + "\"")}) {
    const auto reports = parse_load_reports(good + bad + good);
    EXPECT_THAT(reports.all, SizeIs(2)) << bad.substr(0, 200);
    EXPECT_EQ(reports.unreadable, 1U) << bad.substr(0, 200);
    EXPECT_NE(reports.problem, "");
  }
}

TEST(LoadReports, NoMoreIsReadBehindManyLinesThatAreNone) {
  const std::string good = line("python", "start", 7);
  const auto few = parse_load_reports(std::string(kMostUnreadableLines - 1, '\n') + good);
  EXPECT_THAT(few.all, SizeIs(1));
  const auto many = parse_load_reports(std::string(500'000, '\n') + good);
  EXPECT_THAT(many.all, SizeIs(0));
  EXPECT_EQ(many.unreadable, kMostUnreadableLines);
}

TEST(LoadedProcesses, AreMadeOfTheirLinesInTheOrderOfRanks) {
  const auto processes = processes_of(
      parse_load_reports(
          line("python", "start", 9) + line("plugin", "profiler", 8, R"(,"interface":4,"rank":1)") +
          line("python", "group", 7, R"(,"rank":0,"ranks":2,"client_version":"0.1.0")") +
          line("plugin", "tuner", 8, R"(,"interface":5,"nccl":"2.28.9")") +
          line("plugin", "call", 8) +
          line("python", "step", 7, R"(,"client_version":"0.1.0","uses_nccl":true)"))
          .all);
  ASSERT_THAT(processes, SizeIs(3));
  EXPECT_EQ(processes[0].pid, 7);
  EXPECT_TRUE(processes[0].has_group && processes[0].has_step && !processes[0].has_probe);
  EXPECT_EQ(processes[0].said.rank, 0) << "what an earlier line says stays";
  EXPECT_TRUE(processes[0].said.uses_nccl);
  EXPECT_EQ(processes[1].pid, 8);
  EXPECT_EQ(processes[1].profiler, 4);
  EXPECT_EQ(processes[1].tuner, 5);
  EXPECT_TRUE(processes[1].is_called);
  EXPECT_EQ(processes[1].said.nccl, "2.28.9");
  EXPECT_EQ(processes[2].pid, 9) << "a process without a rank is last";
}

TEST(LoadedProcesses, OfOneNumberOnTwoHostsAreTwo) {
  std::string other = line("python", "start", 7);
  other.replace(other.find("\"h\""), 3, "\"g\"");
  EXPECT_THAT(processes_of(parse_load_reports(line("python", "start", 7) + other).all), SizeIs(2));
}

bool all_reported(const std::string& text, std::optional<std::string_view> host = "h") {
  return have_all_reported(processes_of(parse_load_reports(text).all), host);
}

TEST(AllReported, IsWhenEachRankOfThisHostHasMadeAStepOrAskedThePlugin) {
  const auto step = [](int pid, int rank, const std::string& more = R"(,"ranks":2)") {
    const std::string place = R"(,"rank":)" + std::to_string(rank) + more;
    return line("python", "group", pid, place) + line("python", "step", pid, place);
  };
  EXPECT_FALSE(all_reported(""));
  EXPECT_FALSE(all_reported(line("python", "start", 7)));
  EXPECT_FALSE(all_reported(step(7, 0)));
  EXPECT_TRUE(all_reported(step(7, 0) + step(8, 1)));
  EXPECT_FALSE(all_reported(step(7, 0) + line("python", "group", 8, R"(,"rank":1,"ranks":2)")));
  // One of two hosts, with one rank.
  EXPECT_TRUE(all_reported(step(7, 0, R"(,"ranks":2,"ranks_on_host":1)")));
  // All hosts of that job, in a file that they share.
  EXPECT_FALSE(all_reported(step(7, 0, R"(,"ranks":2,"ranks_on_host":1)"), std::nullopt));
  EXPECT_TRUE(all_reported(
      step(7, 0, R"(,"ranks":2,"ranks_on_host":1)") + step(8, 1, R"(,"ranks":2,"ranks_on_host":1)"),
      std::nullopt));
  // A program that is not one of Python.
  const std::string opened = line("plugin", "profiler", 7, R"(,"interface":5,"rank":0,"ranks":1)");
  EXPECT_FALSE(all_reported(opened));
  EXPECT_TRUE(all_reported(opened + line("plugin", "call", 7)));
}

}  // namespace
}  // namespace hocket
