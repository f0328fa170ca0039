#pragma once

// What a job trains on: the host, or a CUDA device. A build without the CUDA parts has the host
// alone.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/cuda/driver/element_type.h"
#include "core/protocol/topology.h"
#include "core/scheduler/executor.h"
#include "examples/gpt2/model/backend.h"
#include "profiler/session/device_recorder.h"

namespace hocket {

struct PlatformOptions {
  /// "host", "cuda", or "cuda:N" with the number of a device; "cuda" alone is device local_rank
  /// modulo how many there are.
  std::string device = "host";
  ElementType type = ElementType::float32;
  int local_rank = 0;
  /// What a profile records of a device (profiler/cupti/level.h): "L0", "L1" or "L2"; empty:
  /// nothing is profiled.
  std::string profile_level;
};

/// "float32" or "bfloat16"; invalid_argument for anything else.
Result<ElementType> parse_element_type(std::string_view text);

class Platform {
 public:
  virtual ~Platform() = default;

  /// A model's, which must be gone before the platform.
  virtual Backend& backend() = 0;
  /// What runs the tasks of a phase; the one before must be gone.
  virtual std::unique_ptr<Executor> make_executor() = 0;
  /// What records the device in a profile; null: nothing does.
  virtual DeviceRecorder* recorder() = 0;
  /// Adds what computes, and the versions of its libraries.
  virtual void describe(Topology& topology) const = 0;
};

using Warn = std::function<void(const std::string&)>;

/// Every rank calls it. `collective` and `clock` must outlive the platform; `warn` is called with
/// what cannot be profiled of the device, and why. invalid_argument for a
/// device that is unknown or is not there, and for bfloat16 on the host; unavailable, with the
/// reason, where CUDA cannot be used.
Result<std::unique_ptr<Platform>> open_platform(const PlatformOptions& options,
                                                Collective& collective, const Clock& clock,
                                                const Warn& warn);

}  // namespace hocket
