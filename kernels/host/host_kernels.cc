#include "kernels/host/host_kernels.h"

#include "kernels/host/blas.h"
#include "kernels/host/host_kernel.h"

namespace hocket {
namespace {

using Kind = OperationKind;

struct HostRow {
  Kind kind;
  MadeKernel (*make)(const KernelSignature& signature);
};

/// By kind, on float32.
constexpr HostRow kRows[] = {
    {Kind::add, make_elementwise},
    {Kind::subtract, make_elementwise},
    {Kind::multiply, make_elementwise},
    {Kind::divide, make_elementwise},
    {Kind::scale, make_elementwise},
    {Kind::exponential, make_elementwise},
    {Kind::logarithm, make_elementwise},
    {Kind::square_root, make_elementwise},
    {Kind::reciprocal_square_root, make_elementwise},
    {Kind::tanh, make_elementwise},
    {Kind::sigmoid, make_elementwise},
    {Kind::relu, make_elementwise},
    {Kind::gelu, make_elementwise},
    {Kind::silu, make_elementwise},
    {Kind::swiglu, make_elementwise},
    {Kind::relu_gradient, make_elementwise},
    {Kind::gelu_gradient, make_elementwise},
    {Kind::silu_gradient, make_elementwise},
    {Kind::select, make_select},
    {Kind::dropout, make_dropout},
    {Kind::sum, make_sum},
    {Kind::maximum, make_maximum},
    {Kind::maximum_gradient, make_maximum_gradient},
    {Kind::is_finite, make_is_finite},
    {Kind::matmul, make_matmul},
    {Kind::layer_norm, make_layer_norm},
    {Kind::layer_norm_gradient, make_layer_norm_gradient},
    {Kind::rms_norm, make_rms_norm},
    {Kind::rms_norm_gradient, make_rms_norm_gradient},
    {Kind::softmax, make_softmax},
    {Kind::softmax_gradient, make_softmax_gradient},
    {Kind::attention, make_attention},
    {Kind::attention_gradient, make_attention_gradient},
    {Kind::rotary, make_rotary},
    {Kind::embedding, make_embedding},
    {Kind::embedding_gradient, make_embedding_gradient},
    {Kind::cross_entropy, make_cross_entropy},
    {Kind::cross_entropy_gradient, make_cross_entropy_gradient},
    {Kind::top_k, make_top_k},
    {Kind::top_k_gradient, make_top_k_gradient},
    {Kind::dispatch, make_dispatch},
    {Kind::dispatch_gradient, make_dispatch_gradient},
    {Kind::combine, make_combine},
    {Kind::combine_gradient, make_combine_gradient},
    {Kind::adamw, make_adamw},
    {Kind::sgd, make_sgd},
};

/// By kind, on numbers of 32 bits, which are put elsewhere as they are.
constexpr HostRow kLayoutRows[] = {
    {Kind::constant, make_constant},
    {Kind::reshape, make_reshape},
    {Kind::transpose, make_transpose},
    {Kind::slice, make_slice},
    {Kind::pad, make_pad},
    {Kind::concatenate, make_concatenate},
    {Kind::broadcast, make_broadcast},
};

constexpr NumberType kFloating[] = {NumberType::float32, NumberType::bfloat16, NumberType::float16};

}  // namespace

void add_host_kernels(KernelTable& table) {
  use_calling_thread_for_blas();
  for (const HostRow& row : kRows) table.add(row.kind, {}, KernelDevice::host, row.make);
  for (const HostRow& row : kLayoutRows) {
    for (const NumberType type : {NumberType::float32, NumberType::int32})
      table.add(row.kind, {type, type}, KernelDevice::host, row.make);
  }
  for (const NumberType from : kFloating) {
    for (const NumberType to : kFloating)
      table.add(Kind::convert, {from, to}, KernelDevice::host, make_convert);
  }
}

}  // namespace hocket
