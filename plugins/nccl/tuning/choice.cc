#include "plugins/nccl/tuning/choice.h"

#include <algorithm>

namespace hocket::nccl {

using abi::kAlgorithms, abi::kProtocols, abi::kRing, abi::kTree;

namespace {

constexpr const char* kAlgorithmWords[kAlgorithms] = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr const char* kProtocolWords[kProtocols] = {"ll", "ll128", "simple"};

/// NCCL does not limit the channels of the CollNet and NVLS algorithms to what they can use.
bool takes_channels(int algorithm) {
  return algorithm == kTree || algorithm == kRing;
}

}  // namespace

Choice cheapest(const CostTable& costs) {
  Choice best;
  for (int algorithm = 0; algorithm < costs.algorithms; ++algorithm) {
    for (int protocol = 0; protocol < costs.protocols; ++protocol) {
      const float us = costs.at(algorithm, protocol);
      if (us < 0 || (best.algorithm >= 0 && us >= costs.at(best.algorithm, best.protocol)))
        continue;
      best.algorithm = static_cast<std::int8_t>(algorithm);
      best.protocol = static_cast<std::int8_t>(protocol);
    }
  }
  return best;
}

bool apply(const Choice& choice, const CostTable& costs, int* channels) {
  if (choice.algorithm >= 0) {
    if (!costs.allows(choice.algorithm, choice.protocol)) return false;
    // NCCL takes the first of equal costs, so no other may stay 0.
    for (int i = 0; i < costs.algorithms * costs.protocols; ++i)
      if (costs.cost_us[i] == 0) costs.cost_us[i] = 1;
    costs.at(choice.algorithm, choice.protocol) = 0;
  }
  if (choice.channels > 0 && channels != nullptr &&
      takes_channels(choice.algorithm >= 0 ? choice.algorithm : cheapest(costs).algorithm))
    *channels = choice.channels;
  return true;
}

const char* algorithm_word(int algorithm) {
  return kAlgorithmWords[algorithm];
}

const char* protocol_word(int protocol) {
  return kProtocolWords[protocol];
}

std::string arm_word(int algorithm, int protocol) {
  if (algorithm < 0 || algorithm >= kAlgorithms || protocol < 0 || protocol >= kProtocols)
    return "default";
  return std::string(kAlgorithmWords[algorithm]) + "_" + kProtocolWords[protocol];
}

bool read_arm(std::string_view word, Choice& choice) {
  if (word == "default") {
    choice = {};
    return true;
  }
  for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    for (int protocol = 0; protocol < kProtocols; ++protocol) {
      if (word != arm_word(algorithm, protocol)) continue;
      choice = {static_cast<std::int8_t>(algorithm), static_cast<std::int8_t>(protocol), 0};
      return true;
    }
  }
  return false;
}

std::string channels_word(int channels) {
  return channels <= 0 ? "default" : std::to_string(channels);
}

std::string to_string(const Choice& choice) {
  if (choice.is_default()) return "NCCL's own choice";
  std::string text =
      choice.algorithm < 0 ? "NCCL's own algorithm" : arm_word(choice.algorithm, choice.protocol);
  if (choice.channels > 0)
    text +=
        ", " + std::to_string(choice.channels) + (choice.channels == 1 ? " channel" : " channels");
  return text;
}

std::vector<std::string> arm_words(Function function, bool all) {
  std::vector<int> algorithms{kRing};
  if (function == Function::all_reduce) algorithms.push_back(kTree);
  if (all) {
    for (int algorithm = kRing + 1; algorithm < kAlgorithms; ++algorithm)
      algorithms.push_back(algorithm);
  }
  std::vector<std::string> words{"default"};
  for (const int algorithm : algorithms) {
    for (int protocol = 0; protocol < kProtocols; ++protocol)
      words.push_back(arm_word(algorithm, protocol));
  }
  return words;
}

std::vector<PredictedArm> predicted(const std::vector<std::string>& words, const CostTable& costs) {
  std::vector<PredictedArm> arms;
  for (const std::string& word : words) {
    Choice choice;
    if (!read_arm(word, choice) || choice.is_default()) continue;
    if (!costs.allows(choice.algorithm, choice.protocol)) continue;
    arms.push_back({word, costs.at(choice.algorithm, choice.protocol)});
  }
  std::stable_sort(arms.begin(), arms.end(),
                   [](const PredictedArm& a, const PredictedArm& b) { return a.us < b.us; });
  return arms;
}

}  // namespace hocket::nccl
