#include "tests/plugins/nccl/host/shared/worker.h"

#include <time.h>

#include <utility>

namespace hocket::nccl_host {

void sleep_until_ns(std::int64_t time_ns) {
  const timespec time{time_ns / 1'000'000'000, time_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
  }
}

Worker::Worker() : thread_([this] { run(); }) {}

Worker::~Worker() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  added_.notify_one();
  thread_.join();
}

void Worker::add(std::function<void()> job, std::int64_t not_before_ns) {
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back({std::move(job), not_before_ns});
    ++unfinished_;
  }
  added_.notify_one();
}

void Worker::wait_until_at_most(std::size_t count) {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return unfinished_ <= count; });
}

void Worker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    if (job.not_before_ns > 0) sleep_until_ns(job.not_before_ns);
    job.run();
    job.run = nullptr;
    lock.lock();
    --unfinished_;
    finished_.notify_all();
  }
}

}  // namespace hocket::nccl_host
