#pragma once

// The platform that a model trains on: the host, a CUDA device, or an emulated device of limited
// memory. One thread uses it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/collective/parameter_servers.h"
#include "core/placement/offload_memory.h"
#include "core/protocol/topology.h"
#include "core/scheduler/executor.h"
#include "job/graph/graph_model.h"
#include "kernels/kernel_memory.h"
#include "kernels/kernel_table.h"
#include "profiler/session/device_recorder.h"

namespace hocket {

struct PlatformOptions {
  /// "host", "cuda", "cuda:N" with a device number, or "emulated:SIZE[,link=RATE[,LATENCY]]"
  /// (job/run/device_options.h). "cuda" alone selects local_rank modulo the number of devices.
  std::string device = "host";
  int local_rank = 0;
  /// Parameter servers of a job on the host; may be null. Must outlive the platform.
  ParameterServers* servers = nullptr;
  /// Limit of a CUDA device's memory, on which steps are then placed; 0: none.
  std::int64_t placed_memory_bytes = 0;
  /// Level at which a profile records the device (profiler/cupti/level.h): "L0", "L1" or "L2";
  /// empty: the device is not profiled.
  std::string profile_level = {};
};

class Platform {
 public:
  virtual ~Platform() = default;

  /// Kernels and memory of models, which must be destroyed before the platform.
  virtual KernelDevice kernel_device() const { return KernelDevice::host; }
  virtual const KernelTable& kernels() const = 0;
  virtual KernelMemory& kernel_memory() { return host_kernel_memory(); }
  /// Runs updates on the host beside a device; empty: as they are (GraphModelOptions).
  virtual RunUnits run_on_host() { return {}; }
  /// Creates the executor for the tasks of a phase. The previous executor must be destroyed first.
  virtual std::unique_ptr<Executor> make_executor() = 0;
  /// Returns the recorder of the device for profiles; null if the device is not recorded.
  virtual DeviceRecorder* recorder() { return nullptr; }
  /// Returns the memories that steps are placed on; null if the device has room for a whole step.
  virtual OffloadMemory* placed() { return nullptr; }
  /// Returns the number of parameter servers that the executors can sum over.
  virtual int servers() const { return 0; }
  /// Adds to `topology` the device and the versions of its libraries.
  virtual void describe(Topology&) const {}
};

using Warn = std::function<void(const std::string&)>;

struct CudaPlatformOptions {
  std::optional<int> device = {};  ///< empty: local_rank modulo the number of devices
  int local_rank = 0;
  std::int64_t placed_memory_bytes = 0;  ///< as in PlatformOptions
  std::string profile_level = {};        ///< as in PlatformOptions
};

/// The CUDA devices of a program that is built with them (cuda_platform.h).
struct CudaPlatforms {
  /// As open_platform().
  Result<std::unique_ptr<Platform>> (*open)(const CudaPlatformOptions& options,
                                            Collective& collective, const Clock& clock,
                                            const Warn& warn) = nullptr;
  /// Connects NVTX ranges to a profile at this level, if such a profile has ranges. Changes the
  /// environment: call it at the start of main(), before other threads exist.
  void (*connect_ranges)(const std::string& profile_level) = nullptr;
};

/// Opens the platform; every rank must call it. `collective` and `clock` must outlive the platform;
/// `cuda` is null in a program without CUDA. `warn` is called with what cannot be profiled of the
/// device, and why. Returns invalid_argument for an unknown or missing device; unavailable, with
/// the reason, where CUDA cannot be used.
Result<std::unique_ptr<Platform>> open_platform(const PlatformOptions& options,
                                                const CudaPlatforms* cuda, Collective& collective,
                                                const Clock& clock, const Warn& warn);

}  // namespace hocket
