#include "cli/inputs/config/schedule_preset.h"

#include <algorithm>

#include "core/base/nearest_name.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// Frameworks start collectives one after the other in the order of the backward pass, whole and
/// without a limit on what is in flight.
ScheduleConfig whole_in_order(std::int64_t bucket_bytes) {
  ScheduleConfig config;
  config.partition_bytes = find_knob("partition_bytes")->high;
  config.credit_bytes = find_knob("credit_bytes")->high;
  config.bucket_bytes = bucket_bytes;
  return config;
}

/// DistributedDataParallel in torch/nn/parallel/distributed.py and its Reducer: bucket_cap_mb=25.
SchedulePreset ddp() {
  return {.name = "ddp",
          .title = "DDP's defaults",
          .meaning = "PyTorch's DistributedDataParallel: buckets of 25 MiB",
          .config = whole_in_order(25 * kMiB),
          .differences = {"DDP's first bucket has 1 MiB while bucket_cap_mb is not given; here all "
                          "buckets have bucket_bytes",
                          "DDP closes a bucket when it has reached bucket_cap_mb; here a bucket "
                          "stays within bucket_bytes"}};
}

/// Horovod since 0.21: HOROVOD_FUSION_THRESHOLD=134217728 and HOROVOD_CYCLE_TIME=1.
SchedulePreset horovod() {
  return {.name = "horovod",
          .title = "Horovod's defaults",
          .meaning = "Horovod: tensor fusion up to 128 MiB",
          .config = whole_in_order(128 * kMiB),
          .differences = {
              "Horovod sends what is ready once in a cycle of 1 ms; here a bucket waits "
              "until it is full or the backward pass ends, so Horovod as a rule lies between "
              "this prediction and that of bucket_bytes=0, which fuses nothing",
              "the time in which Horovod's ranks agree on what is ready is not "
              "predicted"}};
}

/// FullyShardedDataParallel: reduce-scatters in the backward pass, and all-gathers in the order in
/// which the forward pass needs them.
SchedulePreset fsdp() {
  ScheduleConfig config = whole_in_order(0);
  config.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  config.launch = CollectiveLaunch::deferred;
  return {.name = "fsdp",
          .title = "FSDP's defaults",
          .meaning = "PyTorch's FullyShardedDataParallel: reduce-scatters, then all-gathers",
          .config = std::move(config),
          .differences = {"FSDP gathers the parameters again for the backward pass (FULL_SHARD); "
                          "here they are gathered once a step, as by SHARD_GRAD_OP, so a third of "
                          "FULL_SHARD's communication is missing",
                          "each all-reduce of the step is taken for a wrapped unit",
                          "backward_prefetch and limit_all_gathers are not modelled: a gather "
                          "starts when the one before has left the link"}};
}

SchedulePreset hocket_itself() {
  return {.name = "hocket",
          .title = "hocket's defaults",
          .meaning = "a job on hocket's scheduler without tuning",
          .config = {},
          .differences = {}};
}

}  // namespace

// Never destroyed, like the knobs.
std::span<const SchedulePreset> schedule_presets() {
  static const auto& presets =
      *new std::vector<SchedulePreset>{ddp(), horovod(), fsdp(), hocket_itself()};
  return presets;
}

const SchedulePreset* find_preset(std::string_view name) {
  const auto presets = schedule_presets();
  const auto found = std::ranges::find(presets, name, &SchedulePreset::name);
  return found == presets.end() ? nullptr : &*found;
}

Error unknown_preset(std::string_view name) {
  std::vector<KnownName> known;
  for (const SchedulePreset& preset : schedule_presets())
    known.push_back({preset.name, preset.meaning});
  return {ErrorCode::invalid_argument,
          "no preset is named \"" + std::string(name) + "\"; " + nearest_and_all(name, known)};
}

}  // namespace hocket
