#include "cli/checks/gpu_libraries.h"

#include "core/cuda/libraries/library_search.h"
#include "core/host/accelerator_probe.h"

namespace hocket {
namespace {

/// Returns for example "libnccl.so.2 is neither the loader's nor in /usr/local/cuda/lib64".
std::string searched_text(const std::string& library) {
  std::string text = library + " is not among the loader's";
  for (const auto& folder : library_folders(library_hints())) text += ", nor in " + folder.string();
  return text;
}

DoctorCheck check_gpu_library(const std::string& what, const std::string& library,
                              const std::string& remedy, const LibraryProbe& probe) {
  const auto candidates = library_candidates(library);
  if (const auto found = probe(candidates)) return {.what = what, .found = found->file};
  return {.what = what,
          .state = CheckState::missing,
          .found = searched_text(library),
          .remedy = remedy + ", or name its folder in LD_LIBRARY_PATH"};
}

DoctorCheck check_driver(const GpuSurroundings& gpu, const LibraryProbe& probe) {
  const std::vector<std::string> driver = {"libcuda.so.1"};
  const std::string models = accelerator_name(gpu.accelerators);
  if (probe(driver)) {
    if (!gpu.accelerators.empty()) return {.what = "GPU", .found = models};
    return {.what = "GPU",
            .state = CheckState::note,
            .found = "libcuda.so.1, but no GPU in /proc/driver/nvidia",
            .remedy = "give this host or container a GPU"};
  }
  return {.what = "GPU",
          .state = CheckState::missing,
          .found = gpu.accelerators.empty() ? "no driver: libcuda.so.1 is not among the loader's"
                                            : models + ", but libcuda.so.1 cannot be opened",
          .remedy = "for jobs on a GPU, install NVIDIA's driver"};
}

}  // namespace

GpuSurroundings gpu_surroundings() {
  return {.toolkit = HOCKET_CUDA_MAJOR, .accelerators = probe_accelerators()};
}

std::vector<DoctorCheck> check_gpu_libraries(const GpuSurroundings& gpu,
                                             const LibraryProbe& probe) {
  const DoctorCheck driver = check_driver(gpu, probe);
  const DoctorCheck nccl = check_gpu_library("NCCL", "libnccl.so.2", "install NCCL 2", probe);
  // Jobs on PyTorch and NCCL need no more of CUDA than this.
  if (gpu.toolkit == 0) {
    return {driver,
            {.what = "CUDA",
             .state = CheckState::note,
             .found = "this hocket was built without it",
             .remedy = "for jobs on hocket's scheduler on a GPU, build where there is a toolkit"},
            nccl};
  }
  const std::string toolkit = std::to_string(gpu.toolkit);
  return {driver,
          check_gpu_library("cuBLASLt", "libcublasLt.so." + toolkit,
                            "install cuBLAS of CUDA " + toolkit, probe),
          nccl, check_gpu_library("cuDNN", "libcudnn.so.9", "install cuDNN 9", probe),
          check_gpu_library("CUPTI", "libcupti.so." + toolkit, "install CUPTI of CUDA " + toolkit,
                            probe)};
}

}  // namespace hocket
