#pragma once

// Runs a schedule on the host: compute tasks with a thread per stream, parts of collectives over a
// Collective with a thread per channel.

#include <semaphore.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/collective/collective.h"
#include "core/scheduler/executor.h"

namespace hocket {

class HostExecutor final : public Executor {
 public:
  /// `collective` and `clock` must outlive the executor.
  HostExecutor(Collective& collective, const Clock& clock)
      : collective_(collective), clock_(clock) {}
  ~HostExecutor() override;

  void start(WorkSource& source, TraceSink* trace, const Lanes& lanes) override;
  void wake(std::size_t streams, std::size_t channels) override;
  void stop(bool failed) override;
  int rank() const override { return collective_.rank(); }
  int world_size() const override { return collective_.world_size(); }
  int ranks_per_host() const override { return collective_.ranks_per_host(); }

 private:
  class Semaphore {
   public:
    Semaphore() { sem_init(&semaphore_, 0, 0); }
    ~Semaphore() { sem_destroy(&semaphore_); }
    void acquire();
    void release(std::size_t count);
    void clear();

   private:
    sem_t semaphore_;
  };

  void run_stream(int lane);
  void run_channel(int lane);
  /// Runs a part. `scratch` belongs to the channel.
  Result<void> run_part(const PartWork& part, std::vector<float>& scratch);
  void run_batch(std::span<ComputeWork> work, int lane);

  Collective& collective_;
  const Clock& clock_;
  WorkSource* source_ = nullptr;
  TraceSink* trace_ = nullptr;
  Lanes lanes_;
  std::atomic<bool> stopping_ = false;
  Semaphore stream_leave_, channel_leave_;
  std::vector<std::jthread> threads_;
};

}  // namespace hocket
