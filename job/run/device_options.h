#pragma once

// The options of the device that a job trains on: the host, a CUDA device, or an emulated device of
// limited memory; and the number of layers that a device of limited memory keeps. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/host/emulation/emulated_device.h"
#include "job/network/job_network.h"
#include "job/run/run_options.h"

namespace hocket {

struct DeviceOptions {
  /// "host", "cuda", "cuda:N", or as parse_emulated_device() parses it.
  std::string device = "host";
  /// As parse_offload_k() parses it; empty: not given, which is "configured".
  std::string offload_k = {};
  /// Limit of a CUDA device's memory, on which steps are placed if `offload_k` is given. 0: none.
  std::int64_t memory_limit_bytes = 0;
};

/// Returns whether the job trains on a CUDA device.
bool is_on_cuda(const DeviceOptions& options);

/// Returns whether steps are placed on a device of limited memory and its host: on an emulated
/// device, and on a CUDA device with a limit and `offload_k`.
bool is_placed(const DeviceOptions& options);

/// Returns the number of steps by which --offload-k auto decides.
std::int64_t steps_to_measure(const RunOptions& run);

/// Returns invalid_argument for options that contradict each other, the run or the network.
Result<void> validate(const DeviceOptions& options, const RunOptions& run,
                      const NetworkOptions& network);

inline constexpr std::string_view kEmulatedDeviceForm =
    "emulated:SIZE[,link=RATE[,LATENCY]], like emulated:64MiB,link=2gbit,50us";

/// Returns whether the text is meant to name an emulated device.
bool is_emulated_device(std::string_view text);
/// invalid_argument names the form.
Result<EmulatedDeviceSpec> parse_emulated_device(std::string_view text);
/// Returns the text that parse_emulated_device() parses, the same for equal devices.
std::string to_string(const EmulatedDeviceSpec& device);

/// The value of --offload-k.
struct OffloadK {
  enum class Source {
    configured,  ///< offload_k of the configuration
    measured,    ///< the simulator's choice for steps measured in this job
    given,
  };
  Source source = Source::configured;
  std::int64_t layers = 0;  ///< if given

  bool operator==(const OffloadK&) const = default;
};
/// Parses "configured", which an empty text means too, "auto" or a number.
Result<OffloadK> parse_offload_k(std::string_view text);

}  // namespace hocket
