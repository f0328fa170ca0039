// Compares the kernels of the host with what bounds them, in turn in one run.
//
//   bin/kernels_benchmark [--rounds N] [--width N]… [--batch N] [--sequence N] [--vocabulary N]
//                         [--only TEXT]
//
// The bound of a product, with whatever follows it, is the product alone by OpenBLAS; that of
// attention, and of its gradient, are its products without the mask; that of everything else is to
// copy as many bytes as its operands and results have together. A round runs a kernel and its bound
// once, on one thread, in changing order. Prints the medians of the times, and the median, the
// quartiles and the range of the rounds' ratios.

#include <cblas.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/align/aligned_allocator.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
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

  std::int64_t rows() const { return std::int64_t{batch} * sequence; }
};

ValueType floats_of(Shape shape) {
  return {NumberType::float32, std::move(shape)};
}

/// A kernel with memory for its operands, of random numbers, and its results.
class PreparedKernel {
 public:
  PreparedKernel(Kind kind, const std::vector<ValueType>& operands, const Attributes& attributes) {
    Graph graph;
    std::vector<ValueId> values;
    for (const ValueType& operand : operands)
      values.push_back(graph.add_input("x" + std::to_string(values.size()), operand).value());
    static_cast<void>(graph.add(kind, values, attributes).value());
    signature_ = signature_of(graph, graph.operations().back());
    KernelTable table;
    add_host_kernels(table);
    kernel_ = table.make(signature_, KernelDevice::host).value();
    scratch_.resize(static_cast<std::size_t>(kernel_->scratch_bytes()) / sizeof(float) + 1);
    for (const ValueType& operand : signature_.operands) operands_.push_back(filled(operand));
    for (const ValueType& result : signature_.results) results_.push_back(filled(result));
    for (const InPlace& pair : kernel_->in_place())
      if (kind != Kind::matmul) shared_.push_back(pair);
  }

  void run() {
    std::vector<const void*> from;
    std::vector<void*> to;
    for (Memory& operand : operands_) from.push_back(operand.data());
    for (std::size_t r = 0; r < results_.size(); ++r) {
      const auto shared = std::ranges::find(shared_, r, &InPlace::result);
      to.push_back(shared == shared_.end() ? results_[r].data()
                                           : operands_[shared->operand].data());
    }
    HOCKET_CHECK(kernel_->run({from, to, scratch_.data()}), "no index is wrong");
  }

  std::int64_t bytes() const {
    std::int64_t bytes = 0;
    for (const ValueType& type : signature_.operands) bytes += type.bytes();
    for (const ValueType& type : signature_.results) bytes += type.bytes();
    return bytes;
  }

 private:
  /// Whole numbers are indices below 8, or the number of a step.
  static Memory filled(const ValueType& type) {
    std::mt19937 random(static_cast<unsigned>(type.count()));
    Memory memory(static_cast<std::size_t>(type.count()));
    for (float& each : memory) {
      each = std::uniform_real_distribution<float>(0.1F, 1)(random);
      const std::int32_t whole = 1 + static_cast<std::int32_t>(random() % 7);
      if (!is_floating(type.numbers)) std::memcpy(&each, &whole, sizeof whole);
    }
    return memory;
  }

  KernelSignature signature_;
  std::unique_ptr<Kernel> kernel_;
  Memory scratch_;
  std::vector<Memory> operands_, results_;
  std::vector<InPlace> shared_;
};

/// Sizes of a product: [rows inner] · [inner columns].
struct Product {
  std::int64_t rows = 0, columns = 0, inner = 0, count = 1;
};

class Comparison {
 public:
  explicit Comparison(const BenchmarkOptions& options) : options_(options) {}

  void compare(const std::string& name, Kind kind, const std::vector<ValueType>& operands,
               const Attributes& attributes = {}, const std::vector<Product>& products = {}) {
    if (name.find(options_.only) == std::string::npos) return;
    PreparedKernel kernel(kind, operands, attributes);
    const auto bytes = static_cast<std::size_t>(kernel.bytes() / 2);
    Memory from(bytes / sizeof(float) + 1, 1), to(from.size());
    std::vector<Memory> matrices;
    for (const Product& product : products)
      for (const std::int64_t size : {product.rows * product.inner, product.inner * product.columns,
                                      product.rows * product.columns})
        matrices.emplace_back(static_cast<std::size_t>(size), 0.5F);
    const auto bound = [&] {
      if (products.empty()) std::memcpy(to.data(), from.data(), bytes);
      for (std::size_t i = 0; i < products.size(); ++i) multiply(products[i], &matrices[3 * i]);
    };
    measure(name, products.empty() ? "copy" : "product", bound, [&] { kernel.run(); });
  }

 private:
  static void multiply(const Product& product, Memory* matrices) {
    for (std::int64_t i = 0; i < product.count; ++i) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(product.rows),
                  static_cast<int>(product.columns), static_cast<int>(product.inner), 1,
                  matrices[0].data(), static_cast<int>(product.inner), matrices[1].data(),
                  static_cast<int>(product.columns), 0, matrices[2].data(),
                  static_cast<int>(product.columns));
    }
  }

  void measure(const std::string& name, const char* bound_name, const std::function<void()>& bound,
               const std::function<void()>& kernel) const {
    const auto ns_of = [&](const std::function<void()>& run) {
      const std::int64_t begin = clock_.now_ns();
      run();
      return static_cast<double>(clock_.now_ns() - begin);
    };
    ns_of(bound);
    ns_of(kernel);
    std::vector<double> bound_ns, kernel_ns, ratios;
    for (int round = 0; round < options_.rounds; ++round) {
      const bool is_first = round % 2 == 0;
      if (is_first) bound_ns.push_back(ns_of(bound));
      kernel_ns.push_back(ns_of(kernel));
      if (!is_first) bound_ns.push_back(ns_of(bound));
      ratios.push_back(kernel_ns.back() / bound_ns.back());
    }
    std::printf(
        "%-56s %-7s %8.0f µs  kernel %8.0f µs  ratio %.2f (%.2f to %.2f, all %.2f to %.2f)\n",
        name.c_str(), bound_name, median(bound_ns) / 1e3, median(kernel_ns) / 1e3, median(ratios),
        quantile(ratios, 0.25), quantile(ratios, 0.75), quantile(ratios, 0), quantile(ratios, 1));
    std::fflush(stdout);
  }

  const BenchmarkOptions& options_;
  SteadyClock clock_;
};

void compare_elementwise(Comparison& comparison, std::int64_t rows, std::int64_t width) {
  const ValueType all = floats_of({rows, width}), wide = floats_of({rows, 4 * width});
  const ValueType row = floats_of({width}), column = floats_of({rows, 1});
  const std::string of = " " + std::to_string(width), of_wide = " " + std::to_string(4 * width);
  comparison.compare("layer_norm" + of, Kind::layer_norm, {all, row, row});
  comparison.compare("layer_norm" + of + ", gradient", Kind::layer_norm_gradient,
                     {all, row, column, column, all, all}, {{"residual", true}});
  comparison.compare("rms_norm" + of, Kind::rms_norm, {all, row});
  comparison.compare("gelu" + of_wide, Kind::gelu, {wide});
  comparison.compare("gelu" + of_wide + ", gradient", Kind::gelu_gradient, {wide, wide});
  comparison.compare("swiglu" + of_wide, Kind::swiglu, {wide, wide});
  comparison.compare("add" + of, Kind::add, {all, all});
  const ValueType weight = floats_of({4 * width, width}), number = floats_of({});
  comparison.compare("adamw" + of_wide + " ×" + of, Kind::adamw,
                     {weight, weight, weight, weight, number, {NumberType::int32, {}}},
                     {{"weight_decay", 0.1}});
}

void compare_linear(Comparison& comparison, std::int64_t rows, std::int64_t width) {
  const std::int64_t out = 4 * width;
  const ValueType x = floats_of({rows, width}), y = floats_of({rows, out});
  const ValueType weight = floats_of({width, out});
  const std::string name = "linear " + std::to_string(width) + " to " + std::to_string(out);
  comparison.compare(name + " + bias + gelu", Kind::matmul, {x, weight, floats_of({out})},
                     {{"bias", true}, {"activation", "gelu"}, {"keeps_before", true}},
                     {{.rows = rows, .columns = out, .inner = width}});
  comparison.compare(name + ", gradient of input, · gelu′", Kind::matmul, {y, weight, x},
                     {{"transpose_b", true}, {"gradient_of", "gelu"}},
                     {{.rows = rows, .columns = width, .inner = out}});
  comparison.compare(name + ", gradient of weight and bias", Kind::matmul, {y, x},
                     {{"transpose_a", true}, {"sums_a", true}},
                     {{.rows = out, .columns = width, .inner = rows}});
}

void compare_attention(Comparison& comparison, const BenchmarkOptions& options,
                       std::int64_t width) {
  constexpr std::int64_t kHeadWidth = 64;
  const std::int64_t batch = options.batch, sequence = options.sequence, heads = width / kHeadWidth;
  const ValueType one = floats_of({batch, heads, sequence, kHeadWidth});
  const ValueType sums = floats_of({batch, heads, sequence});
  const Product scores{
      .rows = sequence, .columns = sequence, .inner = kHeadWidth, .count = batch * heads};
  const Product weighted{
      .rows = sequence, .columns = kHeadWidth, .inner = sequence, .count = batch * heads};
  const std::string name = "attention " + std::to_string(width) + " × " + std::to_string(sequence);
  comparison.compare(name, Kind::attention, {one, one, one}, {{"causal", true}},
                     {scores, weighted});
  comparison.compare(name + ", gradient", Kind::attention_gradient, {one, one, one, one, sums, one},
                     {{"causal", true}}, {scores, scores, weighted, weighted, weighted});
}

void compare_all(const BenchmarkOptions& options) {
  Comparison comparison(options);
  for (const int width : options.widths) {
    compare_elementwise(comparison, options.rows(), width);
    compare_linear(comparison, options.rows(), width);
    compare_attention(comparison, options, width);
  }
  const ValueType logits = floats_of({options.rows(), options.vocabulary});
  const ValueType row = floats_of({options.rows()});
  const ValueType targets{NumberType::int32, {options.rows()}};
  const std::string name = "cross_entropy " + std::to_string(options.vocabulary);
  comparison.compare(name, Kind::cross_entropy, {logits, targets});
  comparison.compare(name + ", gradient", Kind::cross_entropy_gradient,
                     {logits, targets, row, row});
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::BenchmarkOptions options;
  CLI::App app("The kernels of the host against what bounds them");
  const CLI::Range sizes(1, 1 << 20);
  app.add_option("--rounds", options.rounds)->capture_default_str()->check(sizes);
  app.add_option("--width", options.widths, "multiples of 64")->check(CLI::Range(64, 1 << 14));
  app.add_option("--batch", options.batch)->capture_default_str()->check(sizes);
  app.add_option("--sequence", options.sequence)->capture_default_str()->check(sizes);
  app.add_option("--vocabulary", options.vocabulary)->capture_default_str()->check(sizes);
  app.add_option("--only", options.only, "those whose names contain this");
  CLI11_PARSE(app, argc, argv);
  hocket::compare_all(options);
}
