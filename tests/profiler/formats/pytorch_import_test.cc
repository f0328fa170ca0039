// Tests the import of traces made by PyTorch.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/trace/collective_name.h"
#include "core/trace/message_ends.h"
#include "core/trace/paired_collectives.h"
#include "profiler/formats/chrome_import.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

bool runs(const std::string& command) {
  return std::system((command + " >&2").c_str()) == 0;
}

std::int64_t count(const RankTrace& trace, TraceKind kind, std::int64_t step) {
  std::int64_t found = 0;
  for (const TraceRecord& record : trace.records) {
    found += record.kind == kind && record.step == step ? 1 : 0;
  }
  return found;
}

std::vector<RankTrace> read_traces(const fs::path& folder) {
  std::vector<RankTrace> traces;
  for (const char* name : {"rank-0.json", "rank-1.json"}) {
    std::ifstream file(folder / name);
    EXPECT_TRUE(file) << "there is no " << folder / name;
    auto read = read_chrome_trace(file);
    EXPECT_TRUE(read) << read.error().message;
    if (read) traces.insert(traces.end(), read->traces.begin(), read->traces.end());
  }
  return traces;
}

void expect_steps_computation_and_all_reduces(const std::vector<RankTrace>& traces,
                                              std::int64_t steps) {
  ASSERT_EQ(traces.size(), 2U);
  for (const RankTrace& trace : traces) {
    EXPECT_EQ(trace.source, "kineto");
    EXPECT_EQ(trace.quarantined, 0);
    ASSERT_EQ(trace.step_starts.size(), static_cast<std::size_t>(steps) + 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(steps); ++i) {
      const StepStart& start = trace.step_starts[i];
      EXPECT_EQ(start.step, traces[0].step_starts[i].step) << "both ranks count alike";
      EXPECT_GT(count(trace, TraceKind::compute, start.step), 0);
      EXPECT_GT(count(trace, TraceKind::communication, start.step), 0);
      EXPECT_EQ(count(trace, TraceKind::communication, start.step),
                count(traces[0], TraceKind::communication, start.step));
    }
    const std::int64_t begin_ns = trace.step_starts.front().begin_ns;
    const std::int64_t end_ns = trace.step_starts.back().begin_ns;
    for (const TraceRecord& record : trace.records) {
      if (record.kind != TraceKind::communication || record.step == kNoStep) continue;
      if (names_messages(trace.names[record.name])) continue;
      EXPECT_EQ(record.collective, CollectiveKind::all_reduce);
      EXPECT_NE(record.sequence, kNoSequence);
      EXPECT_GE(record.begin_ns, begin_ns);
      EXPECT_LE(record.begin_ns, end_ns);
    }
  }
}

/// Expects a message each way in each step, paired; without kind where the files say no ranks.
void expect_messages(const std::vector<RankTrace>& traces, std::int64_t steps, bool says_ranks) {
  ASSERT_EQ(traces.size(), 2U);
  for (const RankTrace& trace : traces) {
    std::int64_t found = 0, known = 0;
    for (const TraceRecord& record : trace.records) {
      found += names_messages(trace.names[record.name]) && record.step != kNoStep &&
               record.kind == TraceKind::communication;
      known += message_ends(trace, record).has_value() && record.step != kNoStep;
    }
    EXPECT_EQ(found, 2 * steps);
    EXPECT_EQ(known, says_ranks ? 2 * steps : 0);
  }
  const PairedCollectives paired(traces);
  std::int64_t messages = 0;
  for (std::size_t i = 0; i < paired.size(); ++i) {
    if (!paired.is_of_message(i)) continue;
    EXPECT_TRUE(paired.is_complete(i));
    EXPECT_TRUE(paired.is_alike(i));
    ++messages;
  }
  EXPECT_EQ(messages, says_ranks ? 2 * steps : 0);
}

/// PyTorch 2.13.0 wrote it, by formats/pytorch_trace.py with two steps; white space is less.
TEST(PytorchImport, OfARecordedTraceFindsStepsComputationAndAllReducesOnBothRanks) {
  const std::vector<RankTrace> traces = read_traces(HOCKET_PYTORCH_RECORDED);
  expect_steps_computation_and_all_reduces(traces, 2);
  expect_messages(traces, 2, true);
}

/// Tests the traces that the PyTorch of `python` writes; skips where it has none.
void expect_the_same_of(const std::string& python, bool says_ranks) {
  if (!runs(python + " -c 'import torch.distributed, torch.profiler' 2>/dev/null")) {
    GTEST_SKIP() << python << " has no PyTorch: scripts/setup torch";
  }
  constexpr std::int64_t kSteps = 4;
  const TemporaryFolder folder;
  // Ignores the exit status: the interpreter may abort at exit, after everything is written.
  (void)runs(python + " " + HOCKET_PYTORCH_TRACE + " " + folder.path().string() + " " +
             std::to_string(kSteps));
  const std::vector<RankTrace> traces = read_traces(folder.path());
  expect_steps_computation_and_all_reduces(traces, kSteps);
  expect_messages(traces, kSteps, says_ranks);
}

TEST(PytorchImport, OfTheInstalledPackageFindsTheSame) {
  expect_the_same_of("/usr/bin/python3", false);
}

TEST(PytorchImport, OfTheInstalledNewerVersionFindsTheSame) {
  expect_the_same_of(HOCKET_TORCH_PYTHON "/bin/python", true);
}

}  // namespace
}  // namespace hocket
