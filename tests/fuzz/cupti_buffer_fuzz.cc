// The first byte selects whether CUPTI is of a later version and whether its clock is set
// meanwhile; the second is a buffer's size, in units of 64 bytes; the rest is the content of
// CUPTI's buffers. For any content, each record is kept, ignored or counted, and the kept records
// make a plausible trace.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "profiler/cupti/decoder.h"
#include "profiler/cupti/timeline.h"
#include "tests/profiler/cupti/fake_cupti.h"

namespace {

using hocket::CuptiActivity;
using hocket::DecodedBuffer;

/// Returns the number of records that CUPTI finds.
std::int64_t walk(const hocket::CuptiApi& cupti, std::span<const std::uint8_t> bytes) {
  const std::uint8_t* record = nullptr;
  std::int64_t records = 0;
  while (!bytes.empty() && cupti.next_record(bytes, record) == 0) ++records;
  return records;
}

DecodedBuffer decode(const hocket::CuptiApi& cupti, std::span<const std::uint8_t> bytes) {
  DecodedBuffer decoded = decode_buffer(cupti, bytes);
  const std::int64_t stopped = decoded.quarantined.unknown_kinds + decoded.quarantined.truncated;
  HOCKET_CHECK(stopped <= 1 && decoded.records() == walk(cupti, bytes) + stopped,
               "every record is accounted for");
  for (CuptiActivity& activity : decoded.activities) {
    HOCKET_CHECK(
        activity.begin_ns >= 0 && activity.begin_ns <= activity.end_ns && activity.bytes >= 0,
        "what is kept can be true");
    // Pointers in bytes that CUPTI did not write are invalid.
    activity.name = activity.id % 2 ? "_Z4gemmPf" : "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
  }
  return decoded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const hocket::SteadyClock clock;
  hocket::FakeCupti cupti(clock);
  if (data[0] & 1) cupti.library_version += 100;
  hocket::ClockMap map;
  map.add({1'000, 1'000, 0});
  map.add({2'000'000, 1'999'900, 10});
  if (data[0] & 2) map.add({5'000'000'000, 4'000'000, 10});
  hocket::TimelineSpan span;
  span.first_step = data[0];
  span.steps = 1 + data[1] % 3;
  span.end_cupti_ns = 10'000'000'000;
  if (data[0] & 4) span.host_starts = {{span.first_step, 1'500}, {span.first_step + 1, 900'000}};

  hocket::CuptiTimeline timeline(64);
  std::span<const std::uint8_t> left(data + 2, size - 2);
  const std::size_t each = 64 + 64 * std::size_t{data[1]};
  std::int64_t quarantined = 0, records = 0;
  while (!left.empty()) {
    const DecodedBuffer decoded = decode(cupti, left.first(std::min(each, left.size())));
    quarantined += decoded.quarantined.total();
    records += decoded.records();
    timeline.add(decoded, cupti);
    left = left.subspan(std::min(each, left.size()));
  }
  const hocket::CuptiTrace made = timeline.finish(map, span);
  HOCKET_CHECK(
      made.quarantined.total() >= quarantined && made.trace.quarantined == made.quarantined.total(),
      "what is left out is counted in the trace");
  HOCKET_CHECK(std::ssize(made.trace.records) + made.left_out + made.trace.dropped <= records,
               "there are no more records than CUPTI's");
  HOCKET_CHECK(std::ranges::all_of(made.trace.records, hocket::is_plausible), "records are true");
  for (const hocket::TraceRecord& record : made.trace.records)
    HOCKET_CHECK(record.name < made.trace.names.size(), "records have names");
  HOCKET_CHECK(std::ranges::is_sorted(made.trace.records, {}, &hocket::TraceRecord::begin_ns),
               "records are in order");
  return 0;
}
