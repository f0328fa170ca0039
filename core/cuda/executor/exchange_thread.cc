#include "core/cuda/executor/exchange_thread.h"

#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Looks for the next part before the thread sleeps. Parts of a step follow each other closely, and
/// a thread that sleeps takes long to begin.
constexpr int kLooksBeforeSleep = 1000;

}  // namespace

ExchangeThread::ExchangeThread(DeviceDriver& driver, DeviceGroups& groups, TaskMarker* marker)
    : driver_(driver), groups_(groups), marker_(marker), thread_([this] { run(); }) {}

ExchangeThread::~ExchangeThread() {
  wait();
  tell(State::ended);
}

void ExchangeThread::tell(State state) {
  state_.store(state, std::memory_order_release);
  state_.notify_one();
}

void ExchangeThread::begin(const PartWork& part, int channel, DeviceStream stream) {
  HOCKET_CHECK(state_ == State::idle, "one part at a time");
  part_ = part;
  channel_ = channel;
  stream_ = stream;
  tell(State::asked);
}

std::optional<Result<void>> ExchangeThread::take_result() {
  const State state = state_.load(std::memory_order_acquire);
  HOCKET_CHECK(state != State::idle, "no part is in hand");
  if (state != State::done) return std::nullopt;
  std::optional<Result<void>> result = std::move(result_);
  tell(State::idle);
  return result;
}

void ExchangeThread::wait() {
  state_.wait(State::asked, std::memory_order_acquire);
}

void ExchangeThread::run() {
  const auto used = driver_.use_device();
  for (int looks = 0;; ++looks) {
    const State state = state_.load(std::memory_order_acquire);
    if (state == State::ended) return;
    if (state == State::asked) {
      const TaskMark mark(marker_, part_.step, part_.task);
      result_ = used ? groups_.exchange(part_, channel_, stream_) : used;
      // Collectives return their errors.
      static_cast<void>(driver_.take_launch_error());
      looks = 0;
      tell(State::done);
    } else if (looks < kLooksBeforeSleep) {
      std::this_thread::yield();
    } else {
      state_.wait(state, std::memory_order_acquire);
    }
  }
}

}  // namespace hocket
