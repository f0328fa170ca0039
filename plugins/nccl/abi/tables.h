#pragma once

// The tables that NCCL looks up by name in the library, each defined in a file of its own, and what
// hocket itself asks the library. NCCL decides which threads call the tables.

#include "plugins/nccl/interface/nccl_interface.h"

namespace hocket::nccl::abi {

/// The name by which NCCL's log calls the plugin, and by which it recognises itself.
inline constexpr const char* kPluginName = "hocket";

extern "C" {
extern __attribute__((visibility("default"))) const TunerV4 ncclTunerPlugin_v4;
extern __attribute__((visibility("default"))) const TunerV5 ncclTunerPlugin_v5;
extern __attribute__((visibility("default"))) const TunerV6 ncclTunerPlugin_v6;
extern __attribute__((visibility("default"))) const ProfilerV4 ncclProfiler_v4;
extern __attribute__((visibility("default"))) const ProfilerV5 ncclProfiler_v5;
extern __attribute__((visibility("default"))) const ProfilerV6 ncclProfiler_v6;

/// Returns for how many communicators of this process NCCL has opened the tuner so far.
/// hocket.torch asks, since a library may be open and not be taken.
__attribute__((visibility("default"))) int hocket_nccl_tuners();
}

}  // namespace hocket::nccl::abi
