#pragma once

// Runs a schedule on the host: compute tasks on `streams` threads, parts of collectives on
// `channels` threads over a Collective.

#include <semaphore.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/collective.h"
#include "core/executor.h"

namespace hocket {

struct HostExecutorOptions {
  int streams = 1;
  /// Parts under way at once within the credit window. Two keep the link busy while a part ends and
  /// the next begins; more split the bandwidth and delay the most urgent part.
  int channels = 2;
};

class HostExecutor final : public Executor {
 public:
  /// `collective` and `clock` must outlive the executor.
  HostExecutor(const HostExecutorOptions& options, Collective& collective, const Clock& clock);
  ~HostExecutor() override;

  void start(WorkSource& source, TraceSink* trace) override;
  void wake(std::size_t streams, std::size_t channels) override;
  void stop(bool failed) override;
  int rank() const override { return collective_.rank(); }
  int world_size() const override { return collective_.world_size(); }

 private:
  class Semaphore {
   public:
    Semaphore() { sem_init(&semaphore_, 0, 0); }
    ~Semaphore() { sem_destroy(&semaphore_); }
    void acquire();
    void release(std::size_t count);

   private:
    sem_t semaphore_;
  };

  void run_stream(int lane);
  void run_channel(int lane);
  void send_order();
  void follow_order();
  void run_batch(std::span<ComputeWork> work, int lane);

  const HostExecutorOptions options_;
  Collective& collective_;
  const Clock& clock_;
  WorkSource* source_ = nullptr;
  TraceSink* trace_ = nullptr;
  std::atomic<bool> stopping_ = false;
  Semaphore stream_leave_, channel_leave_;
  std::vector<std::jthread> threads_;
};

}  // namespace hocket
