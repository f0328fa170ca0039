#pragma once

// Checks what hocket uses on a GPU: the driver, and NVIDIA's libraries, which are opened when they
// are needed. One thread.

#include <string>
#include <vector>

#include "cli/checks/check.h"
#include "cli/checks/library_probe.h"

namespace hocket {

/// The toolkit and the GPUs that the check of the libraries is for.
struct GpuSurroundings {
  int toolkit = 0;                        ///< major version that hocket was built with; 0: none
  std::vector<std::string> accelerators;  ///< models (core/host/accelerator_probe.h)
};

/// Returns the surroundings of this process.
GpuSurroundings gpu_surroundings();

std::vector<DoctorCheck> check_gpu_libraries(const GpuSurroundings& gpu, const LibraryProbe& probe);

}  // namespace hocket
