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
  HOCKET_CHECK(groups.rank() == messages.rank() && groups.mesh() == messages.mesh(),
               "the same ranks exchange messages and sums");
}

DeviceExecutor::~DeviceExecutor() {
  HOCKET_CHECK(threads_.empty(), "the scheduler must be gone first");
}

void DeviceExecutor::start(WorkSource& source, TraceSink* trace, const LaneCounts& lanes) {
  HOCKET_CHECK(!source_ || source_ == &source, "an executor serves one scheduler");
  HOCKET_CHECK(threads_.empty(), "stop before you start again");
  source_ = &source;
  trace_ = trace;
  board_ = LaneBoard::open(groups_.mesh(), rank(), board_lanes(lanes));
  stopping_ = false;
  // Initially each kind of work may be taken.
  woken_ = {.compute = true, .parts = true, .lanes = {}};
  for (const TaskLane lane : kOtherLanes)
    woken_.lanes[static_cast<std::size_t>(lane)] = lanes.is_placed;
  threads_.emplace_back([this, lanes] { run(lanes); });
  if (!source.order_is_announced()) return;
  threads_.emplace_back([this] { (rank() == 0 ? send_order : follow_order)(*source_, messages_); });
}

void DeviceExecutor::wake(const LaneWakes& wakes) {
  {
    std::lock_guard lock(mutex_);
    woken_.compute = woken_.compute || wakes.streams > 0;
    woken_.parts = woken_.parts || wakes.channels > 0;
    for (std::size_t lane = 0; lane < kTaskLanes; ++lane)
      woken_.lanes[lane] = woken_.lanes[lane] || wakes.lanes[lane];
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
  board_.reset();
}

void DeviceExecutor::run(const LaneCounts& lanes) {
  const auto issuer = open(lanes);
  if (!issuer) return source_->fail(issuer.error());
  // A failure is reported before the issuer ends: that may wait for an exchange, which ends when
  // the failure has aborted the collectives.
  if (const auto ok = issue(**issuer); !ok) source_->fail(ok.error());
}

Result<std::unique_ptr<Issuer>> DeviceExecutor::open(const LaneCounts& lanes) {
  HOCKET_TRY(driver_.use_device());
  HOCKET_TRY(groups_.open(lanes.channels));
  auto queues = DeviceQueues::open(driver_, lanes, trace_, clock_, board_.get());
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

Result<void> DeviceExecutor::issue_parts(Issuer& issuer, MayTake& may_take, int& idle_looks) {
  // Terminates, since credit is returned only by completed work.
  while (may_take.parts) {
    const auto turn = issuer.issue_part();
    HOCKET_TRY(turn);
    if (*turn == Issuer::PartTurn::busy) break;
    may_take.parts = *turn == Issuer::PartTurn::issued;
    if (may_take.parts) idle_looks = 0;
  }
  return {};
}

Result<void> DeviceExecutor::issue(Issuer& issuer) {
  MayTake may_take;
  for (int idle_looks = 0;; ++idle_looks) {
    if (!listen(issuer, idle_looks, may_take)) return {};
    HOCKET_TRY(issue_parts(issuer, may_take, idle_looks));
    for (const TaskLane lane : kOtherLanes) {
      bool& may_take_lane = may_take.lanes[static_cast<std::size_t>(lane)];
      if (!may_take_lane) continue;
      const auto issued = issuer.issue_lane(lane);
      HOCKET_TRY(issued);
      may_take_lane = *issued;
      if (*issued) idle_looks = 0;
    }
    for (int batch = 0; may_take.compute && batch < kBatchesALook; ++batch) {
      const auto issued = issuer.issue_compute();
      HOCKET_TRY(issued);
      may_take.compute = *issued;
      if (*issued) idle_looks = 0;
      HOCKET_TRY(issue_parts(issuer, may_take, idle_looks));
    }
    const auto completed = issuer.report_completed();
    HOCKET_TRY(completed);
    if (*completed) idle_looks = 0;
  }
}

bool DeviceExecutor::listen(const Issuer& issuer, int idle_looks, MayTake& may_take) {
  std::unique_lock lock(mutex_);
  const auto is_told = [this] {
    return stopping_ || woken_.compute || woken_.parts || woken_.any_lane();
  };
  const bool part_in_hand = issuer.has_part_in_hand();
  if (!may_take.compute && !may_take.any_lane() && (!may_take.parts || part_in_hand)) {
    if (!part_in_hand && !issuer.has_work_in_flight()) {
      told_.wait(lock, is_told);
    } else if (idle_looks > kBusyLooks) {
      told_.wait_for(lock, kPause, is_told);
    } else if (part_in_hand) {
      // The exchange thread may be waiting for this core.
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
  }
  const MayTake woken = std::exchange(woken_, {});
  may_take.compute = woken.compute || may_take.compute;
  may_take.parts = woken.parts || may_take.parts;
  for (std::size_t lane = 0; lane < kTaskLanes; ++lane)
    may_take.lanes[lane] = woken.lanes[lane] || may_take.lanes[lane];
  return !stopping_;
}

}  // namespace hocket
