// Compares a training step of GPT-2 as a graph with one of examples/gpt2, in turn in one run.
//
//   bin/graph_step_benchmark [--rounds N] [--steps N] [--layers N] [--width N] [--heads N]
//                            [--batch N] [--sequence N] [--vocabulary N]
//
// Both compute the same model on one thread, operation after operation: forward, backward and
// AdamW. A round runs each of the two for so many steps, in changing order. Prints the medians of
// the times of a step, and the median, the quartiles and the range of the rounds' ratios: below 1
// the graph is faster. The graph learns positions of its own sequence, and the first losses of both
// are printed, which differ by their initial values alone.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/statistics.h"
#include "core/graph/passes.h"
#include "examples/gpt2/model/host_backend.h"
#include "examples/gpt2/model/model.h"
#include "kernels/host/host_kernels.h"
#include "kernels/prepared_graph.h"
#include "models/gpt2.h"

namespace hocket {
namespace {

struct StepOptions {
  int rounds = 15, steps = 4;
  int layers = 4, width = 256, heads = 8, batch = 8, sequence = 64, vocabulary = 256;
};

/// Runs everything in the order of submission.
class ImmediateTasks final : public Submitter {
 public:
  RankGrid grid() const override { return {}; }
  DataId add_data(const DataPlace&, std::string_view) override { return {data_++}; }
  void compute(const TaskOptions&, std::span<const Access>, TaskBody body) override { body(); }
  void compute_pieces(const TaskOptions& options, std::span<const Access>,
                      PieceBody body) override {
    body({0, 0, options.place->dimensions.front().extent});
  }
  void all_reduce(const TaskOptions&, DataId, std::span<float>) override {}
  void reduce_scatter(const TaskOptions&, DataId, std::span<float>) override {}
  void all_gather(const TaskOptions&, DataId, std::span<float>) override {}

 private:
  std::uint32_t data_ = 0;
};

class ExampleSteps {
 public:
  explicit ExampleSteps(const StepOptions& options)
      : text_(std::string(10'000, 'a') + "the quick brown fox"), backend_(true) {
    const Gpt2Config config{.layers = options.layers,
                            .heads = options.heads,
                            .d_model = options.width,
                            .sequence = options.sequence,
                            .batch = options.batch,
                            .vocabulary = options.vocabulary};
    model_ = Gpt2::create(config, {.steps = 1'000'000}, text_, backend_).value();
    model_->attach(tasks_);
  }
  void run() {
    model_->submit_step(step_);
    if (step_++ == 0) std::printf("example's first loss: %.4f\n", model_->loss(0));
  }

 private:
  const Text text_;
  HostBackend backend_;
  ImmediateTasks tasks_;
  std::unique_ptr<Gpt2> model_;
  std::int64_t step_ = 0;
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
    if (step_ > 1) return;
    float loss = 0;
    std::memcpy(&loss, prepared_->output("loss").data(), sizeof loss);
    std::printf("graph's first loss:   %.4f\n", loss);
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
  ExampleSteps example(options);
  GraphSteps graph(options);
  const auto measured = [&](auto& steps) {
    const std::int64_t begin = clock.now_ns();
    for (int i = 0; i < options.steps; ++i) steps.run();
    return static_cast<double>(clock.now_ns() - begin) / options.steps;
  };
  measured(example);
  measured(graph);
  std::vector<double> example_ns, graph_ns, ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const bool is_first = round % 2 == 0;
    if (is_first) example_ns.push_back(measured(example));
    graph_ns.push_back(measured(graph));
    if (!is_first) example_ns.push_back(measured(example));
    ratios.push_back(graph_ns.back() / example_ns.back());
  }
  std::printf("step: example %.2f ms, graph %.2f ms, ratio %.3f (%.3f to %.3f, all %.3f to %.3f)\n",
              median(example_ns) / 1e6, median(graph_ns) / 1e6, median(ratios),
              quantile(ratios, 0.25), quantile(ratios, 0.75), quantile(ratios, 0),
              quantile(ratios, 1));
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::StepOptions options;
  CLI::App app("Compares steps of GPT-2 as a graph with those of the example");
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
