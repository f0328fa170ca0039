#pragma once

// A clock for tests with several threads: time stands still while one of them runs, and passes when
// all sleep or wait. Threads take turns, always in the same order, so whatever they do under this
// clock is the same on every run.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"

namespace hocket {

class TurnClock final : public Clock {
 public:
  /// Runs each body on a thread of its own, until all have ended. Once for each clock.
  void run(const std::vector<std::function<void()>>& bodies) {
    turns_.resize(bodies.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      threads.emplace_back([&, i] {
        own() = i;
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return running_ == i; });
        }
        bodies[i]();
        std::lock_guard lock(mutex_);
        turns_[i].until_ns = kNever;
        turns_[i].is_ready = nullptr;
        pass_on();
      });
    }
    std::lock_guard lock(mutex_);
    pass_on();
  }

  std::int64_t now_ns() const override {
    std::lock_guard lock(mutex_);
    return now_ns_;
  }
  void sleep_until_ns(std::int64_t deadline_ns) const override {
    std::unique_lock lock(mutex_);
    wait_for_turn(lock, {deadline_ns, nullptr});
  }
  /// Blocks until `is_ready()`, which depends on what other threads of this clock do.
  void wait_until(const std::function<bool()>& is_ready) const {
    std::unique_lock lock(mutex_);
    wait_for_turn(lock, {kNever, is_ready});
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::size_t kNobody = ~std::size_t{0};

  /// A thread that does not run waits for a time, or for a condition.
  struct Turn {
    std::int64_t until_ns = 0;
    std::function<bool()> is_ready;
  };

  static std::size_t& own() {
    thread_local std::size_t index = kNobody;
    return index;
  }
  void wait_for_turn(std::unique_lock<std::mutex>& lock, Turn turn) const {
    turns_[own()] = std::move(turn);
    pass_on();
    changed_.wait(lock, [this] { return running_ == own(); });
  }
  /// Lets the next thread run: one that is ready now, or the one that wakes first.
  void pass_on() const {
    std::size_t next = kNobody;
    for (std::size_t i = 0; i < turns_.size() && next == kNobody; ++i)
      if (turns_[i].is_ready && turns_[i].is_ready()) next = i;
    const auto first = std::ranges::min_element(turns_, {}, &Turn::until_ns);
    if (next == kNobody && first->until_ns != kNever) {
      now_ns_ = std::max(now_ns_, first->until_ns);
      next = static_cast<std::size_t>(first - turns_.begin());
    }
    const auto waits = [](const Turn& turn) { return turn.is_ready != nullptr; };
    HOCKET_CHECK(next != kNobody || std::ranges::none_of(turns_, waits), "all wait for others");
    running_ = next;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_:
  mutable std::int64_t now_ns_ = 0;
  mutable std::size_t running_ = kNobody;
  mutable std::vector<Turn> turns_;
};

}  // namespace hocket
