#pragma once

// CUPTI's interface as the profiler uses it: the calls that it makes, and the buffers that CUPTI
// requests. load_cupti() (profiler/cupti/cupti_library.h) implements it with the library found at
// run time, so that a program starts without it; tests implement it with an object and with one
// that fails.
//
// A status is CUPTI's own number, 0 for success; describe_status() (profiler/cupti/probe.h)
// explains it. All calls are thread-safe, except subscribe() and unsubscribe(), which one thread at
// a time may call.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace hocket {

/// Supplies CUPTI with buffers and receives its records. CUPTI calls it from any of its threads and
/// may hold locks of its own: neither function may call CUPTI or take long.
class ActivityBuffers {
 public:
  virtual ~ActivityBuffers() = default;

  /// Returns an empty, zeroed buffer, which belongs to CUPTI until complete() names it; or an empty
  /// span, upon which CUPTI drops records and counts them.
  virtual std::span<std::uint8_t> request() = 0;
  /// Takes back the buffer at `buffer`, of which the first `valid_bytes` are records. Returns false
  /// if it is not a buffer of this object that CUPTI holds.
  virtual bool complete(std::uint8_t* buffer, std::size_t valid_bytes) = 0;
  /// Returns the number of buffers that CUPTI holds.
  virtual std::size_t held() const = 0;
};

enum class ApiDomain : std::uint8_t { runtime, driver };

class CuptiApi {
 public:
  virtual ~CuptiApi() = default;

  /// Returns the library's CUPTI_API_VERSION: 130001 for CUDA 13.0 Update 1, below 1000 before CUDA
  /// 13.
  virtual std::uint32_t version() const = 0;
  /// Returns the CUDA version that the driver supports, as 1000 · major + 10 · minor; 0 without a
  /// driver.
  virtual int driver_version() const = 0;
  virtual std::string status_name(int status) const = 0;

  /// Takes the only subscription. If another tool has it, `holder` is set to its name if CUPTI
  /// tells it.
  virtual int subscribe(std::string& holder) = 0;
  virtual int unsubscribe() = 0;
  /// Replaces unsubscribe(): CUPTI leaves the process at the end of its next CUDA runtime call, the
  /// only place where that is allowed. A subscribe() before then cancels it.
  virtual int detach() = 0;

  /// Sets the source of buffers until the next call, unsubscribe() or detach(). It is kept alive as
  /// long as CUPTI holds any of its buffers.
  virtual int register_buffers(std::shared_ptr<ActivityBuffers> buffers) = 0;
  /// Tells CUPTI that request() returns zeroed buffers, so that it need not clear them on the job's
  /// threads.
  virtual int promise_zeroed_buffers() = 0;
  /// Makes threads share a buffer, so that short-lived threads take none of their own: NCCL starts
  /// a thread for a collective. Call before register_buffers().
  virtual int share_buffers() = 0;
  /// Enables records of `kind`, a CUpti_ActivityKind.
  virtual int enable(std::uint32_t kind) = 0;
  virtual int disable(std::uint32_t kind) = 0;
  /// Excludes records of the call `id`, until the kind of such calls is enabled again.
  virtual int leave_out(ApiDomain domain, std::uint32_t id) = 0;
  /// Excludes records of queries that find the device not ready, for all kinds of queries.
  virtual int leave_out_vain_queries() = 0;
  /// Makes CUPTI complete its buffers: those whose records are all complete, or all if `forced`.
  virtual int flush(bool forced) = 0;
  /// Gets the number of records lost since the last call. Do not hold a lock that complete() takes.
  virtual int take_dropped(std::size_t& records) = 0;

  /// Reads CUPTI's clock, which its records use.
  virtual int timestamp(std::uint64_t& ns) const = 0;
  /// Ties this thread's calls until pop_task() to `id`.
  virtual int push_task(std::uint64_t id) = 0;
  virtual int pop_task() = 0;

  /// Advances `record` to the next record in `bytes`; null advances to the first. Returns
  /// CUPTI_ERROR_MAX_LIMIT_REACHED at the end, CUPTI_ERROR_INVALID_KIND at a record unknown to
  /// CUPTI.
  virtual int next_record(std::span<const std::uint8_t> bytes,
                          const std::uint8_t*& record) const = 0;
  /// Returns the function name for a call's record; "" if CUPTI has none.
  virtual std::string call_name(ApiDomain domain, std::uint32_t id) const = 0;
};

}  // namespace hocket
