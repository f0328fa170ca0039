#include "core/cuda/executor/device_executor.h"

#include <chrono>
#include <utility>

#include "core/base/check.h"
#include "core/cuda/executor/issuer.h"
#include "core/scheduler/order_messages.h"

namespace hocket {
namespace {

/// Number of polls without progress, while the device runs, before the thread pauses between polls:
/// long-running work does not justify occupying a core.
constexpr int kBusyLooks = 2000;
/// Number of batches of tasks that are issued between two polls.
constexpr int kBatchesALook = 8;
constexpr std::chrono::microseconds kPause(50);

}  // namespace

DeviceExecutor::DeviceExecutor(DeviceDriver& driver, DeviceGroups& groups, DeviceMemory& memory,
                               Collective& messages, const Clock& clock,
                               const DeviceExecutorOptions& options)
    : driver_(driver),
      groups_(groups),
      memory_(memory),
      messages_(messages),
      clock_(clock),
      options_(options) {
  HOCKET_CHECK(groups.rank() == messages.rank() && groups.grid() == messages.grid(),
               "the same ranks exchange messages and sums");
}

DeviceExecutor::~DeviceExecutor() {
  HOCKET_CHECK(threads_.empty(), "the scheduler must be gone first");
}

void DeviceExecutor::start(WorkSource& source, TraceSink* trace, const Lanes& lanes) {
  HOCKET_CHECK(!source_ || source_ == &source, "an executor serves one scheduler");
  HOCKET_CHECK(threads_.empty(), "stop before you start again");
  source_ = &source;
  trace_ = trace;
  stopping_ = false;
  // Initially both kinds of work may be taken.
  streams_woken_ = channels_woken_ = true;
  threads_.emplace_back([this, lanes] { run(lanes); });
  if (!source.order_is_announced()) return;
  threads_.emplace_back([this] { (rank() == 0 ? send_order : follow_order)(*source_, messages_); });
}

void DeviceExecutor::wake(std::size_t streams, std::size_t channels) {
  {
    std::lock_guard lock(mutex_);
    streams_woken_ = streams_woken_ || streams > 0;
    channels_woken_ = channels_woken_ || channels > 0;
  }
  told_.notify_one();
}

void DeviceExecutor::stop(bool failed) {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  // Notify before the aborts: NCCL's abort ends only when the thread has destroyed its graph.
  told_.notify_one();
  if (failed) {
    groups_.abort();
    messages_.abort();
  }
  threads_.clear();
}

void DeviceExecutor::run(const Lanes& lanes) {
  const auto issuer = open(lanes);
  if (!issuer) return source_->fail(issuer.error());
  // A failure is reported before the issuer ends: that may wait for an exchange, which ends when
  // the failure has aborted the collectives.
  if (const auto ok = issue(**issuer); !ok) source_->fail(ok.error());
}

Result<std::unique_ptr<Issuer>> DeviceExecutor::open(const Lanes& lanes) {
  HOCKET_TRY(driver_.use_device());
  HOCKET_TRY(groups_.open(lanes.channels));
  auto queues = DeviceQueues::open(driver_, lanes, trace_, clock_);
  HOCKET_TRY(queues);
  const IssuerParts parts{.source = *source_,
                          .driver = driver_,
                          .groups = groups_,
                          .memory = memory_,
                          .clock = clock_,
                          .marker = options_.marker,
                          .limit_ns = messages_.timeout_ns()};
  return std::make_unique<Issuer>(parts, std::move(*queues));
}

Result<void> DeviceExecutor::issue(Issuer& issuer) {
  bool may_take_compute = false, may_take_parts = false;
  for (int idle_looks = 0;; ++idle_looks) {
    if (!listen(issuer, idle_looks, may_take_compute, may_take_parts)) return {};
    // Terminates, since credit is returned only below.
    const auto issue_parts = [&]() -> Result<void> {
      while (may_take_parts) {
        const auto turn = issuer.issue_part();
        HOCKET_TRY(turn);
        if (*turn == Issuer::PartTurn::busy) break;
        may_take_parts = *turn == Issuer::PartTurn::issued;
        if (may_take_parts) idle_looks = 0;
      }
      return {};
    };
    HOCKET_TRY(issue_parts());
    for (int batch = 0; may_take_compute && batch < kBatchesALook; ++batch) {
      const auto issued = issuer.issue_compute();
      HOCKET_TRY(issued);
      may_take_compute = *issued;
      if (*issued) idle_looks = 0;
      HOCKET_TRY(issue_parts());
    }
    const auto completed = issuer.report_completed();
    HOCKET_TRY(completed);
    if (*completed) idle_looks = 0;
  }
}

bool DeviceExecutor::listen(const Issuer& issuer, int idle_looks, bool& may_take_compute,
                            bool& may_take_parts) {
  std::unique_lock lock(mutex_);
  const auto is_told = [this] { return stopping_ || streams_woken_ || channels_woken_; };
  const bool part_in_hand = issuer.has_part_in_hand();
  if (!may_take_compute && (!may_take_parts || part_in_hand)) {
    if (!part_in_hand && !issuer.has_work_in_flight()) {
      told_.wait(lock, is_told);
    } else if (idle_looks > kBusyLooks) {
      told_.wait_for(lock, kPause, is_told);
    }
  }
  may_take_compute = std::exchange(streams_woken_, false) || may_take_compute;
  may_take_parts = std::exchange(channels_woken_, false) || may_take_parts;
  return !stopping_;
}

}  // namespace hocket
