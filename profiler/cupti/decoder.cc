#include "profiler/cupti/decoder.h"

#include <cupti.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>

namespace hocket {
namespace {

constexpr std::uint64_t kMostNs = std::numeric_limits<std::int64_t>::max();

/// One record, and the bytes of the buffer from its begin to the end.
struct RawRecord {
  std::uint32_t kind = 0;
  std::span<const std::uint8_t> left;

  /// Copies the record, since records of a damaged buffer may be unaligned. Returns nothing if it
  /// is cut off.
  template <class Layout>
  std::optional<Layout> as() const {
    if (left.size() < sizeof(Layout)) return std::nullopt;
    Layout record;
    std::memcpy(&record, left.data(), sizeof record);
    return record;
  }
};

/// Returns the value of the enumeration at `offset` of `record` as a number: it may be none of the
/// enumerators.
template <class Layout>
std::uint32_t number_at(const Layout& record, std::size_t offset) {
  std::uint32_t number = 0;
  std::memcpy(&number, reinterpret_cast<const std::uint8_t*>(&record) + offset, sizeof number);
  return number;
}

/// Receives decoded records: keeps those with plausible times and counts the others.
class RecordSink {
 public:
  explicit RecordSink(DecodedBuffer& decoded) : decoded_(decoded) {}

  void keep(CuptiActivity activity, std::uint64_t begin_ns, std::uint64_t end_ns,
            std::uint64_t bytes = 0) {
    QuarantineCounts& quarantined = decoded_.quarantined;
    if (begin_ns == 0 || end_ns == 0) {
      ++quarantined.zero_times;
    } else if (begin_ns > kMostNs || end_ns > kMostNs || bytes > kMostNs) {
      ++quarantined.absurd_values;
    } else if (end_ns < begin_ns) {
      ++quarantined.reversed_times;
    } else {
      activity.begin_ns = static_cast<std::int64_t>(begin_ns);
      activity.end_ns = static_cast<std::int64_t>(end_ns);
      activity.bytes = static_cast<std::int64_t>(bytes);
      decoded_.activities.push_back(activity);
    }
  }
  /// Keeps a record that has no time of its own.
  void keep_timeless(const CuptiActivity& activity) { decoded_.activities.push_back(activity); }
  void ignore() { ++decoded_.ignored; }
  void truncated() { ++decoded_.quarantined.truncated; }

 private:
  DecodedBuffer& decoded_;
};

template <class Layout>
CuptiActivity on_stream(ActivityType type, const Layout& record) {
  CuptiActivity activity;
  activity.type = type;
  activity.device = record.deviceId;
  activity.context = record.contextId;
  activity.stream = record.streamId;
  activity.correlation = record.correlationId;
  return activity;
}

void take(const CUpti_ActivityKernel10& record, RecordSink& sink) {
  CuptiActivity activity = on_stream(ActivityType::kernel, record);
  activity.name = record.name;
  sink.keep(activity, record.start, record.end);
}

void take(const CUpti_ActivityMemcpy6& record, RecordSink& sink) {
  CuptiActivity activity = on_stream(ActivityType::copy, record);
  activity.code = record.copyKind;
  sink.keep(activity, record.start, record.end, record.bytes);
}

void take(const CUpti_ActivityMemcpyPtoP4& record, RecordSink& sink) {
  CuptiActivity activity = on_stream(ActivityType::copy, record);
  activity.code = record.copyKind;
  sink.keep(activity, record.start, record.end, record.bytes);
}

void take(const CUpti_ActivityMemset4& record, RecordSink& sink) {
  sink.keep(on_stream(ActivityType::fill, record), record.start, record.end, record.bytes);
}

void take(const CUpti_ActivityAPI& record, RecordSink& sink) {
  CuptiActivity activity;
  activity.type =
      number_at(record, offsetof(CUpti_ActivityAPI, kind)) == CUPTI_ACTIVITY_KIND_RUNTIME
          ? ActivityType::runtime_call
          : ActivityType::driver_call;
  activity.thread = record.threadId;
  activity.correlation = record.correlationId;
  activity.code = record.cbid;
  sink.keep(activity, record.start, record.end);
}

void take(const CUpti_ActivityOverhead3& record, RecordSink& sink) {
  CuptiActivity activity;
  activity.type = ActivityType::overhead;
  activity.code = number_at(record, offsetof(CUpti_ActivityOverhead3, overheadKind));
  activity.correlation = record.correlationId;
  if (number_at(record, offsetof(CUpti_ActivityOverhead3, objectKind)) ==
      CUPTI_ACTIVITY_OBJECT_THREAD) {
    activity.thread = record.objectId.pt.threadId;
  }
  sink.keep(activity, record.start, record.end);
}

void take(const CUpti_ActivityExternalCorrelation& record, RecordSink& sink) {
  // Other kinds belong to other tools.
  if (number_at(record, offsetof(CUpti_ActivityExternalCorrelation, externalKind)) !=
      CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
    return sink.ignore();
  }
  CuptiActivity activity;
  activity.type = ActivityType::correlation;
  activity.correlation = record.correlationId;
  activity.id = record.externalId;
  sink.keep_timeless(activity);
}

void take(const CUpti_ActivityMarker2& record, RecordSink& sink) {
  CuptiActivity activity;
  activity.id = record.id;
  if (number_at(record, offsetof(CUpti_ActivityMarker2, objectKind)) ==
      CUPTI_ACTIVITY_OBJECT_THREAD) {
    activity.thread = record.objectId.pt.threadId;
  }
  const std::uint32_t flags = number_at(record, offsetof(CUpti_ActivityMarker2, flags));
  if (flags & CUPTI_ACTIVITY_FLAG_MARKER_START) {
    activity.type = ActivityType::range_begin;
    activity.name = record.name;
  } else if (flags & CUPTI_ACTIVITY_FLAG_MARKER_END) {
    activity.type = ActivityType::range_end;
  } else {
    // Instants and synchronisation objects are not ranges.
    return sink.ignore();
  }
  sink.keep(activity, record.timestamp, record.timestamp);
}

void take(const CUpti_ActivitySynchronization2& record, RecordSink& sink) {
  CuptiActivity activity;
  activity.type = ActivityType::synchronization;
  activity.code = number_at(record, offsetof(CUpti_ActivitySynchronization2, type));
  activity.correlation = record.correlationId;
  activity.context = record.contextId;
  activity.stream = record.streamId;
  activity.id = record.cudaEventSyncId;
  sink.keep(activity, record.start, record.end);
}

void take(const CUpti_ActivityCudaEvent2& record, RecordSink& sink) {
  CuptiActivity activity = on_stream(ActivityType::event, record);
  activity.id = record.cudaEventSyncId;
  sink.keep_timeless(activity);
}

template <class Layout>
std::size_t take_as(const RawRecord& raw, RecordSink& sink) {
  const auto record = raw.as<Layout>();
  if (!record) {
    sink.truncated();
    return raw.left.size();
  }
  take(*record, sink);
  return sizeof(Layout);
}

/// Decodes a record and returns its minimum length: a later CUPTI may add to its end.
std::size_t take_record(const RawRecord& raw, RecordSink& sink) {
  switch (raw.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return take_as<CUpti_ActivityKernel10>(raw, sink);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return take_as<CUpti_ActivityMemcpy6>(raw, sink);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return take_as<CUpti_ActivityMemcpyPtoP4>(raw, sink);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return take_as<CUpti_ActivityMemset4>(raw, sink);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return take_as<CUpti_ActivityAPI>(raw, sink);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return take_as<CUpti_ActivityOverhead3>(raw, sink);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return take_as<CUpti_ActivityExternalCorrelation>(raw, sink);
    case CUPTI_ACTIVITY_KIND_MARKER:
      return take_as<CUpti_ActivityMarker2>(raw, sink);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return take_as<CUpti_ActivitySynchronization2>(raw, sink);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return take_as<CUpti_ActivityCudaEvent2>(raw, sink);
    default:
      sink.ignore();
      return 0;
  }
}

}  // namespace

DecodedBuffer decode_buffer(const CuptiApi& api, std::span<const std::uint8_t> bytes) {
  DecodedBuffer decoded;
  if (bytes.empty()) return decoded;
  RecordSink sink(decoded);
  const std::uint8_t* record = nullptr;
  // Records of a later version may be longer than here.
  const bool knows_lengths = api.version() / 100 == CUPTI_API_VERSION / 100;
  // The end of the bytes read so far; nothing after a record of unknown length.
  std::optional<std::size_t> read = 0;
  std::size_t last = 0;
  for (bool is_first = true;; is_first = false) {
    if (read && bytes.size() - *read < sizeof RawRecord::kind) {
      // CUPTI would look for a kind beyond the buffer's end.
      if (knows_lengths && *read < bytes.size()) sink.truncated();
      return decoded;
    }
    const int status = api.next_record(bytes, record);
    if (status == CUPTI_ERROR_MAX_LIMIT_REACHED) {
      if (knows_lengths && read) sink.truncated();
      return decoded;
    }
    const std::size_t at =
        record == nullptr ? bytes.size() : static_cast<std::size_t>(record - bytes.data());
    // Records must advance within the buffer, or a damaged buffer would loop the worker forever.
    if (status != CUPTI_SUCCESS || at >= bytes.size() || (!is_first && at <= last)) {
      ++decoded.quarantined.unknown_kinds;
      return decoded;
    }
    RawRecord raw{0, bytes.subspan(at)};
    if (raw.left.size() < sizeof raw.kind) {
      sink.truncated();
      return decoded;
    }
    std::memcpy(&raw.kind, raw.left.data(), sizeof raw.kind);
    const std::size_t length = take_record(raw, sink);
    read = length == 0 ? std::nullopt : std::optional(at + length);
    last = at;
  }
}

}  // namespace hocket
