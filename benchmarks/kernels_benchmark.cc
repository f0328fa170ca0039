// Compares the kernels of the host with the functions of examples/gpt2, in turn in one run.
//
//   bin/kernels_benchmark [--rounds N] [--width N]… [--batch N] [--sequence N] [--vocabulary N]
//                         [--only TEXT]
//
// A round runs each of the two once on the same numbers, on one thread, in changing order. Prints
// the medians of the times, and the median, the quartiles and the range of the rounds' ratios:
// below 1 the kernel is faster. "with layout" has the transposes that a graph needs around
// attention, since its heads are dense and those of the example are not.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/align/aligned_allocator.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/statistics.h"
#include "core/graph/graph.h"
#include "examples/gpt2/model/ops.h"
#include "kernels/host/host_kernels.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using Memory = std::vector<float, boost::alignment::aligned_allocator<float, 64>>;

struct BenchmarkOptions {
  int rounds = 21;
  std::vector<int> widths = {256, 768};
  int batch = 4, sequence = 128;
  int vocabulary = 50257;
  std::string only;

  int rows() const { return batch * sequence; }
};

Memory random_memory(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Memory memory(size);
  for (float& each : memory) each = std::uniform_real_distribution<float>(-1, 1)(random);
  return memory;
}

std::size_t size_of(const Shape& shape) {
  return static_cast<std::size_t>(count_of(shape));
}

const KernelTable& table() {
  static const KernelTable made = [] {
    KernelTable all;
    add_host_kernels(all);
    return all;
  }();
  return made;
}

/// A kernel with memory for its results, and for operands that are not the example's.
class PreparedKernel {
 public:
  PreparedKernel(Kind kind, const std::vector<ValueType>& operands,
                 const Attributes& attributes = {}) {
    Graph graph;
    std::vector<ValueId> values;
    for (const ValueType& operand : operands)
      values.push_back(graph.add_input("x" + std::to_string(values.size()), operand).value());
    static_cast<void>(graph.add(kind, values, attributes).value());
    const KernelSignature signature = signature_of(graph, graph.operations().back());
    kernel_ = table().make(signature, KernelDevice::host).value();
    scratch_.resize(static_cast<std::size_t>(kernel_->scratch_bytes()) / sizeof(float) + 1);
    for (const ValueType& result : signature.results) {
      results_.emplace_back(size_of(result.shape));
      pointers_.push_back(results_.back().data());
    }
  }

  float* result(std::size_t i = 0) const { return static_cast<float*>(pointers_[i]); }
  void put_result(std::size_t i, float* memory) { pointers_[i] = memory; }

  void run(std::vector<const void*> operands) {
    HOCKET_CHECK(kernel_->run({operands, pointers_, scratch_.data()}), "no index is wrong");
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  Memory scratch_;
  std::vector<Memory> results_;
  std::vector<void*> pointers_;
};

ValueType floats_of(Shape shape) {
  return {NumberType::float32, std::move(shape)};
}

class Comparison {
 public:
  explicit Comparison(const BenchmarkOptions& options) : options_(options) {}

  /// Compares two functions; `reset` comes before each and is not measured.
  void compare(
      const std::string& name, const std::function<void()>& example,
      const std::function<void()>& kernel, const std::function<void()>& reset = [] {}) {
    if (name.find(options_.only) == std::string::npos) return;
    std::vector<double> example_ns, kernel_ns, ratios;
    const auto measure = [&](const std::function<void()>& run) {
      reset();
      const std::int64_t begin = clock_.now_ns();
      run();
      return static_cast<double>(clock_.now_ns() - begin);
    };
    measure(example);
    measure(kernel);
    for (int round = 0; round < options_.rounds; ++round) {
      const bool is_first = round % 2 == 0;
      if (is_first) example_ns.push_back(measure(example));
      kernel_ns.push_back(measure(kernel));
      if (!is_first) example_ns.push_back(measure(example));
      ratios.push_back(kernel_ns.back() / example_ns.back());
    }
    std::printf(
        "%-56s example %8.0f µs  kernel %8.0f µs  ratio %.2f (%.2f to %.2f, all %.2f to %.2f)\n",
        name.c_str(), median(example_ns) / 1e3, median(kernel_ns) / 1e3, median(ratios),
        quantile(ratios, 0.25), quantile(ratios, 0.75), quantile(ratios, 0), quantile(ratios, 1));
    std::fflush(stdout);
  }

 private:
  const BenchmarkOptions& options_;
  SteadyClock clock_;
};

void compare_layer_norm(Comparison& comparison, const BenchmarkOptions& options, int width) {
  const int rows = options.rows();
  const LayerNormShape shape{rows, width};
  const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
  const auto one_row = static_cast<std::size_t>(width);
  const Memory x = random_memory(size, 1), dy = random_memory(size, 2),
               skip = random_memory(size, 3);
  const Memory gain = random_memory(one_row, 4), bias = random_memory(one_row, 5);
  Memory y(size), statistics(2 * static_cast<std::size_t>(rows)), dgain(one_row), dbias(one_row);
  const ValueType all = floats_of({rows, width}), row = floats_of({width});
  const ValueType column = floats_of({rows, 1});
  PreparedKernel forward(Kind::layer_norm, {all, row, row});
  const std::string name = "layer_norm " + std::to_string(width);
  comparison.compare(
      name, [&] { layer_norm_forward(shape, x, gain, bias, y, statistics); },
      [&] {
        forward.run({x.data(), gain.data(), bias.data()});
      });
  layer_norm_forward(shape, x, gain, bias, y, statistics);
  forward.run({x.data(), gain.data(), bias.data()});
  PreparedKernel backward(Kind::layer_norm_gradient, {all, row, column, column, all, all},
                          {{"residual", true}});
  comparison.compare(
      name + ", gradient",
      [&] {
        layer_norm_backward_input(shape, x, gain, statistics, dy, skip, y);
        layer_norm_backward_weight(shape, x, statistics, dy, dgain, dbias);
      },
      [&] {
        backward.run(
            {x.data(), gain.data(), forward.result(1), forward.result(2), dy.data(), skip.data()});
      });
}

void compare_gelu(Comparison& comparison, const BenchmarkOptions& options, int width) {
  const Shape shape{options.rows(), 4 * width};
  const Memory x = random_memory(size_of(shape), 1), dy = random_memory(size_of(shape), 2);
  Memory y(x.size()), of_kernel(x.size());
  PreparedKernel forward(Kind::gelu, {floats_of(shape)});
  const std::string name = "gelu " + std::to_string(4 * width);
  comparison.compare(
      name, [&] { gelu_forward(x, y); }, [&] { forward.run({x.data()}); });
  PreparedKernel backward(Kind::gelu_gradient, {floats_of(shape), floats_of(shape)});
  backward.put_result(0, of_kernel.data());
  // Both replace dy.
  comparison.compare(
      name + ", gradient", [&] { gelu_backward(x, y); },
      [&] {
        backward.run({x.data(), of_kernel.data()});
      },
      [&] {
        y = dy;
        of_kernel = dy;
      });
}

void compare_add(Comparison& comparison, const BenchmarkOptions& options, int width) {
  const Shape shape{options.rows(), width};
  const Memory x = random_memory(size_of(shape), 1);
  Memory y(x.size()), of_kernel(x.size());
  PreparedKernel add(Kind::add, {floats_of(shape), floats_of(shape)});
  add.put_result(0, of_kernel.data());
  comparison.compare(
      "add " + std::to_string(width) + ", in place", [&] { residual_add(x, y); },
      [&] {
        add.run({x.data(), of_kernel.data()});
      });
}

void compare_linear(Comparison& comparison, const BenchmarkOptions& options, int width) {
  const int rows = options.rows(), out = 4 * width;
  const LinearShape shape{rows, width, out};
  const Memory x = random_memory(size_of({rows, width}), 1);
  const Memory weight = random_memory(size_of({width, out}), 2);
  const Memory bias = random_memory(size_of({out}), 3), dy = random_memory(size_of({rows, out}), 4);
  Memory before(size_of({rows, out})), y(before.size()), dx(x.size());
  Memory dweight(weight.size()), dbias(bias.size());
  const ValueType of_x = floats_of({rows, width}), of_y = floats_of({rows, out});
  const ValueType of_weight = floats_of({width, out});
  const std::string name = "linear " + std::to_string(width) + " to " + std::to_string(out);

  PreparedKernel forward(Kind::matmul, {of_x, of_weight, floats_of({out})},
                         {{"bias", true}, {"activation", "gelu"}, {"keeps_before", true}});
  comparison.compare(
      name + " + bias + gelu",
      [&] {
        linear_forward(shape, x, weight, bias, before);
        gelu_forward(before, y);
      },
      [&] {
        forward.run({x.data(), weight.data(), bias.data()});
      });

  PreparedKernel back(Kind::matmul, {of_y, of_weight, of_x},
                      {{"transpose_b", true}, {"gradient_of", "gelu"}});
  comparison.compare(
      name + ", gradient of input, · gelu′",
      [&] {
        linear_backward_input(shape, dy, weight, dx);
        gelu_backward(x, dx);
      },
      [&] {
        back.run({dy.data(), weight.data(), x.data()});
      });

  // The weight of a graph has outputs for rows.
  PreparedKernel of_weights(Kind::matmul, {of_y, of_x}, {{"transpose_a", true}, {"sums_a", true}});
  comparison.compare(
      name + ", gradient of weight and bias",
      [&] { linear_backward_weight(shape, whole_weight(shape), x, dy, dweight, dbias); },
      [&] {
        of_weights.run({dy.data(), x.data()});
      });
}

void compare_attention(Comparison& comparison, const BenchmarkOptions& options, int width) {
  constexpr int kHeadWidth = 64;
  const int batch = options.batch, sequence = options.sequence, heads = width / kHeadWidth;
  const AttentionShape shape{batch, sequence, heads, width};
  const Shape of_head{batch, heads, sequence, kHeadWidth};
  const std::size_t part = size_of(of_head);
  const Memory qkv = random_memory(3 * part, 1), dy = random_memory(part, 2);
  Memory weights(size_of({batch, heads, sequence, sequence})), y(part), dqkv(qkv.size());
  Memory scratch(size_of({sequence, sequence}));
  const ValueType one = floats_of(of_head);
  const Attributes causal{{"causal", true}};
  const std::string name = "attention " + std::to_string(width) + " × " + std::to_string(sequence);

  PreparedKernel apart(Kind::transpose, {floats_of({batch, sequence, 3, heads, kHeadWidth})},
                       {{"order", Shape{2, 0, 3, 1, 4}}});
  PreparedKernel forward(Kind::attention, {one, one, one}, causal);
  PreparedKernel together(Kind::transpose, {one}, {{"order", Shape{0, 2, 1, 3}}});
  apart.run({qkv.data()});
  const float* const queries = apart.result();
  const float *const keys = queries + part, *const values = keys + part;
  const auto of_example = [&] { attention_forward(shape, qkv, weights, y); };
  comparison.compare(name, of_example, [&] { forward.run({queries, keys, values}); });
  comparison.compare(name + " with layout", of_example, [&] {
    apart.run({qkv.data()});
    forward.run({queries, keys, values});
    together.run({forward.result()});
  });

  of_example();
  forward.run({queries, keys, values});
  PreparedKernel backward(Kind::attention_gradient,
                          {one, one, one, one, floats_of({batch, heads, sequence}), one}, causal);
  PreparedKernel dy_apart(Kind::transpose, {floats_of({batch, sequence, heads, kHeadWidth})},
                          {{"order", Shape{0, 2, 1, 3}}});
  PreparedKernel back_together(Kind::transpose,
                               {floats_of({3, batch, heads, sequence, kHeadWidth})},
                               {{"order", Shape{1, 3, 0, 2, 4}}});
  Memory gradients(3 * part);
  for (std::size_t i = 0; i < 3; ++i) backward.put_result(i, gradients.data() + i * part);
  const auto back_of_example = [&] { attention_backward(shape, qkv, weights, dy, scratch, dqkv); };
  const auto back_of_kernel = [&](const float* dheads) {
    backward.run({queries, keys, values, forward.result(0), forward.result(1), dheads});
  };
  comparison.compare(name + ", gradient", back_of_example, [&] { back_of_kernel(dy.data()); });
  comparison.compare(name + ", gradient with layout", back_of_example, [&] {
    dy_apart.run({dy.data()});
    back_of_kernel(dy_apart.result());
    back_together.run({gradients.data()});
  });
}

void compare_cross_entropy(Comparison& comparison, const BenchmarkOptions& options) {
  const int rows = options.rows(), vocabulary = options.vocabulary;
  const Memory logits = random_memory(size_of({rows, vocabulary}), 1);
  std::vector<std::int32_t> targets;
  for (int row = 0; row < rows; ++row) targets.push_back(row * 97 % vocabulary);
  Memory of_example, of_kernel;
  const Memory slopes(static_cast<std::size_t>(rows), 1.0f / static_cast<float>(rows));
  const ValueType all = floats_of({rows, vocabulary}), row = floats_of({rows});
  const ValueType indices{NumberType::int32, {rows}};
  PreparedKernel forward(Kind::cross_entropy, {all, indices});
  PreparedKernel backward(Kind::cross_entropy_gradient, {all, indices, row, row});
  comparison.compare(
      "cross_entropy " + std::to_string(vocabulary) + ", and gradient",
      [&] { cross_entropy(vocabulary, of_example, targets); },
      [&] {
        forward.run({of_kernel.data(), targets.data()});
        backward.run({of_kernel.data(), targets.data(), forward.result(1), slopes.data()});
      },
      [&] {
        of_example = logits;
        of_kernel = logits;
        backward.put_result(0, of_kernel.data());
      });
}

void compare_adamw(Comparison& comparison, int width) {
  const Shape shape{4 * width, width};
  const std::size_t size = size_of(shape);
  const Memory gradients = random_memory(size, 1);
  Memory parameters = random_memory(size, 2), of_kernel = parameters;
  Memory first(size), second(size, 1), first_of_kernel(size), second_of_kernel(size, 1);
  const AdamW settings;
  const auto rate = static_cast<float>(settings.learning_rate);
  const std::int32_t step = 7;
  PreparedKernel update(
      Kind::adamw,
      {floats_of(shape), floats_of(shape), floats_of(shape), floats_of(shape), floats_of({}),
       ValueType{NumberType::int32, {}}},
      {{"beta1", settings.beta1}, {"beta2", settings.beta2}, {"weight_decay", 0.1}});
  update.put_result(0, of_kernel.data());
  update.put_result(1, first_of_kernel.data());
  update.put_result(2, second_of_kernel.data());
  comparison.compare(
      "adamw " + std::to_string(4 * width) + " × " + std::to_string(width),
      [&] { adamw_update(settings, step, true, 1, gradients, parameters, first, second); },
      [&] {
        update.run({of_kernel.data(), gradients.data(), first_of_kernel.data(),
                    second_of_kernel.data(), &rate, &step});
      });
}

int compare_all(const BenchmarkOptions& options) {
  Comparison comparison(options);
  for (const int width : options.widths) {
    compare_layer_norm(comparison, options, width);
    compare_gelu(comparison, options, width);
    compare_add(comparison, options, width);
    compare_linear(comparison, options, width);
    compare_attention(comparison, options, width);
    compare_adamw(comparison, width);
  }
  compare_cross_entropy(comparison, options);
  return 0;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::BenchmarkOptions options;
  CLI::App app("The kernels of the host against the functions of examples/gpt2");
  const CLI::Range sizes(1, 1 << 20);
  app.add_option("--rounds", options.rounds)->capture_default_str()->check(sizes);
  app.add_option("--width", options.widths, "multiples of 64")->check(CLI::Range(64, 1 << 14));
  app.add_option("--batch", options.batch)->capture_default_str()->check(sizes);
  app.add_option("--sequence", options.sequence)->capture_default_str()->check(sizes);
  app.add_option("--vocabulary", options.vocabulary)->capture_default_str()->check(sizes);
  app.add_option("--only", options.only, "those whose names contain this");
  CLI11_PARSE(app, argc, argv);
  return hocket::compare_all(options);
}
