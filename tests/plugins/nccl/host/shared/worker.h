#pragma once

// A thread that does jobs in order, each not before its time: NCCL's proxy thread, CUDA's callback
// thread and the device are such threads. Any thread may add jobs.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace hocket::nccl_host {

/// Sleeps until now_ns() reaches `time_ns`.
void sleep_until_ns(std::int64_t time_ns);

class Worker {
 public:
  Worker();
  /// Does the remaining jobs first.
  ~Worker();

  void add(std::function<void()> job, std::int64_t not_before_ns = 0);
  /// Waits until at most `count` jobs are unfinished.
  void wait_until_at_most(std::size_t count);

 private:
  struct Job {
    std::function<void()> run;
    std::int64_t not_before_ns;
  };

  void run();

  std::mutex mutex_;
  std::condition_variable added_, finished_;
  // Guarded by mutex_.
  std::deque<Job> jobs_;
  std::size_t unfinished_ = 0;
  bool ends_ = false;

  std::thread thread_;
};

}  // namespace hocket::nccl_host
