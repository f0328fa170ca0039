#include "job/model/platform.h"

#include <charconv>
#include <optional>
#include <utility>

#include "core/host/emulation/emulated_device.h"
#include "core/host/host_executor.h"
#include "job/run/device_options.h"
#include "kernels/host/host_kernels.h"

namespace hocket {
namespace {

class HostPlatform : public Platform {
 public:
  HostPlatform(Collective& collective, const Clock& clock, ParameterServers* servers)
      : collective_(collective), clock_(clock), servers_(servers) {
    add_host_kernels(kernels_);
  }

  const KernelTable& kernels() const override { return kernels_; }
  std::unique_ptr<Executor> make_executor() override {
    return std::make_unique<HostExecutor>(collective_, clock_, servers_);
  }
  int servers() const override { return servers_ ? servers_->servers() : 0; }

 private:
  Collective& collective_;
  const Clock& clock_;
  ParameterServers* const servers_;
  KernelTable kernels_;
};

class EmulatedPlatform final : public HostPlatform {
 public:
  EmulatedPlatform(Collective& collective, const Clock& clock, const EmulatedDeviceSpec& spec,
                   std::unique_ptr<EmulatedDevice> device)
      : HostPlatform(collective, clock, nullptr), spec_(spec), device_(std::move(device)) {}

  OffloadMemory* placed() override { return device_.get(); }
  void describe(Topology& topology) const override { topology.accelerator = to_string(spec_); }

 private:
  const EmulatedDeviceSpec spec_;
  const std::unique_ptr<EmulatedDevice> device_;
};

/// Returns the number in "cuda:N"; empty for "cuda".
Result<std::optional<int>> parse_cuda(const std::string& device) {
  if (device == "cuda") return std::nullopt;
  int number = 0;
  const char* const end = device.data() + device.size();
  const auto [rest, error] = std::from_chars(device.data() + 5, end, number);
  if (error == std::errc() && rest == end && number >= 0) return number;
  return invalid("--device: \"" + device + "\" is no device; cuda:N has a number from 0");
}

}  // namespace

Result<std::unique_ptr<Platform>> open_platform(const PlatformOptions& options,
                                                const CudaPlatforms* cuda, Collective& collective,
                                                const Clock& clock, const Warn& warn) {
  if (options.device == "host")
    return std::make_unique<HostPlatform>(collective, clock, options.servers);
  if (is_emulated_device(options.device)) {
    const auto spec = parse_emulated_device(options.device);
    HOCKET_TRY(spec);
    auto device = EmulatedDevice::create(*spec, clock);
    if (!device) return failure(device.error().in("--device"));
    return std::make_unique<EmulatedPlatform>(collective, clock, *spec, std::move(*device));
  }
  if (options.device != "cuda" && !options.device.starts_with("cuda:"))
    return invalid("--device: expected host, cuda or cuda:N, or " +
                   std::string(kEmulatedDeviceForm) + ", found \"" + options.device + "\"");
  const auto number = parse_cuda(options.device);
  HOCKET_TRY(number);
  if (cuda) {
    return cuda->open({.device = *number,
                       .local_rank = options.local_rank,
                       .placed_memory_bytes = options.placed_memory_bytes,
                       .profile_level = options.profile_level},
                      collective, clock, warn);
  }
  return failure(
      ErrorCode::unavailable,
      "--device: this program was built without CUDA; configure where the CUDA toolkit is "
      "installed (docs/HACKING.md), or train on the host");
}

}  // namespace hocket
