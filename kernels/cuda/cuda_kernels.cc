#include "kernels/cuda/cuda_kernels.h"

#include "kernels/cuda/product_kernels.h"

namespace hocket {
namespace {

using Kind = OperationKind;

struct CudaRow {
  Kind kind;
  kernels::MadeKernel (*make)(const KernelSignature& signature);
};

/// By kind, on float32 and bfloat16; the result has the type of the operand.
constexpr CudaRow kRows[] = {
    {Kind::add, kernels::make_elementwise},
    {Kind::subtract, kernels::make_elementwise},
    {Kind::multiply, kernels::make_elementwise},
    {Kind::divide, kernels::make_elementwise},
    {Kind::scale, kernels::make_elementwise},
    {Kind::exponential, kernels::make_elementwise},
    {Kind::logarithm, kernels::make_elementwise},
    {Kind::square_root, kernels::make_elementwise},
    {Kind::reciprocal_square_root, kernels::make_elementwise},
    {Kind::tanh, kernels::make_elementwise},
    {Kind::sigmoid, kernels::make_elementwise},
    {Kind::relu, kernels::make_elementwise},
    {Kind::gelu, kernels::make_elementwise},
    {Kind::silu, kernels::make_elementwise},
    {Kind::swiglu, kernels::make_elementwise},
    {Kind::relu_gradient, kernels::make_elementwise},
    {Kind::gelu_gradient, kernels::make_elementwise},
    {Kind::silu_gradient, kernels::make_elementwise},
    {Kind::select, kernels::make_select},
    {Kind::dropout, kernels::make_dropout},
    {Kind::sum, kernels::make_sum},
    {Kind::maximum, kernels::make_maximum},
    {Kind::maximum_gradient, kernels::make_maximum_gradient},
    {Kind::layer_norm, kernels::make_norm},
    {Kind::layer_norm_gradient, kernels::make_norm_gradient},
    {Kind::rms_norm, kernels::make_norm},
    {Kind::rms_norm_gradient, kernels::make_norm_gradient},
    {Kind::softmax, kernels::make_softmax},
    {Kind::softmax_gradient, kernels::make_softmax_gradient},
    {Kind::rotary, kernels::make_rotary},
    {Kind::embedding, kernels::make_embedding},
    {Kind::embedding_gradient, kernels::make_embedding_gradient},
    {Kind::cross_entropy_gradient, kernels::make_cross_entropy_gradient},
    {Kind::top_k, kernels::make_top_k},
    {Kind::top_k_gradient, kernels::make_top_k_gradient},
    {Kind::dispatch, kernels::make_dispatch},
    {Kind::dispatch_gradient, kernels::make_dispatch_gradient},
    {Kind::combine, kernels::make_combine},
    {Kind::combine_gradient, kernels::make_combine_gradient},
};

/// By kind, from float32 and bfloat16 to float32.
constexpr CudaRow kWideningRows[] = {
    {Kind::is_finite, kernels::make_is_finite},
    {Kind::cross_entropy, kernels::make_cross_entropy},
};

/// By kind, on float32.
constexpr CudaRow kUpdateRows[] = {
    {Kind::adamw, kernels::make_adamw},
    {Kind::sgd, kernels::make_sgd},
};

/// By kind, on numbers that are put elsewhere as they are.
constexpr CudaRow kLayoutRows[] = {
    {Kind::constant, kernels::make_constant},
    {Kind::reshape, kernels::make_reshape},
    {Kind::transpose, kernels::make_transpose},
    {Kind::slice, kernels::make_slice},
    {Kind::pad, kernels::make_pad},
    {Kind::concatenate, kernels::make_concatenate},
    {Kind::broadcast, kernels::make_broadcast},
};

using ProductMaker = kernels::MadeKernel (*)(const KernelSignature& signature,
                                             const std::shared_ptr<kernels::KnownProducts>&);

constexpr NumberType kComputed[] = {NumberType::float32, NumberType::bfloat16};
constexpr NumberType kFloating[] = {NumberType::float32, NumberType::bfloat16, NumberType::float16};

}  // namespace

void add_cuda_kernels(KernelTable& table, const CudaKernelParts& parts) {
  constexpr KernelDevice kCuda = KernelDevice::cuda;
  constexpr NumberType kWide = NumberType::float32;
  const auto known = std::make_shared<kernels::KnownProducts>(parts);
  const auto add_product = [&](Kind kind, KernelTypes types, ProductMaker make) {
    table.add(kind, types, kCuda,
              [known, make](const KernelSignature& signature) { return make(signature, known); });
  };
  for (const NumberType type : kComputed) {
    for (const CudaRow& row : kRows) table.add(row.kind, {type, type}, kCuda, row.make);
    for (const CudaRow& row : kWideningRows) table.add(row.kind, {type, kWide}, kCuda, row.make);
    add_product(Kind::matmul, {type, type}, kernels::make_matmul);
    add_product(Kind::attention, {type, type}, kernels::make_attention);
    add_product(Kind::attention_gradient, {type, type}, kernels::make_attention_gradient);
  }
  add_product(Kind::matmul, {NumberType::bfloat16, kWide}, kernels::make_matmul);
  for (const CudaRow& row : kUpdateRows) table.add(row.kind, {kWide, kWide}, kCuda, row.make);
  for (const CudaRow& row : kLayoutRows) {
    for (const NumberType type : {NumberType::float32, NumberType::bfloat16, NumberType::int32})
      table.add(row.kind, {type, type}, kCuda, row.make);
  }
  for (const NumberType from : kFloating) {
    for (const NumberType to : kFloating)
      table.add(Kind::convert, {from, to}, kCuda, kernels::make_convert);
  }
}

}  // namespace hocket
