
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/random/split_mix.h"
#include "tests/examples/gpt2/model/finite_difference.h"
#include "tests/examples/gpt2/model/host_model.h"
#include "tests/job/step/submitters.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr Gpt2Config kTiny{
    .layers = 2, .heads = 2, .d_model = 8, .sequence = 5, .batch = 2, .vocabulary = 11};
constexpr Gpt2Config kSmall{.layers = 2, .heads = 4, .d_model = 32, .sequence = 16, .batch = 4};

/// Returns random bytes below `vocabulary`.
Text random_text(std::size_t size, int vocabulary, std::uint64_t key = 7) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i)
    bytes.push_back(static_cast<char>(random_bits(key, i) % vocabulary));
  return Text(bytes);
}

Text prose() {
  std::string bytes;
  for (int i = 0; i < 40; ++i)
    bytes += "one voice sounds while the other rests, and then the other way round. ";
  return Text(bytes);
}

std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> result;
  for (const float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
  return result;
}

struct Trained {
  std::vector<float> losses;
  std::uint64_t hash = 0;
};

Trained train(const Gpt2Config& config, const TrainingOptions& options, const Text& text,
              const Sum& sum = {}, bool fuses = false) {
  ImmediateSubmitter submitter;
  submitter.sum = sum;
  const HostModel model(config, options, text, fuses);
  model->attach(submitter);
  for (std::int64_t step = 0; step < options.steps; ++step) model->submit_step(step);
  return {model->losses(), model->parameters_hash()};
}

Result<std::unique_ptr<Gpt2>> create(const Gpt2Config& config, const TrainingOptions& options,
                                     const Text& text) {
  HostBackend backend;
  return Gpt2::create(config, options, text, backend);
}

TEST(Gpt2Model, RefusesWhatDoesNotFit) {
  const Text text = random_text(100, 11);
  const auto bad_config = create({.layers = 0}, {}, text);
  ASSERT_FALSE(bad_config);
  EXPECT_THAT(bad_config.error().message, HasSubstr("layers is 0, allowed are 1 to"));

  const auto bad_options = create(kTiny, {.rank = 1}, text);
  ASSERT_FALSE(bad_options);
  EXPECT_THAT(bad_options.error().message, HasSubstr("rank is 1, allowed are 0 to 0"));

  const auto short_text = create(kTiny, {}, random_text(5, 11));
  ASSERT_FALSE(short_text);
  EXPECT_EQ(short_text.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(short_text.error().message, HasSubstr("sequence is 5, but the text has 5 bytes"));
  EXPECT_TRUE(create(kTiny, {}, random_text(6, 11)));

  const auto large_byte = create(kTiny, {}, Text("\1\2\3\4\5\6\7\13"));
  ASSERT_FALSE(large_byte);
  EXPECT_THAT(large_byte.error().message,
              HasSubstr("vocabulary is 11, but the text has the byte 11"));
}

TEST(Gpt2Model, RefusesWhatDoesNotFitIntoMemory) {
  const auto huge = create({.layers = 512, .heads = 64, .d_model = 16384}, {}, prose());
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::unavailable);
  EXPECT_THAT(huge.error().message, HasSubstr("gpt2-512x16384-s64-b4 takes about"));
}

TEST(Gpt2Model, StartsAsGpt2) {
  const Text text = random_text(100, 256);
  const HostModel model({.layers = 2, .d_model = 64}, {}, text);
  const auto deviation = [](ConstFloats values, double mean) {
    double squares = 0;
    for (const float value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size()));
  };
  ParameterGroup& embedding = model->groups()[0];
  EXPECT_NEAR(deviation(floats(embedding.values(EmbeddingParameter::tokens)), 0), 0.02, 0.001);
  EXPECT_NEAR(deviation(floats(embedding.values(EmbeddingParameter::positions)), 0), 0.01, 0.001);
  for (const std::size_t place : {1, 2, 3, 4}) {
    ParameterGroup& group = model->groups()[place];
    EXPECT_EQ(deviation(floats(group.values(BlockParameter::gain)), 1), 0);
    EXPECT_EQ(deviation(floats(group.values(BlockParameter::bias)), 0), 0);
    EXPECT_NEAR(deviation(floats(group.values(BlockParameter::first_weight)), 0), 0.02, 0.001);
    EXPECT_EQ(deviation(floats(group.values(BlockParameter::first_bias)), 0), 0);
    EXPECT_NEAR(deviation(floats(group.values(BlockParameter::second_weight)), 0), 0.01, 0.0005);
    EXPECT_EQ(deviation(floats(group.values(BlockParameter::second_bias)), 0), 0);
  }
  EXPECT_NE(floats(model->groups()[1].values(BlockParameter::first_weight))[0],
            floats(model->groups()[3].values(BlockParameter::first_weight))[0]);
}

TEST(Gpt2Model, BeginsWithTheLossOfAGuess) {
  const Trained trained = train(kSmall, {.steps = 1}, prose());
  EXPECT_NEAR(trained.losses[0], std::log(256.0), 0.1);
}

TEST(Gpt2Model, BuffersStartOnCacheLines) {
  const Text text = random_text(100, 11);
  const HostModel model(kTiny, {}, text);
  for (ParameterGroup& group : model->groups()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(group.parameters().memory) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(group.gradients().memory) % 64, 0u);
  }
}

// Covers every parameter of every group; three layers also cover both sets of block gradients and a
// block between others.
TEST(Gpt2Model, GradientsAreTheDerivativesOfTheLoss) {
  for (const int layers : {1, 3}) {
    SCOPED_TRACE(testing::Message() << layers << " layers");
    Gpt2Config config = kTiny;
    config.layers = layers;
    const Text text = random_text(100, config.vocabulary);
    const HostModel model(config, {.seed = static_cast<std::uint64_t>(layers), .steps = 1 << 17},
                          text);
    ImmediateSubmitter submitter;
    submitter.updates = false;
    model->attach(submitter);
    // Moves away from the small initial values, at which most gradients are nearly zero.
    for (ParameterGroup& group : model->groups()) {
      const Floats values = floats(group.parameters());
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] += 0.3f * random_normal(group.priorities().forward, i);
    }
    std::int64_t step = 0;
    const auto loss = [&] {
      model->submit_step(0);
      return static_cast<double>(model->loss(step++));
    };
    for (ParameterGroup& group : model->groups()) {
      SCOPED_TRACE(group.name());
      loss();  // recomputes the gradients, which the last differences have overwritten
      const std::vector<float> gradient = model.backend->load(group.gradients());
      expect_gradient(floats(group.parameters()), gradient, loss);
    }
  }
}

TEST(Gpt2Model, LossFalls) {
  const Trained trained = train(kSmall, {.steps = 60, .adamw = {.learning_rate = 3e-3}}, prose());
  const auto mean = [&](int first) {
    return std::accumulate(trained.losses.begin() + first, trained.losses.begin() + first + 5,
                           0.0) /
           5;
  };
  EXPECT_LT(mean(55), 0.6 * mean(0));
  EXPECT_LT(mean(55), mean(25));
}

TEST(Gpt2Model, IsAFunctionOfTheSeed) {
  const Text text = prose();
  const Trained first = train(kSmall, {.seed = 5, .steps = 8}, text);
  const Trained again = train(kSmall, {.seed = 5, .steps = 8}, text);
  const Trained other = train(kSmall, {.seed = 6, .steps = 8}, text);
  EXPECT_EQ(bits(first.losses), bits(again.losses));
  EXPECT_EQ(first.hash, again.hash);
  EXPECT_NE(bits(first.losses), bits(other.losses));
  EXPECT_NE(first.hash, other.hash);
}

TEST(Gpt2Model, RanksStartAlikeAndDrawDifferentBatches) {
  const Text text = prose();
  const HostModel zero(kSmall, {.rank = 0, .world_size = 2}, text);
  const HostModel one(kSmall, {.rank = 1, .world_size = 2}, text);
  EXPECT_EQ(zero->parameters_hash(), one->parameters_hash());
  EXPECT_NE(train(kSmall, {.steps = 1, .rank = 0, .world_size = 2}, text).losses,
            train(kSmall, {.steps = 1, .rank = 1, .world_size = 2}, text).losses);
}

TEST(Gpt2Model, OnlyMatricesDecay) {
  const Text text = prose();
  ImmediateSubmitter submitter;
  std::vector<HostModel> models;
  for (const double weight_decay : {0.0, 0.5}) {
    models.emplace_back(kSmall, TrainingOptions{.adamw = {.weight_decay = weight_decay}}, text);
    models.back()->attach(submitter);
    models.back()->submit_step(0);
  }
  const auto specs = parameter_groups(kSmall);
  for (std::size_t place = 0; place < specs.size(); ++place) {
    for (std::size_t i = 0; i < specs[place].parameters.size(); ++i) {
      const bool matrix =
          place == 0 ? i == EmbeddingParameter::tokens
                     : i == BlockParameter::first_weight || i == BlockParameter::second_weight;
      const bool same = bits(floats(models[0]->groups()[place].values(i))) ==
                        bits(floats(models[1]->groups()[place].values(i)));
      EXPECT_EQ(same, !matrix) << specs[place].name << " " << i;
    }
  }
}

// Several ranks with the same gradient change nothing; a power of two keeps the arithmetic exact.
TEST(Gpt2Model, UpdatesWithTheMeanOverRanks) {
  const Text text = prose();
  const Sum four_times = [](std::span<float> values) {
    for (float& value : values) value *= 4;
  };
  const Trained alone = train(kSmall, {.steps = 6}, text);
  const Trained four = train(kSmall, {.steps = 6, .world_size = 4}, text, four_times);
  EXPECT_EQ(bits(alone.losses), bits(four.losses));
  EXPECT_EQ(alone.hash, four.hash);
}

/// Returns the gradients of all groups after a step with the initial parameters.
std::vector<std::vector<float>> gradients_of_step(const HostModel& model, std::int64_t step,
                                                  std::mt19937_64* random = nullptr) {
  ImmediateSubmitter submitter;
  submitter.updates = false;
  submitter.random = random;
  model->attach(submitter);
  model->submit_step(step);
  std::vector<std::vector<float>> gradients;
  for (ParameterGroup& group : model->groups())
    gradients.push_back(model.backend->load(group.gradients()));
  return gradients;
}

void expect_near(const std::vector<std::vector<float>>& actual,
                 const std::vector<std::vector<float>>& expected) {
  for (std::size_t group = 0; group < expected.size(); ++group) {
    float largest = 0;
    for (const float value : expected[group]) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < expected[group].size(); ++i)
      ASSERT_NEAR(actual[group][i], expected[group][i], 1e-5f * largest) << group << ", " << i;
  }
}

TEST(Gpt2Model, AddsUpTheGradientsOfMicroBatchesAndTakesTheMeanOfLosses) {
  const Text text = prose();
  const HostModel single(kSmall, {.steps = 3}, text);
  std::vector<std::vector<float>> sums = gradients_of_step(single, 0);
  for (const std::int64_t step : {1, 2}) {
    const auto more = gradients_of_step(single, step);
    for (std::size_t group = 0; group < sums.size(); ++group) {
      for (std::size_t i = 0; i < sums[group].size(); ++i) sums[group][i] += more[group][i];
    }
  }
  for (const int kept : {1, 2, 3}) {
    SCOPED_TRACE(kept);
    const HostModel model(kSmall, {.steps = 1, .micro_batches = 3, .micro_batches_kept = kept},
                          text);
    expect_near(gradients_of_step(model, 0), sums);
    EXPECT_EQ(model->loss(0), (single->loss(0) + single->loss(1) + single->loss(2)) / 3);
  }
}

// Several micro-batches with the same gradient, a power of two, change nothing. All batches consist
// of the text's only window.
TEST(Gpt2Model, UpdatesWithTheMeanOverMicroBatches) {
  const Text text("a window of text.");
  const Trained alone = train(kSmall, {.steps = 6}, text);
  const Trained four = train(kSmall, {.steps = 6, .micro_batches = 4}, text);
  for (std::size_t step = 0; step < 6; ++step)
    EXPECT_NEAR(four.losses[step], alone.losses[step], 1e-4f * alone.losses[step]) << step;
}

TEST(Gpt2Model, PiecesOfAGradientAreAllOfIt) {
  const Text text = prose();
  const HostModel whole(kSmall, {.micro_batches = 2}, text);
  const auto expected = gradients_of_step(whole, 0);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const HostModel model(kSmall, {.micro_batches = 2}, text);
    expect_near(gradients_of_step(model, 0, &random), expected);
  }
}

TEST(Gpt2Model, PiecesOfAnUpdateAreAllOfIt) {
  const Text text = prose();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> hashes;
    for (std::mt19937_64* const divide : {static_cast<std::mt19937_64*>(nullptr), &random}) {
      const HostModel model(kSmall, {}, text);
      for (ParameterGroup& group : model->groups()) {
        const Floats gradients = floats(group.gradients());
        for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = random_normal(7, i);
      }
      ImmediateSubmitter submitter;
      submitter.random = divide;
      model->attach(submitter);
      for (int update = 0; update < 3; ++update) {
        for (ParameterGroup& group : model->groups()) group.submit_update(submitter);
      }
      hashes.push_back(model->parameters_hash());
    }
    EXPECT_EQ(hashes[0], hashes[1]);
  }
}

TEST(Gpt2Model, AShardedOptimizerIsDividedAmongTheRanks) {
  const Text text = prose();
  const std::int64_t whole = HostModel(kSmall, {}, text)->optimizer_bytes();
  EXPECT_EQ(whole, 2 * workload(kSmall).bytes());
  for (const int ranks : {2, 3, 4}) {
    const auto groups = static_cast<std::int64_t>(parameter_groups(kSmall).size());
    std::int64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const HostModel model(kSmall, {.rank = rank, .world_size = ranks, .shard_optimizer = true},
                            text);
      const std::int64_t own = model->optimizer_bytes();
      EXPECT_LE(own, whole / ranks + 2 * groups * kBlockAlignmentBytes);
      sum += own;
    }
    EXPECT_EQ(sum, whole) << ranks;
  }
}

TEST(Gpt2Model, MicroBatchesThatDoNotFitAreRefusedByTheFieldThatKeepsThem) {
  TrainingOptions options{.micro_batches = 8, .micro_batches_kept = 8};
  HostBackend counted;
  options.memory_limit_bytes =
      memory_bytes(kSmall, {.micro_batches = 8, .micro_batches_kept = 3}, counted) + 1;
  const auto refused = create(kSmall, options, prose());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("field \"micro_batches_kept\""));
  EXPECT_THAT(refused.error().message, HasSubstr("keep at most 3"));
  options.micro_batches_kept = 3;
  EXPECT_TRUE(create(kSmall, options, prose()));
}

TEST(Gpt2Model, FusedTasksGiveTheSameBits) {
  const Text text = prose();
  const Trained plain = train(kSmall, {.steps = 4}, text);
  const Trained fused = train(kSmall, {.steps = 4}, text, {}, true);
  EXPECT_EQ(bits(plain.losses), bits(fused.losses));
  EXPECT_EQ(plain.hash, fused.hash);
}

// The text has one window, so both models see the same text except its byte `changed`.
TEST(Gpt2Model, LaterTokensDoNotChangeEarlierInputsOfTheHead) {
  Gpt2Config config = kSmall;
  config.batch = 1;
  const auto head_input = [&](const std::string& bytes) {
    const Text text(bytes);
    const HostModel model(config, {}, text);
    ImmediateSubmitter submitter;
    model->attach(submitter);
    model->submit_step(0);
    return bits(floats(model->head_input()));
  };
  const std::string bytes = "a window of text.";
  ASSERT_EQ(bytes.size(), static_cast<std::size_t>(config.sequence) + 1);
  const auto before = head_input(bytes);
  for (int changed = 0; changed < config.sequence; ++changed) {
    std::string other = bytes;
    other[changed] = '#';
    const auto after = head_input(other);
    for (int t = 0; t < config.sequence; ++t) {
      const auto begin = static_cast<std::size_t>(t) * config.d_model;
      const bool same = std::equal(before.begin() + begin, before.begin() + begin + config.d_model,
                                   after.begin() + begin);
      EXPECT_EQ(same, t < changed) << "input of token " << t << ", token " << changed << " changed";
    }
  }
}

}  // namespace
}  // namespace hocket
