#pragma once

// The options of a job on an emulated device of limited memory: the device, and the number of
// layers that it keeps. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/host/emulated_device.h"

namespace hocket {

inline constexpr std::string_view kOffloadDeviceForm =
    "emulated:SIZE[,link=RATE[,LATENCY]], like emulated:64MiB,link=2gbit,50us";

/// Returns whether the device of an option is meant to be such a device.
bool is_offload_device(std::string_view device);
/// invalid_argument names the form.
Result<EmulatedDeviceSpec> parse_offload_device(std::string_view text);
/// Returns the text that parse_offload_device() parses, the same for equal devices.
std::string to_string(const EmulatedDeviceSpec& device);

/// The value of --offload-k.
struct OffloadK {
  enum class Source {
    configured,  ///< offload_k of the configuration
    measured,    ///< what the simulator finds best for steps measured in this job
    given,
  };
  Source source = Source::configured;
  std::int64_t layers = 0;  ///< if given

  bool operator==(const OffloadK&) const = default;
};
/// Parses "configured", which an empty text means too, "auto" or a number.
Result<OffloadK> parse_offload_k(std::string_view text);

}  // namespace hocket
