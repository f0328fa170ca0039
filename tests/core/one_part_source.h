#pragma once

// A work source with a single part of one collective, for tests of executors.

#include <future>
#include <optional>
#include <vector>

#include "core/scheduler/executor.h"

namespace hocket {

class OnePartSource final : public WorkSource {
 public:
  explicit OnePartSource(const PartWork& part) : part_(part) {}

  /// Runs the part on `executor` with one channel; returns its error, if any.
  std::optional<Error> run_on(Executor& executor, TraceSink* trace = nullptr) {
    executor.start(*this, trace, {});
    const auto error = ended_.get_future().get();
    executor.stop(error.has_value());
    return error;
  }

  std::size_t take_compute(std::span<const TaskId>, std::span<ComputeWork>) override { return 0; }
  bool take_lane(TaskLane, const ComputeWork*, ComputeWork&) override { return false; }
  bool take_pull(const PartWork*, PartWork&) override { return false; }
  void summed(const ServedPart&) override {}
  bool take_part(const PartWork* finished, PartWork& work) override {
    if (finished) end(std::nullopt);
    if (is_taken_) return false;
    is_taken_ = true;
    work = part_;
    return true;
  }
  bool order_is_announced() const override { return false; }
  bool wait_for_started(std::int64_t, std::vector<std::uint64_t>&) override { return false; }
  void announce(std::span<const std::uint64_t>) override {}
  void completed(std::span<const CompletedWork>) override {}
  void inputs_arrived(TaskId) override {}
  void fail(Error error) override { end(std::move(error)); }

 private:
  // The executor calls the following functions from its only channel.
  void end(std::optional<Error> error) {
    if (std::exchange(has_ended_, true)) return;
    ended_.set_value(std::move(error));
  }

  const PartWork part_;
  bool is_taken_ = false, has_ended_ = false;
  std::promise<std::optional<Error>> ended_;
};

}  // namespace hocket
