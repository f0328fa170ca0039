// The table of the knobs: a row each, which names the member of ScheduleConfig that it is and,
// where regions have it, that of RegionOverrides. docs/HACKING.md, "Adding a knob".

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/step/knob.h"
#include "core/step/schedule_config.h"
#include "core/step/task.h"

namespace hocket {
namespace {

constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20, GiB = 1 << 30;

template <class T>
struct WithoutOptional {
  using Value = T;
};
template <class T>
struct WithoutOptional<std::optional<T>> {
  using Value = T;
};

template <class Owner, auto kMember>
KnobMember<Owner> member() {
  using Value = typename WithoutOptional<
      std::remove_cvref_t<decltype(std::declval<Owner&>().*kMember)>>::Value;
  return {
      .get = [](const Owner& owner) -> std::optional<std::int64_t> {
        const std::optional<Value> value = owner.*kMember;
        if (!value) return std::nullopt;
        return static_cast<std::int64_t>(*value);
      },
      .set = [](Owner& owner, std::int64_t value) { owner.*kMember = static_cast<Value>(value); }};
}

/// Takes the words of a choice from its type.
template <class Value>
void add_words(Knob& knob) {
  if constexpr (KnobChoice<Value>)
    knob.choices.assign(kChoiceWords<Value>.begin(), kChoiceWords<Value>.end());
}

/// Returns the row of a knob that is `kMember` of ScheduleConfig and `kOverride` of
/// RegionOverrides; nullptr for one that only the other has.
template <auto kMember, auto kOverride = nullptr>
Knob row(Knob knob) {
  if constexpr (!std::is_null_pointer_v<decltype(kMember)>) {
    knob.member = member<ScheduleConfig, kMember>();
    knob.default_value = knob.value_in(ScheduleConfig{});
    add_words<std::remove_cvref_t<decltype(std::declval<ScheduleConfig&>().*kMember)>>(knob);
  }
  if constexpr (!std::is_null_pointer_v<decltype(kOverride)>)
    knob.region_member = member<RegionOverrides, kOverride>();
  return knob;
}

std::vector<Knob> table() {
  using C = ScheduleConfig;
  using R = RegionOverrides;
  return {
      row<&C::partition_bytes, &R::partition_bytes>(
          {.name = "partition_bytes",
           .meaning = "most bytes of a part of a collective",
           .unit = "B",
           .low = 4 * KiB,
           .high = 1 * GiB,
           .tune_low = 64 * KiB,
           .tune_high = 64 * MiB,
           .log = true,
           .is_for_tensors = true,
           .is_modelled = true,
           .is_always_written = true}),
      row<&C::credit_bytes>({.name = "credit_bytes",
                             .meaning = "most bytes of parts in flight",
                             .unit = "B",
                             .low = 4 * KiB,
                             .high = 16 * GiB,
                             .tune_low = 64 * KiB,
                             .tune_high = 256 * MiB,
                             .log = true,
                             .is_for_tensors = true,
                             .is_modelled = true,
                             .is_always_written = true}),
      row<&C::streams, &R::streams>({.name = "streams",
                                     .meaning = "computations at once",
                                     .low = 1,
                                     .high = 64,
                                     .tune_low = 1,
                                     .tune_high = 4,
                                     .is_modelled = true,
                                     .is_always_written = true}),
      row<&C::comm_channels>({.name = "comm_channels",
                              .meaning = "parts on the wire at once",
                              .low = 1,
                              .high = 16,
                              .tune_low = 1,
                              .tune_high = 8,
                              .log = true,
                              .is_for_tensors = true,
                              .is_modelled = true,
                              .is_always_written = true}),
      row<&C::order>({.name = "order",
                      .meaning = "which collective starts first",
                      .other_spellings = {{"priority", "negotiated"}},
                      .is_for_tensors = true,
                      .is_modelled = true,
                      .is_always_written = true}),
      row<&C::communication>({.name = "communication",
                              .meaning = "a sum of gradients among ranks or over parameter servers",
                              .search = KnobSearch::with_servers,
                              .effect = KnobEffect::servers,
                              .is_modelled = true}),
      row<&C::pull_credit_bytes>(
          {.name = "pull_credit_bytes",
           .meaning = "most bytes of parts being pulled from servers, 0: credit_bytes",
           .unit = "B",
           .low = 0,
           .high = 16 * GiB,
           .tune_low = 64 * KiB,
           .tune_high = 256 * MiB,
           .log = true,
           .search = KnobSearch::none,
           .effect = KnobEffect::servers,
           .is_modelled = true}),
      row<&C::bucket_bytes, &R::bucket_bytes>(
          {.name = "bucket_bytes",
           .meaning = "most bytes of all-reduces fused into one",
           .unit = "B",
           .low = 0,
           .high = 1 * GiB,
           .tune_low = 1 * MiB,
           .tune_high = 64 * MiB,
           .log = true,
           .search = KnobSearch::none,
           .effect = KnobEffect::partitioning}),
      row<&C::primitive, &R::primitive>({.name = "primitive",
                                         .meaning = "an all-reduce as one collective or as two",
                                         .search = KnobSearch::none,
                                         .effect = KnobEffect::partitioning}),
      row<&C::group_ranks, &R::group_ranks>(
          {.name = "group_ranks",
           .meaning = "ranks of a host, to communicate inside hosts first",
           .low = 1,
           .high = 1 << 20,
           .tune_low = 1,
           .tune_high = 16,
           .log = true,
           .search = KnobSearch::none,
           .effect = KnobEffect::partitioning}),
      row<&C::launch, &R::launch>({.name = "launch",
                                   .meaning = "when the last stage of a collective starts",
                                   .search = KnobSearch::none,
                                   .effect = KnobEffect::partitioning}),
      row<&C::compute_parts, &R::compute_parts>({.name = "compute_parts",
                                                 .meaning = "most pieces of a computation",
                                                 .low = 1,
                                                 .high = 64,
                                                 .tune_low = 1,
                                                 .tune_high = 8,
                                                 .log = true,
                                                 .search = KnobSearch::none,
                                                 .effect = KnobEffect::partitioning}),
      row<&C::compute_order>({.name = "compute_order",
                              .meaning = "which ready computation runs first",
                              .search = KnobSearch::none,
                              .effect = KnobEffect::partitioning}),
      row<&C::micro_batches_kept>({.name = "micro_batches_kept",
                                   .meaning = "micro-batches that go backward together",
                                   .low = 1,
                                   .high = 1024,
                                   .tune_low = 1,
                                   .tune_high = 16,
                                   .log = true,
                                   .search = KnobSearch::none,
                                   .effect = KnobEffect::partitioning}),
      row<&C::offload_k>({.name = "offload_k",
                          .meaning = "layers that a device of limited memory keeps and updates",
                          .low = 0,
                          .high = kAllLayers,
                          .tune_low = 0,
                          .tune_high = 64,
                          .search = KnobSearch::none,
                          .effect = KnobEffect::placement,
                          .is_modelled = true}),
      row<&C::prefetch_layers>({.name = "prefetch_layers",
                                .meaning = "layers by which copies to such a device run ahead",
                                .low = 0,
                                .high = 64,
                                .tune_low = 0,
                                .tune_high = 4,
                                .search = KnobSearch::none,
                                .effect = KnobEffect::placement,
                                .is_modelled = true}),
      row<&C::step_issue>({.name = "step_issue",
                           .meaning = "how a device gets a step",
                           .search = KnobSearch::none,
                           .effect = KnobEffect::issue}),
      row<nullptr, &R::priority>({.name = "priority",
                                  .meaning = "how urgent the region is, 0 most",
                                  .low = 0,
                                  .high = kPriorityLevels - 1,
                                  .tune_low = 0,
                                  .tune_high = 64,
                                  .search = KnobSearch::none,
                                  .effect = KnobEffect::partitioning}),
  };
}

struct Tables {
  std::vector<Knob> of_step, of_region;
};

Tables split_table() {
  Tables tables;
  for (const Knob& knob : table()) {
    if (knob.member.get != nullptr) tables.of_step.push_back(knob);
    if (knob.region_member.get != nullptr) tables.of_region.push_back(knob);
  }
  return tables;
}

// Never destroyed: an abandoned call may still read a configuration at exit.
const Tables& tables() {
  static const Tables& all = *new Tables(split_table());
  return all;
}

}  // namespace

std::span<const Knob> schedule_knobs() {
  return tables().of_step;
}

std::span<const Knob> region_knobs() {
  return tables().of_region;
}

}  // namespace hocket
