#pragma once

// The platform a job trains on: the host, a CUDA device, or an emulated device of limited memory. A
// build without the CUDA parts has no CUDA device. One thread uses it.

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
#include "core/step/element_type.h"
#include "examples/gpt2/model/backend.h"
#include "profiler/session/device_recorder.h"

namespace hocket {

struct PlatformOptions {
  /// "host", "cuda", "cuda:N" with a device number, or "emulated:SIZE[,link=RATE[,LATENCY]]"
  /// (job/run/device_options.h). "cuda" alone selects local_rank modulo the number of devices.
  std::string device = "host";
  ElementType type = ElementType::float32;
  int local_rank = 0;
  /// Parameter servers of a job on the host; may be null. Must outlive the platform.
  ParameterServers* servers = nullptr;
  /// Limit of a CUDA device's memory, on which steps are then placed; 0: none.
  std::int64_t placed_memory_bytes = 0;
  /// Level at which a profile records the device (profiler/cupti/level.h): "L0", "L1" or "L2";
  /// empty: the device is not profiled.
  std::string profile_level;
};

/// Connects NVTX ranges to a profile of `device` at `profile_level`, both as in PlatformOptions, if
/// such a profile has ranges. Changes the environment: call it at the start of main(), before other
/// threads exist.
void connect_ranges(std::string_view device, const std::string& profile_level);

/// Parses "float32" or "bfloat16"; returns invalid_argument for anything else.
Result<ElementType> parse_element_type(std::string_view text);

class Platform {
 public:
  virtual ~Platform() = default;

  /// Returns the backend for one model, which must be destroyed before the platform.
  virtual Backend& backend() = 0;
  /// Creates the executor for the tasks of a phase. The previous executor must be destroyed first.
  virtual std::unique_ptr<Executor> make_executor() = 0;
  /// Returns the recorder of the device for profiles; null if the device is not recorded.
  virtual DeviceRecorder* recorder() = 0;
  /// Returns the memories that steps are placed on; null if the device has room for a whole step.
  virtual OffloadMemory* memory() { return nullptr; }
  /// Returns the number of parameter servers that the executors can sum over.
  virtual int servers() const { return 0; }
  /// Adds to `topology` the device and the versions of its libraries.
  virtual void describe(Topology& topology) const = 0;
};

using Warn = std::function<void(const std::string&)>;

/// Opens the platform; every rank must call it. `collective` and `clock` must outlive the platform.
/// `warn` is called with what cannot be profiled of the device, and why. Returns invalid_argument
/// for an unknown or missing device and for bfloat16 without CUDA; unavailable, with the reason,
/// where CUDA cannot be used.
Result<std::unique_ptr<Platform>> open_platform(const PlatformOptions& options,
                                                Collective& collective, const Clock& clock,
                                                const Warn& warn);

}  // namespace hocket
