#pragma once

// A rank for tests that runs its tasks on a simulated device.

#include <cstdint>
#include <memory>

#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/executor/device_executor.h"
#include "core/cuda/executor/device_memory.h"
#include "core/host/local_collective.h"
#include "tests/core/cuda/model_device.h"
#include "tests/core/cuda/model_group.h"

namespace hocket {

/// A rank with a simulated device.
struct ModelRank {
  ModelRank(ModelGroup& group, LocalGroup& messages, int rank, std::uint64_t seed,
            const Clock& clock)
      : device(seed),
        collective(group, device, rank),
        link(messages.join(rank)),
        groups(collective, link->mesh()),
        executor(device, groups, memory, *link, clock) {}

  ModelDevice device;
  DeviceMemory memory{device};
  ModelCollective collective;
  std::unique_ptr<Collective> link;
  DeviceGroups groups;
  DeviceExecutor executor;
};

/// A single rank in a job of its own.
struct SoleModelRank {
  explicit SoleModelRank(const Clock& clock, std::int64_t timeout_ns = 60'000'000'000)
      : messages(1, timeout_ns), rank(group, messages, 0, 1, clock) {}

  ModelGroup group{1};
  LocalGroup messages;
  ModelRank rank;
};

}  // namespace hocket
