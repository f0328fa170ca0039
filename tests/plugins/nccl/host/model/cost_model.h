#pragma once

// Times of collectives: as NCCL's table predicts, and in truth. The two differ by factors that
// follow from a seed, so that the default is not the best for all sizes; the best is known by
// trying all choices. Pure; any thread.

#include <array>
#include <cstdint>
#include <vector>

#include "tests/plugins/nccl/host/model/choice.h"

namespace hocket::nccl_host {

struct ModelOptions {
  std::uint64_t seed = 8;       ///< of the factors between prediction and truth
  bool truth_is_hidden = true;  ///< false: predictions are true
  int max_channels = 16;
  /// True where an algorithm with a protocol may be used if it exists. NCCL's usual ones are on.
  std::array<std::array<bool, kProtocols>, kAlgorithms> allowed = usual();
  double slowdown = 0.01;  ///< of computation beside a collective, as a fraction for each channel

  static constexpr std::array<std::array<bool, kProtocols>, kAlgorithms> usual() {
    return {{{true, true, true}, {true, true, true}}};
  }
};

/// A deterministic factor around 1 whose logarithm has the standard deviation `sigma`.
double noise_factor(double sigma, std::uint64_t seed, std::uint64_t stream, std::uint64_t number);

/// Mixes the bits of `value`.
std::uint64_t mix(std::uint64_t value);

class CostModel {
 public:
  explicit CostModel(const ModelOptions& options);

  /// Fills `table` with predictions; -1 for what is not allowed.
  void predict(const Shape& shape, int pipe_ops, CostTable table) const;

  /// Returns the smallest entry of `table` that NCCL accepts, without channels; algorithm -1 if
  /// there is none.
  static Choice smallest(const CostTable table);

  /// Returns the channels that NCCL uses when a tuner does not say.
  int default_channels(const Shape& shape, const Choice& choice) const;

  /// Returns the number of channels that run when `asked` are asked for.
  int clamp_channels(int algorithm, int asked) const;

  Choice default_choice(const Shape& shape) const;
  double true_us(const Shape& shape, const Choice& choice) const;

  /// Returns all choices with a few numbers of channels.
  std::vector<Choice> choices(const Shape& shape) const;
  /// Returns the fastest of choices() and the default.
  Choice best_choice(const Shape& shape) const;

  /// Returns how many times longer computation takes while `channels` are busy.
  double computation_factor(int channels) const { return 1 + options_.slowdown * channels; }
  int max_channels() const { return options_.max_channels; }

 private:
  struct Terms {
    double latency_us, bytes_per_us;
  };

  bool exists(const Shape& shape, int algorithm, int protocol) const;
  Terms terms(const Shape& shape, int algorithm, int protocol) const;

  ModelOptions options_;
};

}  // namespace hocket::nccl_host
