#include "examples/gpt2/job/platform.h"

#include <charconv>
#include <utility>

#include "core/host/host_executor.h"
#include "examples/gpt2/model/host_backend.h"
#include "examples/gpt2/offload/offload_backend.h"
#include "job/run/device_options.h"
#ifdef HOCKET_GPT2_CUDA
#include "examples/gpt2/cuda/cuda_platform.h"
#endif

namespace hocket {
namespace {

class HostPlatform final : public Platform {
 public:
  HostPlatform(Collective& collective, const Clock& clock, ParameterServers* servers)
      : collective_(collective), clock_(clock), servers_(servers) {}

  Backend& backend() override { return backend_; }
  std::unique_ptr<Executor> make_executor() override {
    return std::make_unique<HostExecutor>(collective_, clock_, servers_);
  }
  DeviceRecorder* recorder() override { return nullptr; }
  int servers() const override { return servers_ ? servers_->servers() : 0; }
  void describe(Topology&) const override {}

 private:
  Collective& collective_;
  const Clock& clock_;
  ParameterServers* const servers_;
  HostBackend backend_;
};

class OffloadPlatform final : public Platform {
 public:
  OffloadPlatform(Collective& collective, const Clock& clock, const EmulatedDeviceSpec& device,
                  std::unique_ptr<OffloadBackend> backend)
      : collective_(collective), clock_(clock), device_(device), backend_(std::move(backend)) {}

  Backend& backend() override { return *backend_; }
  std::unique_ptr<Executor> make_executor() override {
    return std::make_unique<HostExecutor>(collective_, clock_);
  }
  DeviceRecorder* recorder() override { return nullptr; }
  OffloadMemory* memory() override { return &backend_->device(); }
  void describe(Topology& topology) const override { topology.accelerator = to_string(device_); }

 private:
  Collective& collective_;
  const Clock& clock_;
  const EmulatedDeviceSpec device_;
  const std::unique_ptr<OffloadBackend> backend_;
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

void connect_ranges([[maybe_unused]] std::string_view device,
                    [[maybe_unused]] const std::string& profile_level) {
#ifdef HOCKET_GPT2_CUDA
  if (device.starts_with("cuda")) connect_cuda_ranges(profile_level);
#endif
}

Result<ElementType> parse_element_type(std::string_view text) {
  if (text == "float32") return ElementType::float32;
  if (text == "bfloat16") return ElementType::bfloat16;
  return invalid("--precision: expected float32 or bfloat16, found \"" + std::string(text) + "\"");
}

Result<std::unique_ptr<Platform>> open_platform(const PlatformOptions& options,
                                                Collective& collective, const Clock& clock,
                                                [[maybe_unused]] const Warn& warn) {
  const bool is_emulated = is_emulated_device(options.device);
  if (options.device == "host" || is_emulated) {
    if (options.type != ElementType::float32)
      return invalid(
          "--precision: the host computes in float32 alone; with bfloat16 use --device cuda");
    if (!is_emulated) return std::make_unique<HostPlatform>(collective, clock, options.servers);
    const auto device = parse_emulated_device(options.device);
    HOCKET_TRY(device);
    auto backend = OffloadBackend::create(*device, clock);
    if (!backend) return failure(backend.error().in("--device"));
    return std::make_unique<OffloadPlatform>(collective, clock, *device, std::move(*backend));
  }
  if (options.device != "cuda" && !options.device.starts_with("cuda:"))
    return invalid("--device: expected host, cuda or cuda:N, or " +
                   std::string(kEmulatedDeviceForm) + ", found \"" + options.device + "\"");
  const auto number = parse_cuda(options.device);
  HOCKET_TRY(number);
#ifdef HOCKET_GPT2_CUDA
  return open_cuda_platform({.device = *number,
                             .local_rank = options.local_rank,
                             .type = options.type,
                             .placed_memory_bytes = options.placed_memory_bytes,
                             .profile_level = options.profile_level},
                            collective, clock, warn);
#else
  return failure(
      ErrorCode::unavailable,
      "--device: this program was built without CUDA; configure where the CUDA toolkit is "
      "installed (docs/HACKING.md), or train on the host");
#endif
}

}  // namespace hocket
