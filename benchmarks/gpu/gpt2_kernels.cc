#include "benchmarks/gpu/gpt2_kernels.h"

#include <array>
#include <cstdio>

#include "examples/gpt2/cuda/kernels.h"
#ifdef HOCKET_GPT2_CUDNN
#include "examples/gpt2/cuda/cudnn_attention.h"
#endif

namespace hocket {
namespace {

/// Makes the cases, whose launches use it.
class Cases {
 public:
  Cases(Bench& bench, const Gpt2Sizes& sizes, ElementType type)
      : bench_(bench),
        type_(type),
        sizes_(sizes),
        rows_(sizes.batch * sizes.sequence),
        size_(element_bytes(type)),
        stream_bytes_(matrix_bytes(rows_, sizes.width)) {
    std::mt19937 random(1);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows_));
    for (std::int32_t& token : tokens)
      token = static_cast<std::int32_t>(random() % static_cast<unsigned>(sizes_.vocabulary));
    tokens_ = static_cast<std::int32_t*>(bench.allocated(tokens.size() * sizeof(std::int32_t)));
    bench.copy(tokens_, tokens.data(), tokens.size() * sizeof(std::int32_t));
    std::ranges::sort(tokens);
    distinct_tokens_ = std::ranges::unique(tokens).begin() - tokens.begin();
    count_ = static_cast<std::int64_t*>(bench.allocated(sizeof(std::int64_t)));
  }

  std::vector<TimedKernel> all() {
    add_embedding();
    add_layer_norm();
    add_elementwise();
    add_attention();
    add_loss_and_update();
    add_products();
    return std::move(cases_);
  }

 private:
  std::size_t matrix_bytes(std::size_t rows, std::size_t columns) const {
    return rows * columns * size_;
  }
  /// Adds a kernel that moves `bytes`.
  void add(std::string name, std::vector<std::size_t> operands, double bytes,
           std::function<Result<void>(const Operands&)> launch) {
    cases_.push_back({std::move(name), std::move(operands), bytes, 0, std::move(launch)});
  }
  static float* floats(void* memory) { return static_cast<float*>(memory); }

  void add_embedding() {
    const EmbeddingShape shape{sizes_.batch, sizes_.sequence, sizes_.vocabulary, sizes_.width};
    const std::size_t table = matrix_bytes(sizes_.vocabulary, sizes_.width),
                      positions = matrix_bytes(sizes_.sequence, sizes_.width);
    const double touched = static_cast<double>(distinct_tokens_) * sizes_.width;
    add("embedding_forward", {table, positions, stream_bytes_},
        touched * size_ + positions + stream_bytes_, [=, this](const Operands& of) {
          return kernels::embedding_forward(shape, type_, tokens_, of[0], of[1], of[2], stream());
        });
    const std::size_t dtable = sizes_.vocabulary * sizes_.width * sizeof(float),
                      dpositions = sizes_.sequence * sizes_.width * sizeof(float);
    add("embedding_backward", {stream_bytes_, dtable, dpositions},
        stream_bytes_ + 2 * touched * sizeof(float) + dpositions, [=, this](const Operands& of) {
          return kernels::embedding_backward(shape, type_, tokens_, of[0], floats(of[1]),
                                             floats(of[2]), false, stream());
        });
  }

  void add_layer_norm() {
    const LayerNormShape shape{rows_, sizes_.width};
    const std::size_t vector = sizes_.width * sizeof(float), statistics = 2 * rows_ * sizeof(float);
    const double moved = static_cast<double>(stream_bytes_);
    add("layer_norm_forward", {stream_bytes_, vector, vector, stream_bytes_, statistics},
        2 * moved + statistics, [=, this](const Operands& of) {
          return kernels::layer_norm_forward(shape, type_, of[0], floats(of[1]), floats(of[2]),
                                             of[3], floats(of[4]), stream());
        });
    add("layer_norm_backward_input",
        {stream_bytes_, vector, statistics, stream_bytes_, stream_bytes_, stream_bytes_},
        4 * moved + statistics, [=, this](const Operands& of) {
          return kernels::layer_norm_backward_input(shape, type_, of[0], floats(of[1]),
                                                    floats(of[2]), of[3], of[4], of[5], stream());
        });
    const std::size_t scratch = kernels::layer_norm_scratch_floats(shape) * sizeof(float);
    add("layer_norm_backward_weight",
        {stream_bytes_, statistics, stream_bytes_, scratch, vector, vector}, 2 * moved + statistics,
        [=, this](const Operands& of) {
          return kernels::layer_norm_backward_weight(shape, type_, of[0], floats(of[1]), of[2],
                                                     floats(of[3]), floats(of[4]), floats(of[5]),
                                                     false, stream());
        });
  }

  void add_elementwise() {
    const std::size_t wide = 4 * stream_bytes_, count = wide / size_;
    add("gelu_forward", {wide, wide}, 2.0 * wide, [=, this](const Operands& of) {
      return kernels::gelu_forward(count, type_, of[0], of[1], stream());
    });
    add("gelu_backward", {wide, wide}, 3.0 * wide, [=, this](const Operands& of) {
      return kernels::gelu_backward(count, type_, of[0], of[1], stream());
    });
    add("residual_add", {stream_bytes_, stream_bytes_}, 3.0 * stream_bytes_,
        [=, this](const Operands& of) {
          return kernels::residual_add(count / 4, type_, of[0], of[1], stream());
        });
    const int columns = 4 * sizes_.width;
    const std::size_t scratch = kernels::column_sums_scratch_floats(rows_, columns) * sizeof(float);
    add("column_sums", {wide, scratch, columns * sizeof(float)}, static_cast<double>(wide),
        [=, this](const Operands& of) {
          return kernels::column_sums(rows_, columns, type_, of[0], floats(of[1]), floats(of[2]),
                                      false, stream());
        });
  }

  /// The causal softmax reads one half of the weights, and attention computes one half of them.
  void add_attention() {
    const AttentionShape shape{sizes_.batch, sizes_.sequence, sizes_.heads, sizes_.width};
    const std::size_t weights =
        matrix_bytes(std::size_t{1} * sizes_.heads * rows_, sizes_.sequence);
    add("softmax_causal_forward", {weights}, 1.5 * weights, [=, this](const Operands& of) {
      return kernels::softmax_causal_forward(shape, type_, of[0], stream());
    });
    add("softmax_causal_backward", {weights, weights}, 2.0 * weights,
        [=, this](const Operands& of) {
          return kernels::softmax_causal_backward(shape, type_, of[0], of[1], stream());
        });
#ifdef HOCKET_GPT2_CUDNN
    if (type_ == ElementType::bfloat16) add_fused_attention(shape);
#endif
  }
#ifdef HOCKET_GPT2_CUDNN
  void add_fused_attention(const AttentionShape& shape) {
    auto opened = open_cudnn_attention(bench_.driver());
    const auto prepared = opened ? (*opened)->prepare(shape) : failure(opened.error());
    if (!prepared) {
      std::fprintf(stderr, "gpu_kernels: %s\n", prepared.error().message.c_str());
      return;
    }
    const std::shared_ptr<FusedAttention> attention = std::move(*opened);
    const std::size_t statistics = std::size_t{1} * sizes_.heads * rows_ * sizeof(float),
                      forward_scratch = attention->forward_workspace_bytes() + 1,
                      backward_scratch = attention->backward_workspace_bytes() + 1;
    const double product = 2.0 * rows_ * sizes_.sequence * sizes_.width / 2;
    cases_.push_back({"attention_forward",
                      {3 * stream_bytes_, statistics, stream_bytes_, forward_scratch},
                      0,
                      2 * product,
                      [=, this](const Operands& of) {
                        return attention->forward(of[0], floats(of[1]), of[2], of[3],
                                                  bench_.task());
                      }});
    cases_.push_back({"attention_backward",
                      {3 * stream_bytes_, statistics, stream_bytes_, stream_bytes_,
                       3 * stream_bytes_, backward_scratch},
                      0,
                      5 * product,
                      [=, this](const Operands& of) {
                        return attention->backward(of[0], floats(of[1]), of[2], of[3], of[4], of[5],
                                                   bench_.task());
                      }});
  }
#endif

  void add_loss_and_update() {
    const std::size_t logits = matrix_bytes(rows_, sizes_.columns);
    add("cross_entropy", {logits, rows_ * sizeof(float), sizeof(float)}, 2.0 * logits,
        [=, this](const Operands& of) {
          // Without a stride, all steps have one place.
          return kernels::cross_entropy({rows_, sizes_.vocabulary, sizes_.columns}, type_, of[0],
                                        tokens_, floats(of[1]), {floats(of[2]), 0, count_},
                                        stream());
        });
    const std::size_t count = std::size_t{8} * sizes_.width * sizes_.width,
                      bytes = count * sizeof(float);
    const bool copies = type_ == ElementType::bfloat16;
    add("adamw_update", {bytes, bytes, bytes, bytes, count * 2, 2 * sizeof(float)},
        7.0 * bytes + (copies ? 2.0 * count : 0), [=, this](const Operands& of) {
          const std::array<AdamWRange, 1> ranges{{{count, true}}};
          return kernels::adamw_update({}, count_, 1, ranges, floats(of[0]), floats(of[1]),
                                       floats(of[2]), floats(of[3]), copies ? of[4] : nullptr,
                                       floats(of[5]), stream());
        });
    add("convert", {bytes, count * 2}, 1.5 * bytes, [=, this](const Operands& of) {
      return kernels::convert(count, floats(of[0]), of[1], stream());
    });
  }

  /// A product of a rows × inner and an inner × columns matrix, in the types of its task.
  struct Product {
    const char* name;
    int rows, inner, columns;
    bool transpose_a = false, transpose_b = false;
    Epilogue epilogue = Epilogue::none;
  };

  void add_products() {
    const int d = sizes_.width;
    // As DeviceBackend multiplies: GELU is an epilogue in bfloat16 only.
    const bool fuses = type_ == ElementType::bfloat16;
    const auto up = fuses ? Epilogue::bias_gelu : Epilogue::bias;
    const auto down_dx = fuses ? Epilogue::gelu_gradient : Epilogue::none;
    for (const Product& p : {Product{"qkv", rows_, d, 3 * d, false, false, Epilogue::bias},
                             Product{"projection", rows_, d, d, false, false, Epilogue::bias},
                             Product{"up", rows_, d, 4 * d, false, false, up},
                             Product{"down", rows_, 4 * d, d, false, false, Epilogue::bias},
                             Product{"qkv.dx", rows_, 3 * d, d, false, true},
                             Product{"down.dx", rows_, d, 4 * d, false, true, down_dx},
                             Product{"qkv.dw", d, rows_, 3 * d, true, false},
                             Product{"up.dw", d, rows_, 4 * d, true, false},
                             Product{"down.dw", 4 * d, rows_, d, true, false},
                             Product{"head", rows_, d, sizes_.columns, false, true},
                             Product{"head.dx", rows_, sizes_.columns, d, false, false},
                             Product{"head.dw", sizes_.columns, rows_, d, true, false}})
      add_product(p);
  }
  void add_product(const Product& p) {
    MatrixProduct product;
    product.transpose_a = p.transpose_a;
    product.transpose_b = p.transpose_b;
    product.epilogue = p.epilogue;
    const auto shape = [](DeviceMatrix& matrix, ElementType type, int rows, int columns,
                          bool turn) {
      matrix.type = type;
      matrix.rows = turn ? columns : rows;
      matrix.columns = turn ? rows : columns;
    };
    shape(product.a, type_, p.rows, p.inner, p.transpose_a);
    shape(product.b, type_, p.inner, p.columns, p.transpose_b);
    // Gradients of weights, the only ones with a transposed first matrix, are float32.
    const ElementType result = p.transpose_a ? ElementType::float32 : type_;
    shape(product.c, result, p.rows, p.columns, false);
    const auto bytes = [](const DeviceMatrix& matrix) {
      return std::size_t{1} * matrix.rows * matrix.columns * element_bytes(matrix.type);
    };
    const bool biased = p.epilogue == Epilogue::bias || p.epilogue == Epilogue::bias_gelu;
    const bool gelu = p.epilogue == Epilogue::bias_gelu || p.epilogue == Epilogue::gelu_gradient;
    cases_.push_back({p.name,
                      {bytes(product.a), bytes(product.b), bytes(product.c),
                       p.columns * sizeof(float), gelu ? bytes(product.c) : 1},
                      0,
                      2.0 * p.rows * p.inner * p.columns,
                      [=, this](const Operands& of) {
                        MatrixProduct own = product;
                        own.a.values = of[0];
                        own.b.values = of[1];
                        own.c.values = of[2];
                        if (biased) own.bias = of[3];
                        if (gelu) own.gelu_input = of[4];
                        return bench_.products().multiply(own, bench_.task());
                      }});
  }

  DeviceStream stream() const {
    return bench_.stream();
  }

  Bench& bench_;
  const ElementType type_;
  const Gpt2Sizes sizes_;
  const int rows_;
  const std::size_t size_, stream_bytes_;  // of an element, and of a residual stream
  std::int32_t* tokens_ = nullptr;
  std::ptrdiff_t distinct_tokens_ = 0;
  std::int64_t* count_ = nullptr;
  std::vector<TimedKernel> cases_;
};

}  // namespace

std::vector<TimedKernel> gpt2_kernels(Bench& bench, const Gpt2Sizes& sizes, ElementType type) {
  const auto cases = std::make_shared<Cases>(bench, sizes, type);
  std::vector<TimedKernel> all = cases->all();
  for (TimedKernel& kernel : all) {
    kernel.launch = [cases, launch = std::move(kernel.launch)](const Operands& operands) {
      return launch(operands);
    };
  }
  return all;
}

}  // namespace hocket
