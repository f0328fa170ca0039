#include "core/step/hidden_knob.h"

#include <algorithm>
#include <utility>

#include "core/step/knob.h"

namespace hocket {
namespace {

/// Returns for example "64MiB", or "65537" where no unit divides it: what a command line takes.
std::string size_text(std::int64_t bytes) {
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
  for (const auto& [factor, unit] : kUnits) {
    if (bytes >= factor && bytes % factor == 0) return std::to_string(bytes / factor) + unit;
  }
  return std::to_string(bytes);
}

/// A knob with its value, as it applies to the whole step or to a region.
struct Setting {
  std::string name;
  std::int64_t value = 0;

  std::string text() const {
    const Knob* const knob = find_knob(name);
    return name + "=" +
           (knob != nullptr && knob->is_size() ? size_text(value) : std::to_string(value));
  }
};

/// Returns the setting of a region: its override, or else what the whole step has.
Setting setting_in(const std::string& region, const std::optional<std::int64_t>& override_value,
                   const Setting& whole) {
  if (!override_value) return whole;
  return {std::string(kRegionKnobPrefix) + region + "." + whole.name, *override_value};
}

class HiddenKnobs {
 public:
  HiddenKnobs(const ScheduleConfig& config, const StepSizes& step)
      : credit_{"credit_bytes", config.credit_bytes},
        channels_{"comm_channels", config.comm_channels},
        step_(step) {}

  void check_buckets(const Setting& bucket, const Setting& partition) {
    if (bucket.value <= partition.value) return;
    add(bucket, partition.name, partition.text(),
        "a bucket is cut again into parts of at most " + size_text(partition.value) +
            ", so partition_bytes decides what is sent at once and a larger bucket only fills "
            "these parts better; to send whole buckets, set " +
            Setting{partition.name, bucket.value}.text());
  }

  void check_window(const Setting& bucket, const Setting& partition) {
    const auto [part_bytes, by, by_text] = largest_part(bucket, partition);
    if (credit_.value < part_bytes) {
      add(credit_, by, by_text,
          "parts have up to " + size_text(part_bytes) +
              ", and one that is larger than the window is sent alone, however small the window "
              "is; for parts side by side, make the window larger or the parts smaller");
    }
    const std::int64_t at_once = std::max<std::int64_t>(credit_.value / part_bytes, 1);
    if (channels_.value > at_once) {
      add(channels_, credit_.name, credit_.text(),
          "the window has room for " + count_text(at_once) + " of " + size_text(part_bytes) +
              ", so other channels stay empty; to use all, set " +
              Setting{credit_.name, channels_.value * part_bytes}.text() +
              " or make the parts smaller");
    }
  }

  void check_parts() {
    if (!step_.parts || channels_.value <= *step_.parts || *step_.parts == 0) return;
    add(channels_, kStep, kStep,
        "a step has only " + count_text(*step_.parts) + ", so other channels stay empty");
  }

  void check_issue(const ScheduleConfig& config) {
    if (config.step_issue != StepIssue::graph || config.order != CollectiveOrder::negotiated)
      return;
    found_.push_back({"step_issue", "order",
                      "order=negotiated decides, not step_issue=graph: an order that is negotiated "
                      "while the step runs needs it task by task; for graphs, set order=fifo or "
                      "order=static"});
  }

  void check_servers(const ScheduleConfig& config) {
    if (config.communication == Communication::parameter_server) return;
    for (const Knob& knob : schedule_knobs()) {
      if (knob.effect != KnobEffect::servers || knob.has_default(config)) continue;
      const Setting setting{std::string(knob.name), knob.value_in(config)};
      found_.push_back({setting.name, "communication",
                        "communication=all_reduce decides, not " + setting.text() +
                            ": it has an effect on sums over parameter servers alone; for these, "
                            "set communication=parameter_server"});
    }
  }

  std::vector<HiddenKnob> take() { return std::move(found_); }

 private:
  static constexpr const char* kStep = "the step";

  struct LargestPart {
    std::int64_t bytes = 0;
    std::string by, by_text;  ///< name of the knob that decides the size, and its text
  };

  /// A collective that is larger than a bucket is one by itself.
  LargestPart largest_part(const Setting& bucket, const Setting& partition) const {
    const bool is_known = step_.largest_collective_bytes || bucket.value > 0;
    const std::int64_t collective_bytes = step_.largest_collective_bytes.value_or(0);
    const std::int64_t whole_bytes = std::max<std::int64_t>({bucket.value, collective_bytes, 1});
    if (!is_known || partition.value <= whole_bytes)
      return {partition.value, partition.name, partition.text()};
    if (bucket.value >= collective_bytes) return {whole_bytes, bucket.name, bucket.text()};
    return {whole_bytes, kStep, kStep};
  }

  static std::string count_text(std::int64_t parts) {
    return std::to_string(parts) + (parts == 1 ? " part" : " parts");
  }

  void add(const Setting& hidden, const std::string& by, const std::string& by_text,
           const std::string& why) {
    HiddenKnob knob{hidden.name, by, by_text + " decides, not " + hidden.text() + ": " + why};
    // A region repeats what the whole step has where it has no values of its own.
    if (std::ranges::find(found_, knob) == found_.end()) found_.push_back(std::move(knob));
  }

  const Setting credit_, channels_;
  const StepSizes step_;
  std::vector<HiddenKnob> found_;
};

}  // namespace

std::vector<HiddenKnob> hidden_knobs(const ScheduleConfig& config, const StepSizes& step) {
  HiddenKnobs hidden(config, step);
  const Setting bucket{"bucket_bytes", config.bucket_bytes};
  const Setting partition{"partition_bytes", config.partition_bytes};
  hidden.check_buckets(bucket, partition);
  hidden.check_window(bucket, partition);
  for (const auto& [name, region] : config.regions) {
    const Setting own_bucket = setting_in(name, region.bucket_bytes, bucket);
    const Setting own_partition = setting_in(name, region.partition_bytes, partition);
    hidden.check_buckets(own_bucket, own_partition);
    hidden.check_window(own_bucket, own_partition);
  }
  hidden.check_parts();
  hidden.check_issue(config);
  hidden.check_servers(config);
  return hidden.take();
}

}  // namespace hocket
