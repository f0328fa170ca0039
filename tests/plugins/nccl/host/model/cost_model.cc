#include "tests/plugins/nccl/host/model/cost_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hocket::nccl_host {
namespace {

/// NCCL considers only those of the table's values that are below an hour.
constexpr float kLimitUs = 3.6e9F;

struct Speed {
  double base_us, hop_us, gigabytes_per_s;
};

/// Invented, in the proportions of a machine with NVLink: LL has the lowest latency and a quarter
/// of the bandwidth, Simple the opposite.
constexpr Speed kSpeeds[kAlgorithms][kProtocols] = {
    {{6, 1.0, 14}, {10, 2.0, 62}, {13, 4.0, 78}},  // Tree
    {{5, 0.6, 18}, {9, 1.4, 76}, {9, 2.8, 92}},    // Ring
    {{0, 0, 1}, {0, 0, 1}, {16, 3.0, 90}},         // CollNetDirect
    {{0, 0, 1}, {0, 0, 1}, {18, 3.5, 85}},         // CollNetChain
    {{0, 0, 1}, {0, 0, 1}, {22, 0.5, 130}},        // NVLS
    {{0, 0, 1}, {0, 0, 1}, {25, 1.5, 120}},        // NVLSTree
    {{0, 0, 1}, {0, 0, 1}, {8, 2.5, 70}},          // PAT
};

double log2_ceil(int ranks) {
  return std::ceil(std::log2(std::max(ranks, 2)));
}

double hops(const Shape& shape, int algorithm) {
  const bool reduces_all = shape.function == kAllReduce;
  switch (algorithm) {
    case kRing:
      return (reduces_all ? 2.0 : 1.0) * (shape.ranks - 1);
    case kTree:
      return 2 * log2_ceil(shape.ranks);
    default:
      return log2_ceil(shape.ranks);
  }
}

/// Returns the share of the buffer that passes each link.
double traffic(const Shape& shape) {
  const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
  if (shape.function == kAllReduce) return 2 * others;
  return shape.function == kBroadcast || shape.function == kReduce ? 1 : others;
}

/// Returns 1 for 16 channels; each further one adds less.
double channel_efficiency(int channels) {
  constexpr double half = 8;
  return channels / (channels + half) * (1 + half / 16);
}

double uniform(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

double noise_factor(double sigma, std::uint64_t seed, std::uint64_t stream, std::uint64_t number) {
  if (sigma <= 0) return 1;
  const std::uint64_t bits = mix(mix(mix(seed) ^ stream) ^ number);
  // Box and Muller's transform; 1 - u is never 0.
  const double radius = std::sqrt(-2 * std::log(1 - uniform(bits)));
  return std::exp(sigma * radius * std::cos(2 * std::numbers::pi * uniform(mix(bits))));
}

CostModel::CostModel(const ModelOptions& options) : options_(options) {}

bool CostModel::exists(const Shape& shape, int algorithm, int protocol) const {
  if (!options_.allowed[algorithm][protocol]) return false;
  const bool reduces_all = shape.function == kAllReduce;
  const bool gathers = shape.function == kAllGather || shape.function == kReduceScatter;
  switch (algorithm) {
    case kRing:
      return true;
    case kTree:
      return reduces_all;
    case kPat:
      return gathers && protocol == kSimple;
    case kNvls:
      return (reduces_all || gathers) && protocol == kSimple && shape.nodes == 1;
    case kCollNetDirect:
      return (reduces_all || gathers) && protocol == kSimple && shape.nodes > 1;
    default:
      return reduces_all && protocol == kSimple && shape.nodes > 1;
  }
}

CostModel::Terms CostModel::terms(const Shape& shape, int algorithm, int protocol) const {
  const Speed& speed = kSpeeds[algorithm][protocol];
  const bool crosses_nodes = shape.nodes > 1;
  return {
      .latency_us = speed.base_us + hops(shape, algorithm) * speed.hop_us * (crosses_nodes ? 2 : 1),
      .bytes_per_us = speed.gigabytes_per_s * 1e3 * (crosses_nodes ? 0.25 : 1) / traffic(shape)};
}

void CostModel::predict(const Shape& shape, int pipe_ops, CostTable table) const {
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      table[a][p] = -1;
      if (!exists(shape, a, p)) continue;
      const Terms t = terms(shape, a, p);
      const int latencies = a == kRing ? pipe_ops : (pipe_ops + 7) / 8;
      table[a][p] = static_cast<float>(t.latency_us * latencies +
                                       static_cast<double>(shape.bytes) / t.bytes_per_us);
    }
  }
}

Choice CostModel::smallest(const CostTable table) {
  Choice choice;
  float least = kLimitUs;
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      if (!(table[a][p] >= 0) || !(table[a][p] < least)) continue;
      least = table[a][p];
      choice = {.algorithm = a, .protocol = p};
    }
  }
  return choice;
}

int CostModel::default_channels(const Shape& shape, const Choice& choice) const {
  const std::uint64_t threads = choice.protocol == kLl128 ? 640 : 512;
  const std::uint64_t bytes_a_channel = threads * (choice.protocol == kLl ? 8 * shape.ranks : 64);
  int channels = options_.max_channels;
  while (channels > 1 && shape.bytes < channels * bytes_a_channel) --channels;
  return channels;
}

int CostModel::clamp_channels(int algorithm, int asked) const {
  // NCCL 2.28.9 does not clamp CollNet's.
  const bool is_collnet = algorithm == kCollNetDirect || algorithm == kCollNetChain;
  return is_collnet ? asked : std::min(asked, options_.max_channels);
}

Choice CostModel::default_choice(const Shape& shape) const {
  CostTable table;
  predict(shape, 1, table);
  Choice choice = smallest(table);
  if (choice.algorithm >= 0) choice.channels = default_channels(shape, choice);
  return choice;
}

double CostModel::true_us(const Shape& shape, const Choice& choice) const {
  Terms t = terms(shape, choice.algorithm, choice.protocol);
  if (options_.truth_is_hidden) {
    // Each factor is between a half and two.
    const auto factor = [&](std::uint64_t salt) {
      const std::uint64_t which = salt * 64 + choice.algorithm * 8 + choice.protocol;
      return std::exp2(2 * uniform(mix(mix(options_.seed) ^ which)) - 1);
    };
    t.latency_us *= factor(1);
    t.bytes_per_us *= factor(2);
  }
  return t.latency_us + 0.1 * choice.channels +
         static_cast<double>(shape.bytes) / (t.bytes_per_us * channel_efficiency(choice.channels));
}

std::vector<Choice> CostModel::choices(const Shape& shape) const {
  std::vector<Choice> result;
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      if (!exists(shape, a, p)) continue;
      for (int channels = 1; channels < options_.max_channels; channels *= 2) {
        result.push_back({a, p, channels});
      }
      result.push_back({a, p, options_.max_channels});
    }
  }
  return result;
}

Choice CostModel::best_choice(const Shape& shape) const {
  Choice best = default_choice(shape);
  for (const Choice& choice : choices(shape)) {
    if (true_us(shape, choice) < true_us(shape, best)) best = choice;
  }
  return best;
}

}  // namespace hocket::nccl_host
