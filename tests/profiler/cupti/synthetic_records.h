#pragma once

// Builds records in CUPTI's own layouts, and buffers of them. Pure.

#include <cupti.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace hocket {

using RecordBytes = std::vector<std::uint8_t>;

template <class Layout>
RecordBytes bytes_of(const Layout& record) {
  RecordBytes bytes(sizeof record);
  std::memcpy(bytes.data(), &record, sizeof record);
  return bytes;
}

/// The time and place of some work.
struct Launched {
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint32_t stream = 7, correlation = 0;
};

inline RecordBytes kernel_record(const char* name, Launched at) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.start = at.begin_ns;
  record.end = at.end_ns;
  record.contextId = 1;
  record.streamId = at.stream;
  record.correlationId = at.correlation;
  return bytes_of(record);
}

inline RecordBytes copy_record(CUpti_ActivityMemcpyKind kind, std::uint64_t bytes, Launched at) {
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = static_cast<std::uint8_t>(kind);
  record.bytes = bytes;
  record.start = at.begin_ns;
  record.end = at.end_ns;
  record.contextId = 1;
  record.streamId = at.stream;
  record.correlationId = at.correlation;
  return bytes_of(record);
}

inline RecordBytes peer_copy_record(std::uint64_t bytes, Launched at) {
  CUpti_ActivityMemcpyPtoP4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  record.bytes = bytes;
  record.start = at.begin_ns;
  record.end = at.end_ns;
  record.streamId = at.stream;
  record.correlationId = at.correlation;
  return bytes_of(record);
}

inline RecordBytes fill_record(std::uint64_t bytes, Launched at) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.bytes = bytes;
  record.start = at.begin_ns;
  record.end = at.end_ns;
  record.contextId = 1;
  record.streamId = at.stream;
  record.correlationId = at.correlation;
  return bytes_of(record);
}

/// Returns the record of a runtime or driver call.
inline RecordBytes call_record(CUpti_ActivityKind kind, std::uint32_t function,
                               std::uint32_t thread, Launched at) {
  CUpti_ActivityAPI record{};
  record.kind = kind;
  record.cbid = function;
  record.threadId = thread;
  record.start = at.begin_ns;
  record.end = at.end_ns;
  record.correlationId = at.correlation;
  return bytes_of(record);
}

inline RecordBytes correlation_record(
    std::uint32_t correlation, std::uint64_t id,
    CUpti_ExternalCorrelationKind kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
  CUpti_ActivityExternalCorrelation record{};
  record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  record.externalKind = kind;
  record.externalId = id;
  record.correlationId = correlation;
  return bytes_of(record);
}

inline RecordBytes marker_record(CUpti_ActivityFlag flag, std::uint32_t id, const char* name,
                                 std::uint64_t at_ns, std::uint32_t thread = 11) {
  CUpti_ActivityMarker2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = flag;
  record.id = id;
  record.name = name;
  record.timestamp = at_ns;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.threadId = thread;
  return bytes_of(record);
}

inline RecordBytes overhead_record(CUpti_ActivityOverheadKind kind, Launched at,
                                   std::uint32_t thread = 0) {
  CUpti_ActivityOverhead3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = kind;
  record.objectKind = thread == 0 ? CUPTI_ACTIVITY_OBJECT_PROCESS : CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.threadId = thread;
  record.start = at.begin_ns;
  record.end = at.end_ns;
  return bytes_of(record);
}

inline RecordBytes wait_record(CUpti_ActivitySynchronizationType type, std::uint64_t event,
                               Launched at) {
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = type;
  record.cudaEventSyncId = event;
  record.streamId = at.stream;
  record.start = at.begin_ns;
  record.end = at.end_ns;
  record.correlationId = at.correlation;
  return bytes_of(record);
}

inline RecordBytes event_record(std::uint64_t event, std::uint32_t stream) {
  CUpti_ActivityCudaEvent2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  record.cudaEventSyncId = event;
  record.streamId = stream;
  return bytes_of(record);
}

/// Returns a record of a kind that the profiler ignores.
inline RecordBytes stream_record() {
  CUpti_ActivityStream record{};
  record.kind = CUPTI_ACTIVITY_KIND_STREAM;
  return bytes_of(record);
}

inline void append(RecordBytes& buffer, const RecordBytes& record) {
  buffer.insert(buffer.end(), record.begin(), record.end());
}

/// Returns the length of CUPTI's record of `kind`; nothing for a kind without records here.
inline std::optional<std::size_t> record_length(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_MARKER:
      return sizeof(CUpti_ActivityMarker2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return sizeof(CUpti_ActivityStream);
    default:
      return std::nullopt;
  }
}

/// Returns the kind stored in `record`.
inline std::uint32_t kind_of(const RecordBytes& record) {
  std::uint32_t kind = 0;
  std::memcpy(&kind, record.data(), sizeof kind);
  return kind;
}

/// Returns one of the above records, random but with begin before end.
inline RecordBytes random_record(std::mt19937_64& random) {
  static const char* const names[] = {"_Z4gemmPfS_", "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                      nullptr, "softmax"};
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const std::uint64_t begin_ns = 1 + below(1'000'000);
  const Launched at{begin_ns, begin_ns + below(1'000), static_cast<std::uint32_t>(below(4)),
                    static_cast<std::uint32_t>(below(50))};
  const char* const name = names[below(4)];
  const auto id = static_cast<std::uint32_t>(below(20));
  switch (below(12)) {
    case 0:
      return copy_record(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, below(1 << 20), at);
    case 1:
      return peer_copy_record(below(1 << 20), at);
    case 2:
      return fill_record(below(1 << 20), at);
    case 3:
      return call_record(CUPTI_ACTIVITY_KIND_RUNTIME, id, 1 + id % 3, at);
    case 4:
      return call_record(CUPTI_ACTIVITY_KIND_DRIVER, id, 1 + id % 3, at);
    case 5:
      return correlation_record(at.correlation, below(1 << 30));
    case 6:
      return marker_record(CUPTI_ACTIVITY_FLAG_MARKER_START, id, name, begin_ns);
    case 7:
      return marker_record(CUPTI_ACTIVITY_FLAG_MARKER_END, id, nullptr, begin_ns);
    case 8:
      return overhead_record(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, at, id % 3);
    case 9:
      return wait_record(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, id, at);
    case 10:
      return event_record(id, at.stream);
    default:
      return kernel_record(name, at);
  }
}

}  // namespace hocket
