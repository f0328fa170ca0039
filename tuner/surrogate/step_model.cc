#include "tuner/surrogate/step_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/collective/part_sizes.h"
#include "core/description/step_programs.h"
#include "core/step/knob.h"
#include "core/step/schedule_config.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

/// The open constants. Factors are stored as logarithms.
enum Constant : Eigen::Index {
  kComputation,  ///< factor
  kBandwidth,    ///< factor on the time of a byte
  kOverhead,     ///< factor on alpha
  kLatency,      ///< factor
  kSplit,        ///< channel_split
  kSlowdown,     ///< factor on compute_slowdown
  kSlowdownPerChannel,
  kSlowdownPerByte,  ///< value at 64 MiB in flight
  kConstants,
  // Nominal step only: growth of a layer's bytes with its position, and towards both ends.
  kTilt = kConstants,
  kBow,
  kNominalConstants,
};

struct Doubt {
  double expected, of_profile, of_nominal, difference;
};

// The times of a good profile are a few percent off, its link constants some tens of percent, and
// effects that it has not seen, such as several channels, are open.
constexpr std::array<Doubt, kNominalConstants> kDoubts{{{0, 0.05, 0.5, 0.01},
                                                        {0, 0.3, 0.5, 0.02},
                                                        {0, 0.5, 1.2, 0.05},
                                                        {0, 0.5, 1.2, 0.05},
                                                        {0.8, 0.4, 0.4, 0.05},
                                                        {0, 0.7, 1.0, 0.1},
                                                        {0.004, 0.004, 0.004, 0.002},
                                                        {0, 0.02, 0.02, 0.005},
                                                        {0, 1.5, 1.5, 0.1},
                                                        {0, 1.0, 1.0, 0.1}}};

constexpr std::array<StepModel::Meaning, kNominalConstants> kMeanings{
    {{"computation", "time of computation", true},
     {"byte_time", "time of a byte on the link", true},
     {"part_overhead", "overhead of a part", true},
     {"latency", "latency of a part", true},
     {"channel_split", "how fixed a channel's share of the link is, 0 to 1", false},
     {"compute_slowdown", "slow-down of computation by communication", true},
     {"compute_slowdown_per_channel", "more of it for each further channel", false},
     {"compute_slowdown_per_64mib", "more of it for 64 MiB in flight", false},
     {"layer_tilt", "how bytes grow from layer to layer (logarithm)", false},
     {"layer_bow", "how bytes grow towards both ends (logarithm)", false}}};

/// Spaces of recorded tables call comm_channels so.
constexpr std::string_view kShortChannels = "channels";
constexpr double kSlowdownBytes = 64 << 20;
/// Least slow-down: a profile that reports none may have missed a small one.
constexpr double kLeastSlowdown = 0.002;
/// The first iteration has no predecessor; from the second on they are alike, except in unusual
/// steps.
constexpr std::int64_t kIterations = 2;

/// Shape of a nominal step: its two properties that the open constants cannot adjust smoothly. The
/// sizes of layers decide how many parts a partition makes, and an overhead ten times as large is
/// too far for Gauss-Newton steps.
struct NominalShape {
  int layers;
  double overhead_ns;  ///< overhead of a part; the latency is five times as long
};

constexpr std::array<NominalShape, 4> kNominalShapes{{{16, 2e5}, {3, 2e5}, {48, 2e5}, {16, 2e6}}};
/// Prior probability of a described step against the nominal ones, once its profile is doubted.
/// Chosen on generated profiles of busy machines (docs/BENCHMARKS_SEARCH.md): 0.5 was worse after 5
/// trials.
constexpr double kProbabilityIfDoubted = 0.1;

/// Returns a step of one second with 60 % computation and 192 MiB that take 55 % on the link.
StepDescription nominal_step(const NominalShape& shape) {
  constexpr double second_ns = 1e9, bytes = 192 << 20;
  const int layers = shape.layers;
  StepDescription step;
  for (int i = 0; i < layers; ++i) {
    step.layers.push_back({"layer " + std::to_string(i), static_cast<std::int64_t>(bytes / layers),
                           static_cast<std::int64_t>(0.2 * second_ns / layers),
                           static_cast<std::int64_t>(0.4 * second_ns / layers)});
  }
  step.collective = {shape.overhead_ns, 0.55 * second_ns / bytes, 5 * shape.overhead_ns};
  step.compute_slowdown = 0.02;
  return step;
}

/// Moves bytes between layers: weight exp(tilt · x + bow · (2x² − 2/3)) at position x in [−1, 1].
void shape_layers(std::vector<StepLayer>& layers, double tilt, double bow) {
  double bytes = 0, weights = 0;
  std::vector<double> weight;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double x = 2.0 * static_cast<double>(i) / static_cast<double>(layers.size() - 1) - 1;
    weight.push_back(std::exp(tilt * x + bow * (2 * x * x - 2.0 / 3)));
    weights += weight.back();
    bytes += static_cast<double>(layers[i].parameter_bytes);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].parameter_bytes =
        std::max<std::int64_t>(1, std::llround(bytes * weight[i] / weights));
  }
}

void scale(std::int64_t& duration_ns, double factor) {
  duration_ns = std::min(std::llround(static_cast<double>(duration_ns) * factor),
                         static_cast<long long>(kMaxStepTaskNs));
}

/// Returns the knob that a parameter is, if the model predicts its effect; null otherwise.
const Knob* modelled_knob(std::string_view name) {
  const Knob* const knob = find_schedule_knob(name == kShortChannels ? "comm_channels" : name);
  return knob != nullptr && knob->is_modelled ? knob : nullptr;
}

/// Returns whether the model predicts the effect of the parameter `name` in every job.
bool is_known(std::string_view name) {
  const Knob* const knob = modelled_knob(name);
  return knob != nullptr && knob->effect == KnobEffect::scheduling;
}

/// Returns the value as the knob's member holds it; the default for a value of another kind.
std::int64_t number_of(const Knob& knob, const ParameterValue& value) {
  if (const auto* word = std::get_if<std::string>(&value))
    return knob.index_of(*word).value_or(knob.default_value);
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr || knob.is_choice()) return knob.default_value;
  return std::clamp(*number, knob.low, knob.high);
}

/// Returns `step` with a cost of all-reduces, if it has servers and does not say what these cost:
/// that of a ring over the ranks' links, a first guess that measurements correct.
StepDescription with_guessed_collective(StepDescription step) {
  if (has_collective_cost(step)) return step;
  const auto ranks = static_cast<double>(step.ranks);
  // A step of one rank still needs a cost to be known.
  const double sent = std::max(2 * (ranks - 1) / ranks, 1.0);
  step.collective = {.alpha_ns = step.servers->alpha_ns,
                     .beta_ns_per_byte = sent * 1e9 / step.servers->rank_link.bytes_per_second,
                     .latency_ns = 0};
  return step;
}

/// Returns whether the step has communication, which knobs other than the number of streams affect.
bool communicates(const StepDescription& step) {
  return std::ranges::any_of(step.layers,
                             [](const StepLayer& l) { return l.parameter_bytes > 0; }) ||
         std::ranges::any_of(step.tasks,
                             [](const StepTask& t) { return t.collective.has_value(); });
}

}  // namespace

std::optional<StepModel> StepModel::make(const Space& space, std::optional<StepDescription> step) {
  HOCKET_CHECK(!step || !takes_part_by_rank(*step), "readers of steps refuse these for searches");
  // The effect of knobs of placement is known where the step is placed, that of knobs of servers
  // where it has some.
  const bool is_placed = step && step->device_memory_bytes > 0;
  const bool has_servers = step && step->servers;
  const bool knows_some = std::ranges::any_of(space.parameters(), [&](const Parameter& p) {
    const Knob* const knob = modelled_knob(p.name);
    return knob != nullptr && (knob->effect == KnobEffect::scheduling ||
                               (is_placed && knob->effect == KnobEffect::placement) ||
                               (has_servers && knob->effect == KnobEffect::servers));
  });
  if (!knows_some || (step && !is_placed && !communicates(*step))) return std::nullopt;
  if (step) return StepModel(std::move(*step), false);
  return StepModel(nominal_step(kNominalShapes.front()), true);
}

std::vector<PossibleStep> StepModel::make_possible(const Space& space,
                                                   std::optional<StepDescription> step) {
  auto model = make(space, std::move(step));
  if (!model) return {};
  std::vector<PossibleStep> steps;
  double nominal = 1;
  if (!model->is_nominal()) {
    steps.push_back({std::move(*model), kProbabilityIfDoubted});
    nominal -= kProbabilityIfDoubted;
  }
  for (const NominalShape& shape : kNominalShapes)
    steps.push_back({StepModel(nominal_step(shape), true), nominal / kNominalShapes.size()});
  return steps;
}

StepModel::StepModel(StepDescription step, bool nominal)
    : step_(with_guessed_collective(std::move(step))), nominal_(nominal) {
  step_.jitter = {};
  const double uncertainty = nominal_ ? 1 : std::max(1.0, step_.quality.uncertainty);
  const Eigen::Index constants = nominal_ ? kNominalConstants : kConstants;
  expected_.resize(constants);
  deviation_.resize(constants);
  difference_.resize(constants);
  for (Eigen::Index i = 0; i < constants; ++i) {
    const Doubt& doubt = kDoubts[static_cast<std::size_t>(i)];
    expected_[i] = doubt.expected;
    // The worst profile still says no less than none.
    deviation_[i] =
        nominal_ ? doubt.of_nominal : std::min(doubt.of_profile * uncertainty, doubt.of_nominal);
    difference_[i] = doubt.difference * (nominal_ ? 2 : 1);
  }
  // A description states channel_split, but is rarely based on several channels.
  if (!nominal_) expected_[kSplit] = std::clamp(step_.channel_split, 0.1, 0.8);
}

void StepModel::widen(double factor) {
  for (Eigen::Index i = 0; i < deviation_.size(); ++i) {
    const double most = kDoubts[static_cast<std::size_t>(i)].of_nominal;
    deviation_[i] = std::max(deviation_[i], std::min(deviation_[i] * factor, most));
  }
}

bool StepModel::knows_all(const Space& space) {
  return std::ranges::all_of(space.parameters(),
                             [](const Parameter& p) { return is_known(p.name); });
}

StepModel::Meaning StepModel::meaning(Eigen::Index constant) {
  return kMeanings.at(static_cast<std::size_t>(constant));
}

StepModel::Constants StepModel::admit(Constants constants) const {
  // A constant beyond four prior deviations points to another error, which the surrogate must
  // learn.
  for (Eigen::Index i = 0; i < constants.size(); ++i) {
    constants[i] = std::clamp(constants[i], expected_[i] - 4 * deviation_[i],
                              expected_[i] + 4 * deviation_[i]);
  }
  constants[kSplit] = std::clamp(constants[kSplit], 0.0, 1.0);
  constants[kSlowdownPerChannel] = std::max(constants[kSlowdownPerChannel], 0.0);
  constants[kSlowdownPerByte] = std::max(constants[kSlowdownPerByte], 0.0);
  return constants;
}

ScheduleConfig StepModel::config(const Params& params) const {
  ScheduleConfig config;
  for (const auto& [name, value] : params) {
    const Knob* const knob = modelled_knob(name);
    if (knob == nullptr || (knob->effect == KnobEffect::servers && !step_.servers)) continue;
    knob->member.set(config, number_of(*knob, value));
  }
  // The simulator models negotiated order for every order that starts the most urgent collective
  // first.
  if (config.order != CollectiveOrder::fifo) config.order = CollectiveOrder::negotiated;
  // Candidates that differ only in these are alike among the ranks.
  if (config.communication == Communication::all_reduce) set_defaults(config, KnobEffect::servers);
  return config;
}

StepDescription StepModel::step_with(const Constants& constants) const {
  StepDescription step = step_;
  const double computation = std::exp(constants[kComputation]);
  if (nominal_) shape_layers(step.layers, constants[kTilt], constants[kBow]);
  for (StepLayer& layer : step.layers) {
    scale(layer.forward_ns, computation);
    scale(layer.backward_ns, computation);
  }
  for (StepTask& task : step.tasks) {
    scale(task.duration_ns, computation);
    scale(task.host_duration_ns, computation);
  }
  step.collective.alpha_ns *= std::exp(constants[kOverhead]);
  step.collective.beta_ns_per_byte *= std::exp(constants[kBandwidth]);
  step.collective.latency_ns *= std::exp(constants[kLatency]);
  const auto scale_link = [&](LinkSpec& link) {
    link.bytes_per_second *= std::exp(-constants[kBandwidth]);
    link.latency_ns =
        std::llround(static_cast<double>(link.latency_ns) * std::exp(constants[kLatency]));
  };
  if (step.cluster) {
    scale_link(step.cluster->host_link);
    scale_link(step.cluster->network_link);
  }
  if (step.servers) {
    scale_link(step.servers->rank_link);
    scale_link(step.servers->server_link);
    step.servers->alpha_ns *= std::exp(constants[kOverhead]);
    step.servers->overhead_bytes *= std::exp(constants[kOverhead]);
  }
  step.channel_split = constants[kSplit];
  step.compute_slowdown =
      std::max(step.compute_slowdown, kLeastSlowdown) * std::exp(constants[kSlowdown]);
  step.compute_slowdown_per_channel += constants[kSlowdownPerChannel];
  step.compute_slowdown_per_byte += constants[kSlowdownPerByte] / kSlowdownBytes;
  return step;
}

StepModel::Step StepModel::with(const Constants& constants) const {
  return Step(step_with(constants));
}

StepModel::Step::Step(StepDescription step) : step_(std::move(step)) {
  if (auto prepared = PreparedStep::make(step_)) prepared_ = std::move(*prepared);
}

double StepModel::Step::log_time(const ScheduleConfig& config) const {
  const auto iteration_ns =
      prepared_ ? prepared_->iteration_ns(config, kIterations).value_or(kMaxStepNs) : kMaxStepNs;
  return std::log(static_cast<double>(std::max<std::int64_t>(1, iteration_ns)));
}

double StepModel::Step::log_time_at_least(const ScheduleConfig& config) const {
  const StepDescription& step = step_;
  // The computation of a placed step on the streams depends on where it is placed, and few of its
  // periods settle within the iterations that log_time() simulates.
  if (step.device_memory_bytes > 0) return 0;
  double compute_ns = 0, channel_ns = 0, window_byte_ns = 0;
  const PartCost& cost = step.collective;
  const double spread = 1 + step.channel_split * (config.comm_channels - 1);
  const auto communicate = [&](std::int64_t whole) {
    // A cluster, or buckets, pieces and stages, divide collectives into other parts than these, and
    // servers take them over other links.
    if (whole == 0 || step.cluster || is_partitioned(config) ||
        config.communication == Communication::parameter_server)
      return;
    const auto bytes = static_cast<double>(whole);
    const auto parts = static_cast<double>(part_count(whole, config.partition_bytes));
    const double sent_ns = cost.beta_ns_per_byte * bytes;
    channel_ns += parts * cost.alpha_ns / config.comm_channels + sent_ns;
    window_byte_ns += bytes * (cost.alpha_ns + cost.latency_ns + sent_ns / parts * spread);
  };
  for (const StepLayer& layer : step.layers) {
    compute_ns += static_cast<double>(layer.forward_ns + layer.backward_ns);
    communicate(layer.parameter_bytes);
  }
  for (const StepTask& task : step.tasks) {
    compute_ns += static_cast<double>(task.duration_ns);
    if (task.collective == CollectiveKind::all_reduce && task.group == CollectiveGroup::world)
      communicate(task.bytes);
  }
  const auto window = static_cast<double>(std::max(config.credit_bytes, config.partition_bytes));
  return std::log(
      std::max({1.0, compute_ns / config.streams, channel_ns, window_byte_ns / window}));
}

}  // namespace hocket
