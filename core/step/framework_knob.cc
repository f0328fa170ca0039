#include "core/step/framework_knob.h"

#include <algorithm>
#include <array>

#include "core/base/nearest_name.h"

namespace hocket {
namespace {

constexpr std::int64_t kBytesOfMiB = 1 << 20;

constexpr std::array<FrameworkKnob, 10> kFrameworkKnobs{{
    {"bucket_cap_mb", "DDP", "bucket_bytes", kBytesOfMiB, "counts MiB"},
    {"HOROVOD_FUSION_THRESHOLD", "Horovod", "bucket_bytes", 1, "counts bytes"},
    {"fusion_threshold_mb", "horovodrun", "bucket_bytes", kBytesOfMiB, "counts MiB"},
    {"HOROVOD_CYCLE_TIME", "Horovod", "", 0,
     "a bucket starts as soon as all its gradients are there, without cycles"},
    {"cycle_time_ms", "horovodrun", "", 0,
     "a bucket starts as soon as all its gradients are there, without cycles"},
    {"HOROVOD_NUM_NCCL_STREAMS", "Horovod", "comm_channels", 1, "counts streams"},
    {"BYTEPS_PARTITION_BYTES", "BytePS", "partition_bytes", 1, "counts bytes"},
    {"reduce_bucket_size", "DeepSpeed", "bucket_bytes", 0,
     "counts elements: multiply them by the bytes of one"},
    {"backward_prefetch", "FSDP", "", 0, "parameters are gathered once a step, before forward"},
    {"limit_all_gathers", "FSDP", "", 0, "credit_bytes bounds what is in flight instead"},
}};

/// Returns `name` in lower case and with underscores, without the dashes of an option.
std::string plain_name(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string plain = lower_case(name);
  std::ranges::replace(plain, '-', '_');
  return plain;
}

}  // namespace

std::span<const FrameworkKnob> framework_knobs() {
  return kFrameworkKnobs;
}

const FrameworkKnob* find_framework_knob(std::string_view name) {
  const auto found =
      std::ranges::find(kFrameworkKnobs, plain_name(name),
                        [](const FrameworkKnob& known) { return plain_name(known.name); });
  return found == kFrameworkKnobs.end() ? nullptr : &*found;
}

std::string in_own_words(const FrameworkKnob& other) {
  const std::string framework(other.framework), name(other.name), remark(other.remark);
  if (other.knob.empty()) return framework + "'s " + name + " has no knob here: " + remark;
  return "hocket's knob is " + std::string(other.knob) + ", " + framework + " calls it " + name +
         " and " + remark;
}

}  // namespace hocket
