#pragma once

// CUPTI as the profiler sees it: the calls that it makes, and the buffers that CUPTI asks for. The
// real one is load_cupti() (profiler/cupti/cupti_library.h), which finds the library at run time,
// so that a program starts without it; tests have one that is an object, and one that fails.
//
// A status is CUPTI's own number, 0 for success; describe_status() (profiler/cupti/probe.h) says
// what it means. All calls are thread-safe, but subscribe() and unsubscribe(), which are for one
// thread at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace hocket {

/// Where CUPTI's records go. CUPTI calls from any of its threads and may hold locks of its own:
/// neither function may call CUPTI or take long.
class ActivityBuffers {
 public:
  virtual ~ActivityBuffers() = default;

  /// An empty buffer, zeroed, which is CUPTI's until complete() names it; empty for none, upon
  /// which CUPTI drops records and counts them.
  virtual std::span<std::uint8_t> request() = 0;
  /// CUPTI is done with the buffer at `buffer`, of which the first `valid_bytes` are records. False
  /// when it is not a buffer of this object that CUPTI holds.
  virtual bool complete(std::uint8_t* buffer, std::size_t valid_bytes) = 0;
  /// Buffers that CUPTI has.
  virtual std::size_t held() const = 0;
};

enum class ApiDomain : std::uint8_t { runtime, driver };

class CuptiApi {
 public:
  virtual ~CuptiApi() = default;

  /// CUPTI_API_VERSION of the library: 130001 for CUDA 13.0 Update 1, below 1000 before CUDA 13.
  virtual std::uint32_t version() const = 0;
  /// What the driver supports, as 1000 · major + 10 · minor of CUDA; 0: there is no driver.
  virtual int driver_version() const = 0;
  virtual std::string status_name(int status) const = 0;

  /// Takes the only subscription. When another tool has it, `holder` becomes its name if CUPTI
  /// tells one.
  virtual int subscribe(std::string& holder) = 0;
  virtual int unsubscribe() = 0;
  /// In place of unsubscribe(): CUPTI leaves the process with the end of its next call of the CUDA
  /// runtime, which is the only place where that is allowed. subscribe() before that takes it back.
  virtual int detach() = 0;

  /// Where buffers come from until the next call, unsubscribe() or detach(). It is kept for as long
  /// as CUPTI holds any of its buffers.
  virtual int register_buffers(std::shared_ptr<ActivityBuffers> buffers) = 0;
  /// That request() gives buffers which are zero already, so that CUPTI need not clear them on the
  /// job's threads.
  virtual int promise_zeroed_buffers() = 0;
  /// That threads write into one buffer, so that those which come and go take none each: NCCL
  /// starts one for a collective. Before register_buffers().
  virtual int share_buffers() = 0;
  /// `kind` is a CUpti_ActivityKind.
  virtual int enable(std::uint32_t kind) = 0;
  virtual int disable(std::uint32_t kind) = 0;
  /// No more records of the call `id`, until the kind of such calls is enabled again.
  virtual int leave_out(ApiDomain domain, std::uint32_t id) = 0;
  /// No more records of asking whether the device is done while it is not, of whatever kind.
  virtual int leave_out_vain_queries() = 0;
  /// Makes CUPTI complete its buffers: those whose records are all whole, or `forced` every one.
  virtual int flush(bool forced) = 0;
  /// Records lost since the last call. Never under a lock that complete() takes, too.
  virtual int take_dropped(std::size_t& records) = 0;

  /// CUPTI's clock, which is that of its records.
  virtual int timestamp(std::uint64_t& ns) const = 0;
  /// What this thread calls until pop_task() belongs to `id`.
  virtual int push_task(std::uint64_t id) = 0;
  virtual int pop_task() = 0;

  /// The record behind `record` in `bytes`, the first one for null. CUPTI_ERROR_MAX_LIMIT_REACHED
  /// at the end, CUPTI_ERROR_INVALID_KIND at one that CUPTI does not know.
  virtual int next_record(std::span<const std::uint8_t> bytes,
                          const std::uint8_t*& record) const = 0;
  /// The function of a call's record; "" when CUPTI has no name for it.
  virtual std::string call_name(ApiDomain domain, std::uint32_t id) const = 0;
};

}  // namespace hocket
