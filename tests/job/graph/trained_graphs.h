#pragma once

// Small models with their passes, batches and initial parameters, as graph models.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/passes.h"
#include "job/graph/graph_model.h"
#include "kernels/host/host_kernels.h"
#include "models/models.h"

namespace hocket {

inline constexpr std::int64_t kSteps = 3;  // that may be unfinished at once

inline const KernelTable& kernels() {
  static const KernelTable table = [] {
    KernelTable made;
    add_host_kernels(made);
    return made;
  }();
  return table;
}

/// Models that are trained, with values that make them small.
struct TrainedCase {
  const char* model;
  OptionValues values;
};

inline const OptionValues kGpt2{{"layers", 2}, {"heads", 2},    {"width", 16},   {"vocabulary", 32},
                                {"batch", 2},  {"sequence", 8}, {"positions", 8}};

inline std::vector<TrainedCase> trained_cases() {
  return {{"gpt2", kGpt2},
          {"llama",
           {{"layers", 2},
            {"heads", 4},
            {"groups", 2},
            {"width", 16},
            {"hidden", 32},
            {"vocabulary", 32},
            {"batch", 2},
            {"sequence", 8}}},
          {"mlp", {{"layers", 2}, {"width", 16}, {"inputs", 8}, {"classes", 4}, {"batch", 8}}}};
}

inline Graph graph_of(const TrainedCase& of, const PassOptions& options) {
  const auto model = find_model(of.model);
  EXPECT_TRUE(model) << model.error().message;
  const auto graph = (*model)->build(of.values);
  EXPECT_TRUE(graph) << graph.error().message;
  auto passed = run_passes(*graph, "fusion", options);
  EXPECT_TRUE(passed) << passed.error().message;
  return std::move(*passed);
}

inline PassOptions trained(std::int64_t ranks = 1) {
  PassOptions options;
  options.optimiser = {
      .method = OptimiserMethod::adamw, .weight_decay = 0.1, .clip_norm = 1, .ranks = ranks};
  return options;
}

/// Draws whole numbers below 4, floats below 1, the rate and the number of the step.
inline void draw_input(const Graph& graph, std::uint64_t seed, std::int64_t step,
                       std::string_view input, std::span<std::byte> bytes) {
  std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(step));
  const bool is_whole = !is_floating(graph.type(*graph.leaf(input)).numbers);
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::int32_t whole = input == "step" ? static_cast<std::int32_t>(step + 1)
                                         : static_cast<std::int32_t>(random() % 4);
    float number = input == "rate" ? 0.01f : static_cast<float>(random() % 1000) / 1000;
    std::memcpy(bytes.data() + i, is_whole ? static_cast<void*>(&whole) : &number, 4);
  }
}

inline void write_initial(const TrainedCase& of, GraphModel& model) {
  const Model& declared = **find_model(of.model);
  const Graph& graph = model.prepared().graph();
  for (const Operation& operation : graph.operations()) {
    if (operation.kind != OperationKind::parameter || operation.name.find('/') != std::string::npos)
      continue;
    std::vector<float> values(static_cast<std::size_t>(graph.type(operation.first_result).count()));
    draw_initial(
        declared.initial(of.values, operation.name, graph.type(operation.first_result).shape), 1,
        operation.name, 0, values);
    ASSERT_TRUE(model.write(operation.name, std::as_bytes(std::span(values))));
  }
}

/// The setting that a model is made for.
struct ModelSetting {
  const KernelTable& table = kernels();
  KernelDevice device = KernelDevice::host;
  KernelMemory& memory = host_kernel_memory();
  GraphModelOptions options = {};  ///< without `draw`
  std::uint64_t seed = 1;          ///< of the batches
};

inline std::unique_ptr<GraphModel> model_of(const TrainedCase& of, const PassOptions& passes,
                                            ModelSetting setting) {
  Graph graph = graph_of(of, passes);
  auto shared = std::make_shared<Graph>(graph);
  setting.options.draw = [shared, seed = setting.seed](std::int64_t step, std::string_view input,
                                                       std::span<std::byte> bytes) {
    draw_input(*shared, seed, step, input, bytes);
  };
  auto model = GraphModel::create(std::move(graph), setting.table, setting.device, setting.memory,
                                  std::move(setting.options));
  EXPECT_TRUE(model) << model.error().message;
  write_initial(of, **model);
  return std::move(*model);
}

/// Returns the losses, and hashes of the parameters' bytes.
inline std::string outcome_of(GraphModel& model, std::int64_t steps) {
  std::string outcome;
  for (std::int64_t step = 0; step < steps; ++step)
    outcome += std::to_string(model.output("loss", step)) + " ";
  for (const Operation& operation : model.prepared().graph().operations()) {
    if (operation.kind != OperationKind::parameter) continue;
    const std::vector<std::byte> bytes = model.read(operation.name).value();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    outcome += "\n" + operation.name + " " + std::to_string(std::hash<std::string_view>()(text));
  }
  return outcome;
}

}  // namespace hocket
