#include "archive/workers/lease_keeper.h"

#include <chrono>
#include <utility>

namespace hocket {
namespace {

constexpr std::int64_t kRenewalsPerLease = 3, kTriesPerLease = 30;

}  // namespace

LeaseKeeper::LeaseKeeper(TrialSource& source, std::int64_t study_id, NewClaim claim)
    : source_(source), study_id_(study_id), claim_(std::move(claim)), thread_([this] { run(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  ended_changed_.notify_all();
  thread_.join();
}

void LeaseKeeper::run() {
  std::int64_t parts = kRenewalsPerLease;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const std::chrono::nanoseconds pause(claim_.lease_ns / parts);
      if (ended_changed_.wait_for(lock, pause, [this] { return is_ended_; })) return;
    }
    parts = source_.renew(study_id_, claim_) ? kRenewalsPerLease : kTriesPerLease;
  }
}

}  // namespace hocket
