#pragma once

// Which GPUs this host has, as NVIDIA's driver tells everybody in /proc, without CUDA.

#include <string>
#include <vector>

namespace hocket {

/// The models in the order of their bus addresses, such as "NVIDIA H200"; none where there is no
/// driver. What of `driver` cannot be read is left out.
std::vector<std::string> probe_accelerators(const std::string& driver = "/proc/driver/nvidia");

/// Each of `models` once, as Topology::accelerator has it: "NVIDIA H200".
std::string accelerator_name(std::vector<std::string> models);

}  // namespace hocket
