#include "job/run/device_options.h"

#include <algorithm>
#include <charconv>

#include "core/base/text.h"
#include "core/description/step_description.h"
#include "core/step/schedule_config.h"
#include "job/training/step_measurement.h"
#include "tuner/space/size_text.h"

namespace hocket {
namespace {

constexpr std::string_view kPrefix = "emulated:", kLink = "link=";

Error wrong_device(std::string_view text, const std::string& why) {
  return {ErrorCode::invalid_argument, "--device: expected " + std::string(kEmulatedDeviceForm) +
                                           ", found \"" + std::string(text) + "\": " + why};
}

Result<void> check_measuring(const RunOptions& run) {
  if (!run.profile.empty())
    return invalid("--offload-k auto: --profile measures whatever offload_k is; leave it out");
  const std::int64_t measured = steps_to_measure(run);
  if (run.steps >= measured + 2) return {};
  return invalid("--steps: " + std::to_string(run.steps) +
                 " steps leave nothing to measure after the " + std::to_string(measured) +
                 " by which --offload-k auto decides; ask for at least " +
                 std::to_string(measured + 2));
}

Result<void> check_offload(const DeviceOptions& options, const RunOptions& run) {
  const auto layers = parse_offload_k(options.offload_k);
  HOCKET_TRY(layers);
  if (!is_placed(options)) {
    if (options.offload_k.empty()) return {};
    if (is_on_cuda(options)) {
      return invalid(
          "--offload-k: a CUDA device keeps all layers unless its memory is limited; add "
          "--memory-limit SIZE, like 8GiB");
    }
    return invalid(
        "--offload-k: only a device of limited memory leaves layers to its host; add --device " +
        std::string(kEmulatedDeviceForm) + ", or --device cuda and --memory-limit");
  }
  if (is_emulated_device(options.device)) HOCKET_TRY(parse_emulated_device(options.device));
  return layers->source == OffloadK::Source::measured ? check_measuring(run) : Result<void>();
}

}  // namespace

bool is_on_cuda(const DeviceOptions& options) {
  return options.device != "host" && !is_emulated_device(options.device);
}

bool is_placed(const DeviceOptions& options) {
  if (is_emulated_device(options.device)) return true;
  return is_on_cuda(options) && !options.offload_k.empty() && options.memory_limit_bytes > 0;
}

std::int64_t steps_to_measure(const RunOptions& run) {
  return std::max(run.warmup, kMinPlacedSteps);
}

Result<void> validate(const DeviceOptions& options, const RunOptions& run,
                      const NetworkOptions& network) {
  HOCKET_TRY(check_offload(options, run));
  if (!is_on_cuda(options)) return {};
  if (!network.link.empty())
    return invalid("--link: devices exchange sums by NCCL, whose link is not emulated");
  if (!run.record.empty())
    return invalid("--record: a device's tape could not be replayed; record on the host");
  return {};
}

bool is_emulated_device(std::string_view text) {
  return text.starts_with("emulated");
}

Result<EmulatedDeviceSpec> parse_emulated_device(std::string_view text) {
  if (!text.starts_with(kPrefix)) return failure(wrong_device(text, "no size follows"));
  const std::string_view options = text.substr(kPrefix.size());
  const std::size_t comma = options.find(',');
  const auto bytes = parse_size(options.substr(0, comma));
  if (!bytes) return failure(wrong_device(text, bytes.error().message));
  if (*bytes < DeviceArena::kAlignmentBytes || *bytes > kMaxStepTaskBytes) {
    return failure(
        wrong_device(text, "a device has at least " + std::to_string(DeviceArena::kAlignmentBytes) +
                               " B and at most " + size_with_unit(kMaxStepTaskBytes, "")));
  }
  EmulatedDeviceSpec device{.memory_bytes = *bytes};
  if (comma == std::string_view::npos) return device;
  const std::string_view link = options.substr(comma + 1);
  if (!link.starts_with(kLink)) return failure(wrong_device(text, "only link= follows the size"));
  const auto parsed = parse_link(link.substr(kLink.size()));
  if (!parsed) return failure(wrong_device(text, parsed.error().message));
  device.link = *parsed;
  return device;
}

std::string to_string(const EmulatedDeviceSpec& device) {
  std::string text = std::string(kPrefix) + size_with_unit(device.memory_bytes, "");
  if (device.link) text += "," + std::string(kLink) + to_string(*device.link);
  return text;
}

Result<OffloadK> parse_offload_k(std::string_view text) {
  if (text.empty() || text == "configured") return OffloadK{};
  if (text == "auto") return OffloadK{.source = OffloadK::Source::measured};
  OffloadK given{.source = OffloadK::Source::given};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, given.layers);
  if (error == std::errc() && rest == end && given.layers >= 0 && given.layers <= kAllLayers)
    return given;
  return failure(ErrorCode::invalid_argument,
                 "--offload-k: expected configured, auto or a number of layers from 0 to " +
                     std::to_string(kAllLayers) + ", found \"" + std::string(text) + "\"");
}

}  // namespace hocket
