#include "job/cuda/cuda_platform.h"

#include <utility>

#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/driver/capability.h"
#include "core/cuda/driver/cuda_driver.h"
#include "core/cuda/executor/device_executor.h"
#include "core/cuda/executor/device_memory.h"
#include "core/cuda/executor/placed_memory.h"
#include "core/cuda/products/blas_lt.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/cuda_memory.h"
#include "kernels/host/host_kernels.h"
#include "kernels/host/unit_threads.h"
#include "profiler/cupti/cupti_library.h"
#include "profiler/cupti/cupti_session.h"
#ifdef HOCKET_JOB_NCCL
#include "core/cuda/collectives/nccl_collective.h"
#endif
#ifdef HOCKET_JOB_CUDNN
#include "kernels/cuda/cudnn/cudnn_attention.h"
#endif

namespace hocket {
namespace {

/// Connects the devices of all ranks.
Result<std::unique_ptr<DeviceCollective>> connect_devices(Collective& collective,
                                                          DeviceDriver& driver) {
  if (collective.world_size() == 1) return std::make_unique<SoleRankCollective>(&driver);
#ifdef HOCKET_JOB_NCCL
  return connect_nccl(collective, driver, {.timeout_ns = collective.timeout_ns()});
#else
  return failure(ErrorCode::unavailable,
                 "--device: this program was built without NCCL, so its devices cannot exchange "
                 "sums; install NCCL and build again, or train with one rank");
#endif
}

class CudaPlatform final : public Platform {
 public:
  CudaPlatform(Collective& collective, const Clock& clock, CudaCapability capability, int device)
      : messages_(collective),
        clock_(clock),
        capability_(std::move(capability)),
        device_(capability_.devices[static_cast<std::size_t>(device)]) {}

  /// Opens the recorder. Call it before any work is put onto the device.
  Result<void> open_recorder(const std::string& level, const Warn& warn) {
    const auto parsed = cupti_level(level);
    if (!parsed) return failure(parsed.error().in("--profile-level"));
    auto recorder = CuptiSession::open({.clock = clock_,
                                        .level = *parsed,
                                        .rank = messages_.rank(),
                                        .ranks = messages_.world_size(),
                                        .detaches = true});
    if (recorder) {
      recorder_ = std::move(*recorder);
    } else {
      warn(recorder.error().message);
    }
    return {};
  }

  Result<void> open(int device, std::int64_t placed_memory_bytes, const Warn& warn) {
    auto driver = open_cuda_device(device);
    HOCKET_TRY(driver);
    driver_ = std::move(*driver);
    auto products = open_blas_lt(*driver_);
    HOCKET_TRY(products);
    products_ = std::move(*products);
#ifdef HOCKET_JOB_CUDNN
    auto attention = open_cudnn_attention(*driver_);
    if (attention) {
      attention_ = std::move(*attention);
    } else {
      warn("attention is made of products: " + attention.error().message);
    }
#endif
    add_cuda_kernels(kernels_,
                     {.products = *products_, .attention = attention_.get(), .warn = warn});
    add_host_kernels(kernels_);
    auto memory = open_cuda_memory(*driver_);
    HOCKET_TRY(memory);
    memory_ = std::move(*memory);
    if (placed_memory_bytes > 0) {
      auto placed = PlacedMemory::open(*driver_, placed_memory_bytes);
      if (!placed) return failure(placed.error().in("--memory-limit"));
      placed_ = std::move(*placed);
      threads_.emplace();
    }
    auto collective = connect_devices(messages_, *driver_);
    HOCKET_TRY(collective);
    collective_ = std::move(*collective);
    groups_.emplace(*collective_, messages_.mesh());
    within_steps_.emplace(*driver_);
    return {};
  }

  KernelDevice kernel_device() const override {
    return KernelDevice::cuda;
  }
  const KernelTable& kernels() const override {
    return kernels_;
  }
  KernelMemory& kernel_memory() override {
    return *memory_;
  }
  RunUnits run_on_host() override {
    if (!threads_) return {};
    return [this](std::int64_t units, const std::function<Result<void>(UnitRange)>& run) {
      return threads_->run(units, run);
    };
  }
  DeviceRecorder* recorder() override {
    return recorder_.get();
  }
  OffloadMemory* placed() override {
    return placed_.get();
  }

  std::unique_ptr<Executor> make_executor() override {
    return std::make_unique<DeviceExecutor>(*driver_, *groups_, *within_steps_, messages_, clock_,
                                            DeviceExecutorOptions{.marker = recorder_.get()});
  }

  void describe(Topology& topology) const override {
    topology.accelerator = device_.name;
    // Configurations of a device of limited memory are not those of the whole one.
    if (placed_)
      topology.accelerator += ", " + std::to_string(placed_->device_memory_bytes()) + " B";
    topology.library_versions["cuda"] = cuda_version_words(capability_.runtime_version);
  }

 private:
  Collective& messages_;
  const Clock& clock_;
  const CudaCapability capability_;
  const CudaDevice& device_;
  std::unique_ptr<CuptiSession> recorder_;
  std::unique_ptr<DeviceDriver> driver_;
  std::unique_ptr<MatrixProducts> products_;
  std::unique_ptr<FusedAttention> attention_;
  KernelTable kernels_;
  std::unique_ptr<KernelMemory> memory_;
  std::unique_ptr<PlacedMemory> placed_;
  std::optional<UnitThreads> threads_;  ///< for updates on the host
  std::unique_ptr<DeviceCollective> collective_;
  std::optional<DeviceGroups> groups_;
  std::optional<DeviceMemory> within_steps_;  ///< has no data: graphs have an arena
};

Result<std::unique_ptr<Platform>> open_cuda_platform(const CudaPlatformOptions& options,
                                                     Collective& collective, const Clock& clock,
                                                     const Warn& warn) {
  auto capability = probe_cuda();
  if (!capability) return failure(capability.error().in("--device"));
  const auto devices = static_cast<int>(capability->devices.size());
  const int device = options.device.value_or(options.local_rank % devices);
  if (device >= devices) {
    return invalid("--device: there is no cuda:" + std::to_string(device) +
                   "; the devices here are 0 to " + std::to_string(devices - 1));
  }
  auto platform = std::make_unique<CudaPlatform>(collective, clock, std::move(*capability), device);
  if (!options.profile_level.empty())
    HOCKET_TRY(platform->open_recorder(options.profile_level, warn));
  HOCKET_TRY(platform->open(device, options.placed_memory_bytes, warn));
  return platform;
}

void connect_cuda_ranges(const std::string& profile_level) {
  const auto level = cupti_level(profile_level);
  if (level && *level >= CuptiLevel::l1) give_nvtx_to_cupti(default_cupti_libraries());
}

}  // namespace

const CudaPlatforms& cuda_platforms() {
  static const CudaPlatforms platforms{.open = open_cuda_platform,
                                       .connect_ranges = connect_cuda_ranges};
  return platforms;
}

}  // namespace hocket
