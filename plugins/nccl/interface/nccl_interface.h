#pragma once

// Declarations of NCCL's tuner and profiler plugin interfaces: what NCCL passes to a plugin's
// tables and what the tables look like. Layouts are fixed by NCCL; the assertions below hold them.
// Only C types, no functions with a body. Any thread.
//
// A tuner's table is named ncclTunerPlugin_vN, a profiler's ncclProfiler_vN.

#include <cstddef>
#include <cstdint>

namespace hocket::nccl::abi {

/// Result codes that a plugin may return. NCCL fails the collective on any other than success.
inline constexpr int kSuccess = 0;
inline constexpr int kSystemError = 2;
inline constexpr int kInternalError = 3;

/// NCCL's numbers of functions, algorithms and protocols.
inline constexpr int kBroadcast = 0, kReduce = 1, kAllGather = 2, kReduceScatter = 3,
                     kAllReduce = 4, kFunctions = 5;
inline constexpr int kTree = 0, kRing = 1, kCollNetDirect = 2, kCollNetChain = 3, kNvls = 4,
                     kNvlsTree = 5, kPat = 6, kAlgorithms = 7;
inline constexpr int kLl = 0, kLl128 = 1, kSimple = 2, kProtocols = 3;

/// NCCL's printf-like logger. `subsystems` is a set of bits, kAllSubsystems always prints.
using Logger = void (*)(int level, unsigned long subsystems, const char* file, int line,
                        const char* format, ...);
inline constexpr int kLogWarning = 2;
inline constexpr int kLogInfo = 3;
inline constexpr unsigned long kAllSubsystems = ~0UL;

/// Three integers about the NVLink domains of the communicator. Passed on, never read here.
struct NvLinkInfo {
  int values[3];
};

/// Constants of NCCL's cost model, which a tuner may change. Passed on, never read here.
struct TunerConstants {
  alignas(8) unsigned char bytes[1152];
};

/// `cost_table` is a `float[algorithms][protocols]` in disguise: predicted microseconds, −1 where
/// the combination is not allowed. `channels` arrives as 0, which means NCCL's default.
using GetCollInfo = int (*)(void* context, int function, std::size_t bytes, int operations,
                            float** cost_table, int algorithms, int protocols, int is_registered,
                            int* channels);

using GetChunkSize = int (*)(void* context, int function, std::size_t bytes, int algorithm,
                             int protocol, int channels, std::size_t* chunk_bytes);

struct TunerV4 {
  const char* name;
  int (*init)(std::size_t ranks, std::size_t nodes, Logger logger, void** context);
  GetCollInfo get_coll_info;
  int (*destroy)(void* context);
};

struct TunerV5 {
  const char* name;
  int (*init)(void** context, std::uint64_t comm_id, std::size_t ranks, std::size_t nodes,
              Logger logger, NvLinkInfo* nv_link, TunerConstants* constants);
  GetCollInfo get_coll_info;
  int (*finalize)(void* context);
};

struct TunerV6 {
  const char* name;
  int (*init)(void** context, std::uint64_t comm_id, std::size_t ranks, std::size_t nodes,
              Logger logger, NvLinkInfo* nv_link, TunerConstants* constants);
  GetCollInfo get_coll_info;
  int (*finalize)(void* context);
  GetChunkSize get_chunk_size;  // may be null
};

/// Types of events, as bits of the mask that a profiler sets and as an event's type.
enum EventType : int {
  kGroupEvent = 1,
  kCollectiveEvent = 2,
  kPointToPointEvent = 4,
  kProxyOperationEvent = 8,
  kProxyStepEvent = 16,
  kProxyControlEvent = 32,
  kKernelChannelEvent = 64,
  kNetPluginEvent = 128,
  kGroupApiEvent = 256,
  kCollectiveApiEvent = 512,
  kPointToPointApiEvent = 1024,
  kKernelLaunchEvent = 2048,
  // Since version 6, of copy engines:
  kCopyEngineCollectiveEvent = 4096,
  kCopyEngineSynchronizationEvent = 8192,
  kCopyEngineBatchEvent = 16384,
};

/// State of a kernel channel event whose argument is the time when the channel stopped.
inline constexpr int kKernelChannelStop = 22;

struct CollectiveFieldsV4 {
  std::uint64_t sequence_number;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct CollectiveFieldsV5 {
  std::uint64_t sequence_number;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* parent_group;
};

/// Only the part of a point-to-point event that has to be adapted between versions.
struct PointToPointFieldsV5 {
  unsigned char before[40];
  void* parent_group;
};

struct KernelChannelFields {
  std::uint8_t channel;
  std::uint64_t start_ns;  // by the GPU's global timer
};

/// Only the end: in the descriptor, a collective of copy engines has no more room than another one.
struct CopyEngineCollectiveFieldsV6 {
  unsigned char before[80];
  void* stream;
};

struct EventDescriptorV4 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    CollectiveFieldsV4 collective;
    KernelChannelFields kernel_channel;
    unsigned char bytes[80];
  };
};

struct EventDescriptorV5 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    CollectiveFieldsV5 collective;
    PointToPointFieldsV5 point_to_point;
    KernelChannelFields kernel_channel;
    unsigned char bytes[88];
  };
};

/// Version 6 has further kinds of events, in the same form.
using EventDescriptorV6 = EventDescriptorV5;

union EventStateArguments {
  std::uint64_t kernel_channel_stop_ns;  // by the GPU's global timer
  void* pointer;
};

struct ProfilerV4 {
  const char* name;
  int (*init)(void** context, int* event_mask, const char* comm_name, std::uint64_t comm_id,
              int nodes, int ranks, int rank, Logger logger);
  int (*start_event)(void* context, void** handle, EventDescriptorV4* descriptor);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, EventStateArguments* arguments);
  int (*finalize)(void* context);
};

struct ProfilerV5 {
  const char* name;
  int (*init)(void** context, std::uint64_t comm_id, int* event_mask, const char* comm_name,
              int nodes, int ranks, int rank, Logger logger);
  int (*start_event)(void* context, void** handle, EventDescriptorV5* descriptor);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, EventStateArguments* arguments);
  int (*finalize)(void* context);
};

using ProfilerV6 = ProfilerV5;

static_assert(sizeof(void*) == 8 && sizeof(float) == 4 && sizeof(int) == 4);
static_assert(sizeof(NvLinkInfo) == 12 && sizeof(TunerConstants) == 1152);

static_assert(sizeof(TunerV4) == 32 && sizeof(TunerV5) == 32 && sizeof(TunerV6) == 40);
static_assert(offsetof(TunerV4, init) == 8 && offsetof(TunerV4, get_coll_info) == 16);
static_assert(offsetof(TunerV4, destroy) == 24);
static_assert(offsetof(TunerV5, init) == 8 && offsetof(TunerV5, get_coll_info) == 16);
static_assert(offsetof(TunerV5, finalize) == 24);
static_assert(offsetof(TunerV6, init) == 8 && offsetof(TunerV6, get_coll_info) == 16);
static_assert(offsetof(TunerV6, finalize) == 24 && offsetof(TunerV6, get_chunk_size) == 32);

static_assert(sizeof(ProfilerV4) == 48 && sizeof(ProfilerV5) == 48);
static_assert(offsetof(ProfilerV4, start_event) == 16 && offsetof(ProfilerV4, finalize) == 40);
static_assert(offsetof(ProfilerV5, start_event) == 16 && offsetof(ProfilerV5, finalize) == 40);
static_assert(offsetof(ProfilerV5, stop_event) == 24);
static_assert(offsetof(ProfilerV5, record_event_state) == 32);

static_assert(sizeof(EventDescriptorV4) == 104 && sizeof(EventDescriptorV5) == 112);
static_assert(offsetof(EventDescriptorV5, parent) == 8 && offsetof(EventDescriptorV5, rank) == 16);
static_assert(offsetof(EventDescriptorV5, collective) == 24);
static_assert(offsetof(EventDescriptorV4, parent) == 8 && offsetof(EventDescriptorV4, rank) == 16);
static_assert(offsetof(EventDescriptorV4, collective) == 24);
static_assert(24 + sizeof(CopyEngineCollectiveFieldsV6) == sizeof(EventDescriptorV6));
static_assert(sizeof(CollectiveFieldsV4) == 80 && sizeof(CollectiveFieldsV5) == 88);
// Offsets in the descriptor, which begins 24 bytes before the fields.
static_assert(24 + offsetof(CollectiveFieldsV5, sequence_number) == 24);
static_assert(24 + offsetof(CollectiveFieldsV5, function) == 32);
static_assert(24 + offsetof(CollectiveFieldsV5, send_buffer) == 40);
static_assert(24 + offsetof(CollectiveFieldsV5, receive_buffer) == 48);
static_assert(24 + offsetof(CollectiveFieldsV5, count) == 56);
static_assert(24 + offsetof(CollectiveFieldsV5, root) == 64);
static_assert(24 + offsetof(CollectiveFieldsV5, datatype) == 72);
static_assert(24 + offsetof(CollectiveFieldsV5, channels) == 80);
static_assert(24 + offsetof(CollectiveFieldsV5, warps) == 81);
static_assert(24 + offsetof(CollectiveFieldsV5, algorithm) == 88);
static_assert(24 + offsetof(CollectiveFieldsV5, protocol) == 96);
static_assert(24 + offsetof(CollectiveFieldsV5, parent_group) == 104);
static_assert(offsetof(CollectiveFieldsV4, count) == offsetof(CollectiveFieldsV5, count));
static_assert(offsetof(CollectiveFieldsV4, datatype) == offsetof(CollectiveFieldsV5, datatype));
static_assert(offsetof(CollectiveFieldsV4, channels) == offsetof(CollectiveFieldsV5, channels));
static_assert(offsetof(CollectiveFieldsV4, protocol) == offsetof(CollectiveFieldsV5, protocol));
static_assert(offsetof(KernelChannelFields, channel) == 0);
static_assert(24 + offsetof(KernelChannelFields, start_ns) == 32);
static_assert(24 + offsetof(PointToPointFieldsV5, parent_group) == 64);
static_assert(sizeof(EventStateArguments) == 8);

}  // namespace hocket::nccl::abi
