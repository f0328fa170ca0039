#pragma once

// Training steps of GPT-3-like models on a cluster, derived from their sizes. Pure.

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/description/step_description.h"

namespace hocket {

/// Sizes as in Brown et al., "Language Models are Few-Shot Learners", 2020, table 2.1.
struct TransformerSize {
  std::string_view name;
  std::int64_t layers = 0;
  std::int64_t width = 0;
};
inline constexpr TransformerSize kGpt1_3B{"GPT 1.3B", 24, 2048};
inline constexpr TransformerSize kGpt2_7B{"GPT 2.7B", 32, 2560};
inline constexpr TransformerSize kGpt6_7B{"GPT 6.7B", 32, 4096};
inline constexpr TransformerSize kGpt13B{"GPT 13B", 40, 5120};

/// Assumptions about a GPU and its share of the batch.
struct GpuWork {
  double sustained_flops = 140e12;  ///< per second: 45 % of an A100's peak in bfloat16
  double memory_bytes_per_second = 1.5e12;
  std::int64_t sequences = 4;  ///< per data-parallel rank
  std::int64_t tokens = 2048;  ///< per sequence
};

/// Returns a step in which every rank has the whole model, and gradients are summed over all ranks.
StepDescription data_parallel_step(const TransformerSize& model, const GpuWork& work);

/// Returns a step in which parameters, gradients and updates are scattered over all ranks. A
/// layer's parameters are gathered for its forward pass and again for its backward pass, at most
/// one layer ahead; its gradients are reduce-scattered.
StepDescription fully_sharded_step(const TransformerSize& model, const GpuWork& work);

/// Returns a step in which the ranks of a host divide each layer among them and sum its
/// activations, twice in the forward and twice in the backward pass (Megatron-LM); gradients are
/// summed between the hosts. `ranks_per_host` ranks share one batch.
StepDescription tensor_parallel_step(const TransformerSize& model, const GpuWork& work,
                                     std::int64_t ranks_per_host);

}  // namespace hocket
