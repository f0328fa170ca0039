#pragma once

// Where searches are asked what to try next. With the simulator as its model an answer takes up to
// a second, for which the other keys of live tuning must not wait.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace hocket {

class SearchRunner {
 public:
  virtual ~SearchRunner() = default;

  /// Calls `ask` once, now or later and on any thread, or never if this object is destroyed first.
  /// `ask` owns all it uses and throws nothing.
  virtual void run(std::function<void()> ask) = 0;
};

/// Calls them on the caller's thread.
class SearchAtOnce final : public SearchRunner {
 public:
  void run(std::function<void()> ask) override { ask(); }
};

/// Calls them on a thread of its own, in order. The destructor waits for the one that runs.
class SearchThread final : public SearchRunner {
 public:
  SearchThread();
  void run(std::function<void()> ask) override;

 private:
  void work(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<std::function<void()>> asks_;  // guarded by mutex_
  std::jthread thread_;                     // last: it uses the others
};

}  // namespace hocket
