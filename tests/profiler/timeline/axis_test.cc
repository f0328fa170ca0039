#include "profiler/timeline/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/profiler/timeline/random_profile.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kSince1970 = 1'700'000'000'123'456'789;

TEST(TimelineAxis, BeginsAtTheEarliestBegin) {
  TimelineInput input;
  input.add(0).records = {record_of(TraceKind::compute, 1000, 1100)};
  input.add(1, 500).records = {record_of(TraceKind::compute, 300, 400)};
  const TimelineAxis axis(input.traces, input.fits);
  EXPECT_EQ(axis.at(1, 300), 0);
  EXPECT_EQ(axis.at(0, 1000), 200);
  EXPECT_EQ(axis.at(0, 790), -10) << "a time before, such as of a submission";
}

TEST(TimelineAxis, CountsStepStartsButNotUnusableRecords) {
  TimelineInput input;
  RankTrace& trace = input.add(0);
  trace.records = {record_of(TraceKind::compute, 5, 2), record_of(TraceKind::compute, 7, 9, 0, 2),
                   record_of(TraceKind::compute, 1000, 1100)};
  trace.step_starts = {{0, 900}};
  const TimelineAxis axis(input.traces, input.fits);
  EXPECT_EQ(axis.at(0, 1000), 100);
}

TEST(TimelineAxis, KeepsNanosecondsOfTimesSince1970) {
  TimelineInput input;
  input.add(0).records = {record_of(TraceKind::compute, kSince1970, kSince1970 + 1)};
  input.add(1, 7).records = {record_of(TraceKind::compute, kSince1970 + 13, kSince1970 + 20)};
  // The clock of rank 2 counts from the start of its host, the reference's from 1970.
  input.add(2).records = {record_of(TraceKind::compute, 4000, 5000)};
  input.fits[2].reference_ns = 4000;
  input.fits[2].offset_ns = 1.7e18 + 1e9;
  input.fits[2].drift = 0.25;
  const TimelineAxis axis(input.traces, input.fits);
  EXPECT_EQ(axis.at(0, kSince1970), 0);
  EXPECT_EQ(axis.at(0, kSince1970 + 3), 3);
  EXPECT_EQ(axis.at(1, kSince1970 + 13), 20);
  EXPECT_EQ(axis.at(2, 4400) - axis.at(2, 4000), 500) << "400 ns and the drift";
  EXPECT_THAT(axis.notes(), IsEmpty());
}

TEST(TimelineAxis, DrawsAnUnrelatedClockFromTheBegin) {
  TimelineInput input;
  input.add(0).records = {record_of(TraceKind::compute, kSince1970, kSince1970 + 50)};
  input.add(1).records = {record_of(TraceKind::compute, 70, 90)};
  input.add(2).records = {record_of(TraceKind::compute, kSince1970 + 10, kSince1970 + 20)};
  input.fits[1].method = input.fits[2].method = "none";
  const TimelineAxis axis(input.traces, input.fits);
  EXPECT_EQ(axis.at(1, 75), 5);
  EXPECT_EQ(axis.at(2, kSince1970 + 10), 10) << "its records are at about the same time";
  EXPECT_THAT(axis.notes(), ElementsAre(HasSubstr("rank 1's clock is related to no other; "),
                                        HasSubstr("rank 2's clock is related to no other; ")));
  EXPECT_THAT(axis.notes()[0], HasSubstr("as if they began with those of rank 0"));
}

TEST(TimelineAxis, DoesNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  TimelineInput input;
  input.add(0).records = {record_of(TraceKind::compute, 0, kMost),
                          record_of(TraceKind::compute, kMost, kMost)};
  for (const double offset_ns : {1e300, -1e300, 9e18, -9e18}) {
    input.add(std::ssize(input.traces)).records = {record_of(TraceKind::compute, 0, kMost),
                                                   record_of(TraceKind::compute, kMost, kMost)};
    input.fits.back().offset_ns = offset_ns;
    input.fits.back().reference_ns = kMost;
    input.fits.back().drift = 0.5;
  }
  const TimelineAxis axis(input.traces, input.fits);
  for (std::size_t i = 0; i < input.traces.size(); ++i) {
    EXPECT_GE(axis.at(i, 0), 0);
    EXPECT_GE(axis.at(i, kMost), axis.at(i, 0));
  }
}

}  // namespace
}  // namespace hocket
