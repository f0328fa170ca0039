#pragma once

// Detects this host's GPUs from the files of NVIDIA's driver in /proc, without CUDA. Any thread.

#include <string>
#include <vector>

namespace hocket {

/// Returns the models in order of bus address, such as "NVIDIA H200"; empty if there is no driver.
/// Skips GPUs whose files under `driver` cannot be read.
std::vector<std::string> probe_accelerators(const std::string& driver = "/proc/driver/nvidia");

/// Returns each of `models` once, in the form of Topology::accelerator: "NVIDIA H200".
std::string accelerator_name(std::vector<std::string> models);

}  // namespace hocket
