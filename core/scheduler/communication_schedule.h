#pragma once

// Schedules the communication of a framework that computes and communicates by itself: decides
// which part of which tensor is communicated next, by the same Plan as Scheduler. The framework
// says what becomes ready, takes parts, and says when they are done (ByteScheduler, SOSP 2019,
// sections 3 and 4: enqueue, notify_ready, start, notify_finish).
//
//   schedule.enqueue(tensor);              in each step, in the same order on every rank
//   schedule.notify_ready(tensor);         its values are computed
//   while (auto part = schedule.next(…)) { communicate it; schedule.notify_finish(*part); }
//   schedule.wait(tensor, …);              before its values are used
//   schedule.end_step();
//
// Its trace shows what the framework computes as the calls divide it, on one stream: "backward
// NAME" ends with notify_ready(), "forward NAME" begins when wait() returns, "rest" ends with
// end_step(), and each lasts from the call before to the call after; enqueue() ends a forward too.
// The task of an event has the tensor's number as its slot and a ScheduledRole as its generation;
// the sequence of "backward NAME" is the tensor's place among those enqueued in the step. For
// profiler/session/communication_profile.h.
//
// Thread-safe: one thread may compute while others communicate. Every function that returns a
// result returns the first error once something has failed.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/scheduler/order_source.h"
#include "core/scheduler/schedule.h"
#include "core/step/schedule_config.h"
#include "core/trace/trace_sink.h"

namespace hocket {

inline constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 42;  ///< 4 TiB

/// A gradient, or a bucket of gradients that are communicated as one.
struct ScheduledTensor {
  std::string name;
  std::int64_t bytes = 0;      ///< ≥ 0
  std::uint32_t priority = 0;  ///< 0 is most urgent; below kPriorityLevels
};

/// The role of an event of the trace: a part of the tensor, or the computation before or after it.
enum class ScheduledRole : std::uint32_t { communication, backward, forward, rest };

/// A part to communicate now.
struct ScheduledPart {
  std::uint32_t tensor = 0;
  std::int64_t offset_bytes = 0, bytes = 0;
  /// Counts the parts that were decided; the same part has the same index on every rank.
  std::uint64_t index = 0;
  /// Lane of parts in flight together, from 0 to comm_channels − 1.
  std::int32_t channel = 0;
  std::int64_t step = 0, begin_ns = 0;
  TaskId task = {};  ///< the schedule's own
};

struct CommunicationScheduleOptions {
  int rank = 0, ranks = 1;
  /// Valid and equal on all ranks. Of its knobs partition_bytes, credit_bytes, comm_channels and
  /// order have an effect.
  ScheduleConfig config = {};
  /// As in SchedulerOptions.
  std::optional<std::vector<std::uint32_t>> static_order = {};
  const Clock& clock;
  TraceSink* trace = nullptr;  ///< may be null; must outlive the schedule
};

class CommunicationSchedule final : public OrderSource {
 public:
  explicit CommunicationSchedule(CommunicationScheduleOptions options);
  CommunicationSchedule(const CommunicationSchedule&) = delete;
  CommunicationSchedule& operator=(const CommunicationSchedule&) = delete;

  /// Adds a tensor and returns its number, counted from 0. Names are unique.
  Result<std::uint32_t> add(ScheduledTensor tensor);

  /// Announces that the tensor will be communicated in this step. Returns invalid_argument while
  /// its last communication is unfinished.
  Result<void> enqueue(std::uint32_t tensor);
  /// Says that the values of an enqueued tensor are computed.
  Result<void> notify_ready(std::uint32_t tensor);

  /// Returns the next part, when there is one and a channel is free; nothing after `timeout_ns`, or
  /// once close() was called.
  Result<std::optional<ScheduledPart>> next(std::int64_t timeout_ns);
  /// Ends a part that next() gave, and returns its credit.
  Result<void> notify_finish(const ScheduledPart& part);

  /// Blocks until all parts of the tensor's last communication are done. Returns timed_out after
  /// `timeout_ns`. Under order=static the step runs as enqueued when this is called, for a tensor
  /// of the step itself, before all tensors of the order were enqueued.
  Result<void> wait(std::uint32_t tensor, std::int64_t timeout_ns);

  /// Ends the step. Returns invalid_argument, and changes nothing, while parts of the step before
  /// are unfinished: their tensors must have been waited for.
  Result<void> end_step();
  /// Returns the number of the present step, from 0.
  std::int64_t step() const;
  /// Returns whether every tensor that was enqueued is communicated.
  bool is_idle() const;

  /// Changes the configuration, between the same two steps on every rank. partition_bytes applies
  /// to what is enqueued later, credit_bytes and comm_channels apply at once. Returns
  /// invalid_argument as validate() does, and unavailable while something is unfinished and the
  /// order, or a static order, changes.
  Result<void> reconfigure(const ScheduleConfig& config,
                           std::optional<std::vector<std::uint32_t>> static_order = {});

  /// Returns whether rank 0 sends its order to the others: run send_order() or follow_order() on a
  /// thread until end_order() and the end of that thread.
  bool order_is_announced() const;
  void end_order();
  bool wait_for_started(std::int64_t timeout_ns, std::vector<std::uint64_t>& collectives) override;
  void announce(std::span<const std::uint64_t> collectives) override;

  /// Reports that communication has failed: every call returns the error from now on.
  void fail(Error error) override;
  /// Ends every call that blocks, and the order that rank 0 sends; nothing more is handed out.
  void close();
  bool is_closed() const;

 private:
  struct Tensor {
    ScheduledTensor about;
    std::string backward, forward;  ///< names of the compute tasks
    DataId data;
    TaskId producer;
    std::uint64_t number = 0;  ///< number of its last collective
    std::int64_t place = 0;    ///< position among the tensors enqueued in its step, from 0
    std::int64_t step = 0;
    bool is_enqueued = false;  ///< until its last part is done
    bool is_ready = false;     ///< notify_ready() was called
    bool may_begin = false;    ///< the plan has handed out the producer
  };
  /// A use of a tensor that has begun.
  struct OpenUse {
    std::uint32_t tensor = 0;
    std::int64_t begin_ns = 0;
  };

  // All require mutex_.
  Result<void> check(std::uint32_t tensor) const;
  /// Returns what the communication of the tensor, which is enqueued, waits for.
  std::string why_unfinished(std::uint32_t tensor) const;
  /// Takes what the plan hands out, and wakes those that wait for it.
  void advance();
  void record_compute(ScheduledRole role, std::uint32_t tensor, std::string_view name,
                      std::int64_t begin_ns, std::int64_t end_ns, std::int64_t place = kNoSequence);
  /// Ends the use that is open, at `end_ns`.
  void end_use(std::int64_t end_ns);
  /// Lets the tensor that was enqueued last follow the static order, if the step is its.
  void follow_static_order(std::uint32_t tensor);
  /// Lets the step start its parts in the order of the calls of enqueue(), although there is a
  /// static order.
  void suspend_static_order();
  void announce_parts_of(std::uint32_t tensor);

  const CommunicationScheduleOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_, announcing_;
  // Guarded by mutex_:
  Schedule schedule_;
  Plan plan_;
  std::deque<Tensor> tensors_;  ///< never move: the plan and the trace keep their names
  std::vector<std::uint32_t> tensor_of_slot_;
  std::vector<std::uint32_t> enqueued_;  ///< in the present step, in order
  bool follows_static_order_ = false;    ///< in the present step, as far as is known
  bool is_announced_ = false;            ///< the plan knows the static order of the present step
  std::optional<OpenUse> open_use_;
  std::deque<ScheduledPart> decided_;   ///< released by the plan, not taken yet
  std::vector<ScheduledPart> started_;  ///< taken, not finished yet
  std::vector<bool> channel_is_taken_;
  std::uint64_t parts_decided_ = 0;
  std::int64_t step_ = 0;
  std::int64_t boundary_ns_ = 0;  ///< when the last compute task ended
  /// Unfinished tensors of the last step, and of this one.
  std::int64_t unfinished_before_ = 0, unfinished_now_ = 0;
  std::vector<std::uint64_t> to_announce_;
  bool order_has_ended_ = false, is_closed_ = false;
  std::optional<Error> error_;
};

}  // namespace hocket
