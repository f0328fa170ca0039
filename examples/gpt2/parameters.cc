#include "examples/gpt2/parameters.h"

#include <array>
#include <cmath>

#include "examples/gpt2/random.h"

namespace hocket {

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
  groups.push_back({"embedding", {matrix(config.vocabulary, d, kDeviation), positions}});
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string block = "block." + std::to_string(layer);
    groups.push_back({block + ".attention",
                      {gain, bias(d), matrix(d, 3 * d, kDeviation), bias(3 * d),
                       matrix(d, d, residual_deviation), bias(d)}});
    groups.push_back({block + ".mlp",
                      {gain, bias(d), matrix(d, 4 * d, kDeviation), bias(4 * d),
                       matrix(4 * d, d, residual_deviation), bias(d)}});
  }
  groups.push_back({"final_norm", {gain, bias(d)}});
  return groups;
}

ParameterGroup::ParameterGroup(Backend& backend, const GroupSpec& spec, std::size_t place,
                               std::size_t groups, std::uint64_t seed)
    : backend_(backend),
      spec_(spec),
      update_name_(spec.name + ".adamw"),
      priorities_(static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(groups)),
      parameters_(backend.allocate(BufferUse::master, spec.size())),
      weights_(backend.element_type() == ElementType::float32
                   ? parameters_
                   : backend.allocate(BufferUse::weights, spec.size())),
      gradients_(backend.allocate(BufferUse::master, spec.size())),
      first_moment_(backend.allocate(BufferUse::master, spec.size())),
      second_moment_(backend.allocate(BufferUse::master, spec.size())) {
  const std::uint64_t key = random_bits(random_key(seed, RandomUse::parameters), place);
  std::vector<float> values(spec.size());
  std::size_t index = 0;
  for (const ParameterSpec& parameter : spec_.parameters) {
    offsets_.push_back(index);
    for (const std::size_t end = index + parameter.size; index < end; ++index) {
      values[index] = parameter.initial_mean + parameter.initial_stddev * random_normal(key, index);
    }
  }
  backend.store(parameters_, values);
  backend.store(weights_, values);
}

void ParameterGroup::attach(Submitter& submitter) {
  parameters_.attach(submitter);
  gradients_.attach(submitter);
}

void ParameterGroup::submit_update(Submitter& submitter, const TrainingOptions& options,
                                   std::int64_t step) {
  submitter.all_reduce({.name = spec_.name, .priority = priorities_.communication}, gradients_.id,
                       {static_cast<float*>(gradients_.memory), gradients_.size});
  submitter.compute({.name = update_name_, .priority = priorities_.forward},
                    std::array{read(gradients_.id), hocket::update(parameters_.id)},
                    [this, &options, step] { update(options, step); });
}

void ParameterGroup::update(const TrainingOptions& options, std::int64_t step) {
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    backend_.adamw_update(options.adamw, step + 1, spec_.parameters[i].decay,
                          1.0 / options.world_size, gradient(i), values(i), slice(first_moment_, i),
                          slice(second_moment_, i), weights(i));
  }
}

}  // namespace hocket
