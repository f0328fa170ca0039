#include "profiler/cupti/device_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace hocket {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TraceRecord record_of(TraceKind kind, std::uint32_t name, std::int64_t begin_ns,
                      std::int64_t end_ns, std::int64_t step, std::int64_t task) {
  TraceRecord record;
  record.kind = kind;
  record.name = name;
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  record.step = step;
  record.task = task;
  return record;
}

/// A profile with a task on stream 1, a collective of two parts, and a range.
ProfileResult host_profile() {
  ProfileResult host;
  RankTrace& trace = host.trace;
  trace.source = "host";
  trace.names = {"gemm", "sum", "load"};
  trace.records = {record_of(TraceKind::range, 2, 50, 300, kNoStep, kNoTask),
                   record_of(TraceKind::compute, 0, 100, 200, 4, 0),
                   record_of(TraceKind::communication, 1, 210, 250, 4, 1),
                   record_of(TraceKind::communication, 1, 250, 290, 4, 1)};
  trace.records[1].lane = 1;
  trace.records[1].ready_ns = 90;
  trace.records[2].bytes = trace.records[3].bytes = 64;
  trace.records[2].sequence = 7;
  trace.records[3].sequence = 8;
  trace.step_starts = {{4, 95}, {5, 300}};
  trace.dropped = 1;
  return host;
}

CuptiProfile device_profile(std::vector<TraceRecord> records) {
  CuptiProfile device;
  device.trace.source = "cupti";
  device.trace.names = {"load", "sgemm", "ncclDevKernel_AllReduce"};
  device.trace.records = std::move(records);
  device.device_records = std::ssize(device.trace.records);
  for (const TraceRecord& record : device.trace.records) device.marked += record.step != kNoStep;
  return device;
}

std::vector<TraceRecord> named(const RankTrace& trace, std::string_view name) {
  std::vector<TraceRecord> found;
  for (const TraceRecord& record : trace.records) {
    if (trace.names.at(record.name) == name) found.push_back(record);
  }
  return found;
}

TEST(DeviceRecords, PutsAllKernelsOfATaskInItsPlace) {
  ProfileResult host = host_profile();
  add_device_records(device_profile({record_of(TraceKind::compute, 1, 110, 140, 4, 0),
                                     record_of(TraceKind::copy, 1, 150, 190, 4, 0)}),
                     host);
  EXPECT_THAT(named(host.trace, "gemm"), IsEmpty());
  const auto kernels = named(host.trace, "sgemm");
  ASSERT_THAT(kernels, SizeIs(2));
  for (const TraceRecord& kernel : kernels) EXPECT_EQ(kernel.ready_ns, 90);
  EXPECT_THAT(named(host.trace, "sum"), SizeIs(2));
  EXPECT_THAT(named(host.trace, "load"), SizeIs(1));
  EXPECT_EQ(host.trace.source, "cupti");
}

TEST(DeviceRecords, KeepsATaskOfWhichNothingRanOnALaneOfItsOwn) {
  ProfileResult host = host_profile();
  TraceRecord other = record_of(TraceKind::compute, 1, 110, 140, 4, 5);
  other.lane = 2;
  add_device_records(device_profile({other}), host);
  ASSERT_THAT(named(host.trace, "gemm"), SizeIs(1));
  EXPECT_EQ(named(host.trace, "gemm")[0].lane, 3 + 1);
}

TEST(DeviceRecords, DropsTheHostsComputationWhereNoTaskIsKnown) {
  ProfileResult host = host_profile();
  add_device_records(device_profile({record_of(TraceKind::compute, 1, 110, 140, kNoStep, kNoTask)}),
                     host);
  EXPECT_THAT(named(host.trace, "gemm"), IsEmpty());
  EXPECT_THAT(named(host.trace, "sum"), SizeIs(2));
}

TEST(DeviceRecords, GivesPartsTheTimesOfTheirKernels) {
  ProfileResult host = host_profile();
  add_device_records(device_profile({record_of(TraceKind::communication, 2, 212, 248, 4, 1),
                                     record_of(TraceKind::communication, 2, 252, 288, 4, 1)}),
                     host);
  const auto parts = named(host.trace, "sum");
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_EQ(parts[0].begin_ns, 212);
  EXPECT_EQ(parts[0].sequence, 7);
  EXPECT_EQ(parts[1].end_ns, 288);
  EXPECT_EQ(parts[1].bytes, 64);
  EXPECT_THAT(named(host.trace, "ncclDevKernel_AllReduce"), IsEmpty());
}

TEST(DeviceRecords, KeepsTheHostsPartsWhereKernelsAreNotOneForEach) {
  ProfileResult host = host_profile();
  add_device_records(device_profile({record_of(TraceKind::communication, 2, 212, 288, 4, 1)}),
                     host);
  const auto parts = named(host.trace, "sum");
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_EQ(parts[0].begin_ns, 210);
  EXPECT_THAT(named(host.trace, "ncclDevKernel_AllReduce"), IsEmpty());
}

TEST(DeviceRecords, TakesKernelsForCommunicationWhereTheHostHasNone) {
  ProfileResult host = host_profile();
  host.trace.records.resize(2);
  add_device_records(
      device_profile({record_of(TraceKind::communication, 2, 212, 288, kNoStep, kNoTask)}), host);
  EXPECT_THAT(named(host.trace, "ncclDevKernel_AllReduce"), SizeIs(1));
  EXPECT_THAT(named(host.trace, "gemm"), SizeIs(1)) << "nothing else ran on the device";
}

TEST(DeviceRecords, PutsThreadsBehindTheHosts) {
  ProfileResult host = host_profile();
  add_device_records(device_profile({record_of(TraceKind::call, 1, 60, 61, 4, 0),
                                     record_of(TraceKind::range, 0, 60, 70, kNoStep, kNoTask)}),
                     host);
  const auto ranges = named(host.trace, "load");
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(ranges[0].lane, 0);
  EXPECT_EQ(ranges[1].lane, 1);
  EXPECT_EQ(named(host.trace, "sgemm").at(0).lane, 1);
}

TEST(DeviceRecords, TakesTheDevicesStepsIfItHasAny) {
  ProfileResult host = host_profile();
  const auto record = record_of(TraceKind::compute, 1, 110, 140, 4, 0);
  add_device_records(device_profile({record}), host);
  EXPECT_THAT(host.trace.step_starts, ElementsAre(StepStart{4, 95}, StepStart{5, 300}));
  CuptiProfile device = device_profile({record});
  device.trace.step_starts = {{4, 110}, {5, 310}};
  add_device_records(std::move(device), host);
  EXPECT_THAT(host.trace.step_starts, ElementsAre(StepStart{4, 110}, StepStart{5, 310}));
}

TEST(DeviceRecords, KeepsTheHostsStepsWhereRecordsWereDropped) {
  ProfileResult host = host_profile();
  CuptiProfile device = device_profile({record_of(TraceKind::compute, 1, 110, 140, 4, 0)});
  device.trace.step_starts = {{4, 110}, {5, 310}};
  device.trace.dropped = 1;
  add_device_records(std::move(device), host);
  EXPECT_THAT(host.trace.step_starts, ElementsAre(StepStart{4, 95}, StepStart{5, 300}));
}

TEST(DeviceRecords, AddsCountsAndNotesWithoutRecordsToo) {
  ProfileResult host = host_profile();
  const RankTrace before = host.trace;
  CuptiProfile device = device_profile({});
  device.trace.rank = 3;
  device.trace.dropped = 5;
  device.trace.quarantined = 2;
  device.quarantined.reversed_times = 1;
  device.quarantined.outside = 1;
  device.refused_buffers = 1;
  device.missing_buffers = 2;
  device.late_buffers = 1;
  device.clock_jumps = 1;
  device.warning = "its clock: broken";
  add_device_records(std::move(device), host);
  EXPECT_EQ(host.trace.dropped, 6);
  EXPECT_EQ(host.trace.quarantined, 2);
  EXPECT_EQ(host.trace.records, before.records);
  EXPECT_EQ(host.trace.source, "host");
  EXPECT_THAT(host.notes,
              ElementsAre("CUPTI, rank 3: its clock: broken",
                          "CUPTI, rank 3: 5 records dropped, 1 buffer refused at the cap",
                          HasSubstr("2 records left out: 1 that end before they begin, 1 from"),
                          HasSubstr("2 buffers not given back"), HasSubstr("1 buffer came after"),
                          HasSubstr("set 1 time")));
}

TEST(DeviceRecords, AddsNothingToAProfileWithoutWindows) {
  ProfileResult host = host_profile();
  host.trace.step_starts.clear();
  const RankTrace before = host.trace;
  add_device_records(device_profile({record_of(TraceKind::compute, 1, 110, 140, 4, 0)}), host);
  EXPECT_EQ(host.trace, before);
}

TEST(DeviceRecords, NotesRecordsOfNoTask) {
  const CuptiProfile device = device_profile({record_of(TraceKind::compute, 1, 1, 2, 4, 0),
                                              record_of(TraceKind::compute, 1, 2, 3, -1, -1)});
  EXPECT_THAT(notes_of(device), Contains(HasSubstr("1 of 2 records of the device are of no task")));
  EXPECT_THAT(notes_of(device_profile({record_of(TraceKind::compute, 1, 1, 2, 4, 0)})), IsEmpty());
}

TEST(DeviceRecords, LosesNoWorkOfTheDeviceAndNamesItRight) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ProfileResult host = host_profile();
    std::vector<TraceRecord> records;
    std::multiset<std::pair<std::int64_t, std::string>> expected;
    const std::string names[] = {"load", "sgemm", "ncclDevKernel_AllReduce"};
    for (std::uint64_t i = random() % 20; i > 0; --i) {
      const auto begin_ns = static_cast<std::int64_t>(random() % 1'000);
      const auto name = static_cast<std::uint32_t>(random() % 3);
      const auto kind = static_cast<TraceKind>(random() % 5);
      const bool has_task = random() % 2;
      records.push_back(record_of(kind, name, begin_ns, begin_ns + 5, has_task ? 4 : kNoStep,
                                  has_task ? static_cast<std::int64_t>(random() % 3) : kNoTask));
      if (kind != TraceKind::communication) expected.emplace(begin_ns, names[name]);
    }
    add_device_records(device_profile(records), host);
    std::multiset<std::pair<std::int64_t, std::string>> found;
    for (const TraceRecord& record : host.trace.records)
      found.emplace(record.begin_ns, host.trace.names.at(record.name));
    EXPECT_TRUE(std::ranges::includes(found, expected));
    EXPECT_TRUE(std::ranges::is_sorted(host.trace.records, {}, &TraceRecord::begin_ns));
  }
}

}  // namespace
}  // namespace hocket
