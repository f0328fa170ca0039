#include "daemon/live/search_runner.h"

#include <utility>

namespace hocket {

SearchThread::SearchThread() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

void SearchThread::run(std::function<void()> ask) {
  {
    const std::lock_guard lock(mutex_);
    asks_.push_back(std::move(ask));
  }
  arrived_.notify_one();
}

void SearchThread::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (arrived_.wait(lock, stop, [&] { return !asks_.empty(); })) {
    if (stop.stop_requested()) return;
    const auto ask = std::move(asks_.front());
    asks_.pop_front();
    lock.unlock();
    ask();
    lock.lock();
  }
}

}  // namespace hocket
