#include "examples/gpt2/model/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/check.h"
#include "core/random/split_mix.h"
#include "core/step/rank_grid.h"

namespace hocket {
namespace {

/// Granularity of a divided update.
constexpr std::int64_t kUnitBytes = kBlockAlignmentBytes;

}  // namespace

std::size_t GroupSpec::size() const {
  std::size_t total = 0;
  for (const ParameterSpec& parameter : parameters) total += parameter.size;
  return total;
}

std::vector<GroupSpec> parameter_groups(const Gpt2Config& config) {
  const std::size_t d = config.d_model;
  constexpr float kDeviation = 0.02f;
  const float residual_deviation = kDeviation / std::sqrt(2.0f * static_cast<float>(config.layers));
  const auto matrix = [](std::size_t in, std::size_t out, float deviation) {
    return ParameterSpec{.size = in * out, .initial_stddev = deviation, .decay = true};
  };
  const auto bias = [](std::size_t size) { return ParameterSpec{.size = size}; };
  const ParameterSpec gain{.size = d, .initial_mean = 1};
  const ParameterSpec positions{.size = config.sequence * d, .initial_stddev = 0.01f};

  std::vector<GroupSpec> groups;
  groups.push_back(
      {"embedding", "embedding", 0, {matrix(config.vocabulary, d, kDeviation), positions}});
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string block = "block." + std::to_string(layer);
    const std::string region = "layer" + std::to_string(layer);
    groups.push_back({block + ".attention",
                      region,
                      1 + layer,
                      {gain, bias(d), matrix(d, 3 * d, kDeviation), bias(3 * d),
                       matrix(d, d, residual_deviation), bias(d)}});
    groups.push_back({block + ".mlp",
                      region,
                      1 + layer,
                      {gain, bias(d), matrix(d, 4 * d, kDeviation), bias(4 * d),
                       matrix(4 * d, d, residual_deviation), bias(d)}});
  }
  groups.push_back({"final_norm", "head", 1 + config.layers, {gain, bias(d)}});
  return groups;
}

namespace {

/// Returns the factor that makes a mean of gradients that were summed over ranks and micro-batches.
double gradient_scale(const TrainingOptions& options) {
  return 1.0 / (static_cast<double>(options.world_size) * options.micro_batches);
}

}  // namespace

ParameterGroup::Elements ParameterGroup::own_elements(std::size_t size,
                                                      const TrainingOptions& options) {
  if (options.update_on_servers) return {0, 0};
  if (!options.shard_optimizer) return {0, size};
  const auto bytes = static_cast<std::int64_t>(size * sizeof(float));
  const BlockRange block = block_range(bytes, options.grid(), options.rank);
  return {static_cast<std::size_t>(block.begin) / sizeof(float),
          static_cast<std::size_t>(block.end) / sizeof(float)};
}

ParameterGroup::ParameterGroup(Backend& backend, const GroupSpec& spec, std::size_t place,
                               std::size_t groups, const TrainingOptions& options)
    : backend_(backend),
      spec_(spec),
      options_(options),
      own_(own_elements(spec.size(), options)),
      sum_task_(spec.name, "backward", spec.layer),
      update_task_(spec.name + ".adamw", "update", spec.layer),
      gather_task_(spec.name + ".gather", "backward", spec.layer),
      round_task_(spec.name + ".round", "update", spec.layer),
      priorities_(static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(groups)),
      parameters_(backend.allocate(BufferUse::master, spec.size())),
      weights_(backend.element_type() == ElementType::float32
                   ? parameters_
                   : backend.allocate(BufferUse::weights, spec.size())),
      gradients_(backend.allocate(BufferUse::master, spec.size())),
      first_moment_(backend.allocate(BufferUse::master, own_.end - own_.begin)),
      second_moment_(backend.allocate(BufferUse::master, own_.end - own_.begin)) {
  const std::uint64_t key = random_bits(random_key(options.seed, RandomUse::parameters), place);
  std::vector<float> values(spec.size());
  std::size_t index = 0;
  for (const ParameterSpec& parameter : spec_.parameters) {
    offsets_.push_back(index);
    for (const std::size_t end = index + parameter.size; index < end; ++index) {
      values[index] = parameter.initial_mean + parameter.initial_stddev * random_normal(key, index);
    }
  }
  update_task_.place.updates_layer = spec_.layer_number;
  HOCKET_CHECK(offsets_.size() <= kMostAdamWRanges, "an update takes all parameters of a group");
  backend.store(parameters_, values);
  backend.store(weights_, values);
  divide_update();
  updates_ = backend.allocate_count(update_units_);
  served_step_ = {.kind = OptimizerKind::adamw,
                  .gradient_scale = gradient_scale(options),
                  .learning_rate = options.adamw.learning_rate,
                  .beta1 = options.adamw.beta1,
                  .beta2 = options.adamw.beta2,
                  .epsilon = options.adamw.epsilon};
}

void ParameterGroup::divide_update() {
  if (!backend_.divides() || options_.update_on_servers) return;
  const auto bytes = static_cast<std::int64_t>(spec_.size() * sizeof(float));
  // Sizes are equal on all ranks; where a rank's block is shorter, its last pieces are shorter.
  const bool of_block = options_.shard_optimizer;
  const std::int64_t whole = of_block ? block_bytes(bytes, options_.world_size) : bytes;
  const std::int64_t unit_bytes = std::min(whole, kUnitBytes);
  update_units_ = whole / unit_bytes;
  const DimensionSlice slice{.data = {},
                             .begin_bytes = 0,
                             .bytes_per_unit = unit_bytes,
                             .tail_bytes = whole - update_units_ * unit_bytes,
                             .of_block = of_block};
  DimensionSlice of_moment = slice;
  of_moment.of_block = false;  // a rank has the moments of its own block alone
  update_task_.place.dimensions = {{.name = "elements",
                                    .kind = DimensionKind::outer,
                                    .extent = update_units_,
                                    .slices = {slice, slice, of_moment, of_moment}}};
}

void ParameterGroup::attach(Submitter& submitter) {
  HOCKET_CHECK(!options_.shard_optimizer || submitter.grid() == options_.grid(),
               "a rank owns the same block of moments, gradients and parameters");
  const DataPlace of_layer{.layer = spec_.layer_number};
  parameters_.attach(submitter, spec_.name + ".parameters", of_layer);
  // Where they are one buffer, its name is one, too.
  weights_.id = parameters_.id;
  first_moment_.attach(submitter, spec_.name + ".first_moment", of_layer);
  second_moment_.attach(submitter, spec_.name + ".second_moment", of_layer);
  gradients_.attach(submitter, spec_.name + ".gradients", {.is_transient = true});
  gradient_data_.clear();
  for (std::size_t pair = 0; 2 * pair < offsets_.size(); ++pair) {
    gradient_data_.push_back(
        submitter.add_data({.is_transient = true, .range_of = gradients_.id.index},
                           spec_.name + ".gradients." + std::to_string(pair)));
  }
  if (!options_.update_on_servers)
    update_task_.attach({gradients_.id, parameters_.id, first_moment_.id, second_moment_.id});
}

void ParameterGroup::submit_served_update(Submitter& submitter) {
  const std::span gradients(static_cast<float*>(gradients_.memory), gradients_.size);
  const std::span parameters(static_cast<float*>(parameters_.memory), parameters_.size);
  submitter.optimizer_step(sum_task_.options(priorities_.communication), gradients_.id, gradients,
                           served_step_);
  submitter.compute(update_task_.options(priorities_.forward),
                    std::array{hocket::update(gradients_.id), hocket::update(parameters_.id)},
                    [this, gradients, parameters] {
                      std::size_t begin = 0;
                      for (const ParameterSpec& parameter : spec_.parameters) {
                        subtract_steps(options_.adamw, parameter.decay,
                                       gradients.subspan(begin, parameter.size),
                                       parameters.subspan(begin, parameter.size));
                        begin += parameter.size;
                      }
                      ++served_step_.update;
                    });
}

void ParameterGroup::submit_update(Submitter& submitter) {
  if (options_.update_on_servers) return submit_served_update(submitter);
  const std::span gradients(static_cast<float*>(gradients_.memory), gradients_.size);
  const TaskOptions sum = sum_task_.options(priorities_.communication);
  if (options_.shard_optimizer) {
    submitter.reduce_scatter(sum, gradients_.id, gradients);
  } else {
    submitter.all_reduce(sum, gradients_.id, gradients);
  }
  submit_divisible(submitter, update_task_, priorities_.forward,
                   // Gradients are overwritten only after this.
                   std::array{hocket::update(gradients_.id), hocket::update(parameters_.id),
                              hocket::update(first_moment_.id), hocket::update(second_moment_.id)},
                   [this](const TaskPiece& piece) { update(piece); });
  if (!options_.shard_optimizer) return;
  submitter.all_gather(gather_task_.options(priorities_.communication), parameters_.id,
                       {static_cast<float*>(parameters_.memory), parameters_.size});
  if (weights_.memory == parameters_.memory) return;
  submitter.compute(
      round_task_.options(priorities_.forward), std::array{hocket::update(parameters_.id)}, [this] {
        backend_.round_weights({parameters_, 0, parameters_.size}, {weights_, 0, weights_.size});
      });
}

void ParameterGroup::update(const TaskPiece& piece) {
  const auto unit = static_cast<std::int64_t>(kUnitBytes / sizeof(float));
  const auto at = [&](std::int64_t units) {
    return std::min(own_.begin + static_cast<std::size_t>(units * unit), own_.end);
  };
  const std::int64_t end_unit = std::min(piece.end, update_units_);
  const std::size_t first = at(piece.begin),
                    last = end_unit < update_units_ ? at(end_unit) : own_.end;
  std::array<AdamWRange, kMostAdamWRanges> ranges;
  std::size_t count = 0;
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const std::size_t begin = std::max(first, offsets_[i]);
    const std::size_t end = std::min(last, offsets_[i] + spec_.parameters[i].size);
    if (begin < end) ranges[count++] = {end - begin, spec_.parameters[i].decay};
  }
  // All pieces of a step precede those of the next step, since its gradients are computed with the
  // parameters of the whole group.
  const std::size_t size = last - first, of_own = first - own_.begin;
  backend_.adamw_update(options_.adamw, updates_, end_unit - piece.begin, gradient_scale(options_),
                        std::span(ranges).first(count), {gradients_, first, size},
                        {parameters_, first, size}, {first_moment_, of_own, size},
                        {second_moment_, of_own, size}, {weights_, first, size});
}

std::int64_t ParameterGroup::optimizer_bytes() const {
  return static_cast<std::int64_t>((first_moment_.size + second_moment_.size) * sizeof(float));
}

}  // namespace hocket
