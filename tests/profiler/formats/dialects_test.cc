#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/trace/paired_collectives.h"
#include "profiler/formats/chrome_import.h"
#include "profiler/metrics/metrics.h"
#include "store/trace_file.h"
#include "tests/profiler/formats/dialect_job.h"
#include "tests/profiler/formats/kineto_dialect.h"
#include "tests/profiler/formats/nsight_dialect.h"
#include "tests/store/sqlite/nsight_export.h"

namespace hocket::dialects {
namespace {

RankTrace read_kineto(const Job& job, std::int64_t rank, const Kineto& dialect) {
  std::istringstream in(KinetoText(job, rank, dialect).text());
  auto import = read_chrome_trace(in);
  EXPECT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->traces.size(), 1U);
  return std::move(import->traces.at(0));
}

RankTrace read_nsight(const Job& job, const Nsight& dialect) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("hocket-dialects-" + std::to_string(getpid()) + ".sqlite");
  std::filesystem::remove(path);
  write_database(path, nsight_sql(job, 0, dialect));
  auto traces = read_nsight_export(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(traces) << traces.error().message;
  return std::move(traces->at(0));
}

std::int64_t communications(const RankTrace& trace) {
  return std::ranges::count(trace.records, TraceKind::communication, &TraceRecord::kind);
}

/// Checks the figures of a rank. Without marks the first iteration may be cut by the recording, and
/// the last one's end is unknown.
void expect_known(const Job& job, std::int64_t rank, const RankTrace& trace, bool has_marks) {
  const auto groups = static_cast<std::int64_t>(job.groups_of(rank).size());
  EXPECT_EQ(communications(trace), job.steps * job.collectives * groups);
  const auto iterations = measure_rank(trace).iterations;
  ASSERT_GE(std::ssize(iterations), has_marks ? job.steps : job.steps - 1);
  for (const IterationMetrics& iteration : iterations) {
    EXPECT_EQ(iteration.wall_ns, kStepNs);
    EXPECT_EQ(iteration.exposed_ns, job.exposed_ns(rank));
    if (job.has_extra_work) continue;
    EXPECT_EQ(iteration.compute_ns, kKernels * kKernelNs);
  }
}

TEST(Dialects, EachFormOfKinetoHasTheKnownFigures) {
  const Job job = Job::of_one_group(2);
  for (const Names names : {Names::nccl_old, Names::nccl_new, Names::rccl, Names::symmetric,
                            Names::gloo, Names::send_receive}) {
    for (const int variant : {0, 1, 2, 3, 4}) {
      SCOPED_TRACE(static_cast<int>(names) * 10 + variant);
      Kineto dialect{.names = names};
      if (variant == 1) dialect.says_groups = dialect.says_numbers = false;
      if (variant == 2) dialect.on_host_only = true;
      if (variant == 3) dialect.is_bare_array = true;
      if (variant == 4) dialect.has_begin_and_end = true;
      for (std::int64_t rank = 0; rank < 2; ++rank)
        expect_known(job, rank, read_kineto(job, rank, dialect), true);
    }
  }
}

TEST(Dialects, StepsAreFoundByTheRepetitionOfNames) {
  for (const bool has_extra_work : {false, true}) {
    SCOPED_TRACE(has_extra_work);
    Job job = Job::of_one_group(2);
    job.steps = 9;
    job.has_extra_work = has_extra_work;
    expect_known(job, 1, read_kineto(job, 1, {.has_steps = false}), false);
    expect_known(job, 0, read_nsight(job, {}), false);
  }
}

TEST(Dialects, EachFormOfNsightHasTheKnownFigures) {
  const Job job = Job::of_one_group(2);
  for (const Marks marks : {Marks::profiler_step, Marks::repeated, Marks::none}) {
    for (const bool is_old : {false, true}) {
      for (const bool has_target_info : {false, true}) {
        SCOPED_TRACE(static_cast<int>(marks) * 4 + is_old * 2 + has_target_info);
        expect_known(job, 0, read_nsight(job, {marks, has_target_info, is_old}),
                     marks != Marks::none);
      }
    }
  }
}

/// Checks that every collective of the job is paired, and begins on each rank when it did.
void expect_paired(const Job& job, const Kineto& dialect) {
  std::vector<RankTrace> traces;
  for (std::int64_t rank = 0; rank < job.ranks; ++rank)
    traces.push_back(read_kineto(job, rank, dialect));
  const PairedCollectives paired(traces);
  // Without marks and numbers, nobody knows which collectives of the last step are the same.
  const std::int64_t steps = job.steps - (dialect.has_steps || dialect.says_numbers ? 0 : 1);
  ASSERT_EQ(std::ssize(job.groups) * steps * job.collectives,
            static_cast<std::int64_t>(paired.size()));
  std::set<std::vector<std::int64_t>> groups;
  for (std::size_t i = 0; i < paired.size(); ++i) {
    EXPECT_TRUE(paired.is_complete(i));
    EXPECT_TRUE(paired.is_alike(i));
    const auto& members = paired.groups()[paired[i].group].traces;
    groups.emplace(members.begin(), members.end());
    for (const TraceRecord* part : paired[i].parts)
      EXPECT_EQ(part->bytes, dialect.says_numbers || dialect.says_groups ? 1000 : 0);
  }
  EXPECT_EQ(std::ssize(groups), std::ssize(job.groups));
}

TEST(Dialects, CollectivesOfAMeshArePairedInTheirGroups) {
  expect_paired(Job::of_mesh(2, 4), {});
  expect_paired(Job::of_mesh(2, 4), {.says_numbers = false});
  expect_paired(Job::of_mesh(4, 2), {.on_host_only = true});
  expect_paired(Job::of_mesh(2, 4), {.says_numbers = false, .has_steps = false});
}

TEST(Dialects, TheHeadCompletesACutListOfRanks) {
  const Job job = Job::of_one_group(3);
  expect_paired(job, {.cuts_ranks = true});
  const RankTrace trace = read_kineto(job, 0, {.cuts_ranks = true});
  EXPECT_EQ(trace.groups, (std::vector<TraceGroup>{{"0", {0, 1, 2}}}));
}

TEST(Dialects, ATraceThatBeginsLaterIsPairedByItsNumbers) {
  const Job job = Job::of_one_group(2);
  std::vector<RankTrace> traces{read_kineto(job, 0, {.has_steps = false}),
                                read_kineto(job, 1, {.has_steps = false})};
  std::erase_if(traces[1].records,
                [](const TraceRecord& record) { return record.begin_ns < Job::step_begin_ns(2); });
  const PairedCollectives paired(traces);
  std::size_t complete = 0;
  for (std::size_t i = 0; i < paired.size(); ++i) complete += paired.is_complete(i);
  EXPECT_EQ(complete, 12U);
}

}  // namespace
}  // namespace hocket::dialects
