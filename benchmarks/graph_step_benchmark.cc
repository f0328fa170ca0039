// Compares a training step of GPT-2 as a graph with its matrix products alone, in turn in one run.
//
//   bin/graph_step_benchmark [--rounds N] [--steps N] [--layers N] [--width N] [--heads N]
//                            [--batch N] [--sequence N] [--vocabulary N]
//
// A step is forward, backward and AdamW on one thread, operation after operation. A round runs so
// many steps, and so many times the products of a step without anything else, in changing order.
// Prints the medians of the times of a step, and the median, the quartiles and the range of the
// rounds' ratios.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/statistics.h"
#include "core/graph/passes.h"
#include "kernels/host/host_kernels.h"
#include "kernels/prepared_graph.h"
#include "models/gpt2.h"

namespace hocket {
namespace {

struct StepOptions {
  int rounds = 15, steps = 4;
  int layers = 4, width = 256, heads = 8, batch = 8, sequence = 64, vocabulary = 256;
};

class GraphSteps {
 public:
  explicit GraphSteps(const StepOptions& options) {
    const Gpt2Options sizes{.layers = options.layers,
                            .heads = options.heads,
                            .width = options.width,
                            .vocabulary = options.vocabulary,
                            .positions = options.sequence,
                            .sequence = options.sequence,
                            .batch = options.batch};
    PassOptions passes;
    passes.needed.outputs = {"loss"};
    passes.optimiser = {.method = OptimiserMethod::adamw, .weight_decay = 0.1};
    const Graph graph = run_passes(gpt2(sizes).value(), "fusion", passes).value();
    KernelTable table;
    add_host_kernels(table);
    prepared_ =
        PreparedGraph::prepare(graph, table, KernelDevice::host, host_kernel_memory()).value();
    for (const Operation& operation : graph.operations()) {
      if (operation.kind != OperationKind::parameter ||
          operation.name.find('/') != std::string::npos)
        continue;
      const ValueType& type = graph.type(operation.first_result);
      std::vector<float> values(static_cast<std::size_t>(type.count()));
      draw_initial(gpt2_initial(sizes, operation.name, type.shape), 1, operation.name, 0, values);
      write(operation.name, values.data(), values.size() * sizeof(float));
    }
    const std::vector<std::int32_t> tokens(
        static_cast<std::size_t>(options.batch * options.sequence), 'a');
    for (const char* const input : {"tokens", "targets"})
      write(input, tokens.data(), tokens.size() * sizeof(std::int32_t));
    const float rate = 5e-4f;
    write("rate", &rate, sizeof rate);
  }
  void run() {
    const std::int32_t number = ++step_;
    write("step", &number, sizeof number);
    HOCKET_CHECK(prepared_->run(), "no index is wrong");
  }
  /// Runs the products of a step on what is in memory.
  void multiply() {
    for (const PreparedGraph::Task& task : prepared_->tasks()) {
      const Operation& operation = prepared_->graph().operations()[task.operation];
      if (operation.kind == OperationKind::matmul)
        HOCKET_CHECK(prepared_->run(task), "a product takes any numbers");
    }
  }

 private:
  void write(const std::string& name, const void* from, std::size_t bytes) {
    const std::span<std::byte> to = prepared_->leaf(name);
    HOCKET_CHECK(to.size() == bytes, "a leaf has its type");
    std::memcpy(to.data(), from, bytes);
  }

  std::unique_ptr<PreparedGraph> prepared_;
  std::int32_t step_ = 0;
};

void compare(const StepOptions& options) {
  const SteadyClock clock;
  GraphSteps graph(options);
  const auto measured = [&](bool is_whole) {
    const std::int64_t begin = clock.now_ns();
    for (int i = 0; i < options.steps; ++i) is_whole ? graph.run() : graph.multiply();
    return static_cast<double>(clock.now_ns() - begin) / options.steps;
  };
  measured(true);
  measured(false);
  std::vector<double> products_ns, step_ns, ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const bool is_first = round % 2 == 0;
    if (is_first) products_ns.push_back(measured(false));
    step_ns.push_back(measured(true));
    if (!is_first) products_ns.push_back(measured(false));
    ratios.push_back(step_ns.back() / products_ns.back());
  }
  std::printf("products %.2f ms, step %.2f ms, ratio %.3f (%.3f to %.3f, all %.3f to %.3f)\n",
              median(products_ns) / 1e6, median(step_ns) / 1e6, median(ratios),
              quantile(ratios, 0.25), quantile(ratios, 0.75), quantile(ratios, 0),
              quantile(ratios, 1));
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::StepOptions options;
  CLI::App app("Compares steps of GPT-2 as a graph with their products");
  app.add_option("--rounds", options.rounds)->capture_default_str()->check(CLI::Range(1, 10'000));
  app.add_option("--steps", options.steps)->capture_default_str()->check(CLI::Range(1, 1'000));
  app.add_option("--layers", options.layers)->capture_default_str();
  app.add_option("--width", options.width)->capture_default_str();
  app.add_option("--heads", options.heads)->capture_default_str();
  app.add_option("--batch", options.batch)->capture_default_str();
  app.add_option("--sequence", options.sequence)->capture_default_str();
  app.add_option("--vocabulary", options.vocabulary)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  hocket::compare(options);
}
