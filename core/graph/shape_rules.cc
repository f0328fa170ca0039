#include <string>

#include "core/base/check.h"
#include "core/graph/operation.h"
#include "core/graph/shape_rule.h"

namespace hocket {
namespace {

using Kind = OperationKind;

Result<ResultTypes> types_of(Kind kind, const ShapeRule& rule) {
  switch (kind) {
    case Kind::input:
    case Kind::parameter:
    case Kind::constant:
      break;
    case Kind::add:
    case Kind::subtract:
    case Kind::multiply:
    case Kind::divide:
    case Kind::scale:
    case Kind::exponential:
    case Kind::logarithm:
    case Kind::square_root:
    case Kind::reciprocal_square_root:
    case Kind::tanh:
    case Kind::sigmoid:
    case Kind::relu:
    case Kind::gelu:
    case Kind::silu:
    case Kind::swiglu:
      return elementwise_rule(rule);
    case Kind::relu_gradient:
    case Kind::gelu_gradient:
    case Kind::silu_gradient:
    case Kind::softmax_gradient:
      return gradient_rule(rule);
    case Kind::select:
      return select_rule(rule);
    case Kind::convert:
      return convert_rule(rule);
    case Kind::dropout:
      return dropout_rule(rule);
    case Kind::sum:
    case Kind::maximum:
      return reduction_rule(rule);
    case Kind::maximum_gradient:
      return maximum_gradient_rule(rule);
    case Kind::is_finite:
      return is_finite_rule(rule);
    case Kind::reshape:
      return reshape_rule(rule);
    case Kind::transpose:
      return transpose_rule(rule);
    case Kind::slice:
      return slice_rule(rule);
    case Kind::pad:
      return pad_rule(rule);
    case Kind::concatenate:
      return concatenate_rule(rule);
    case Kind::broadcast:
      return broadcast_rule(rule);
    case Kind::matmul:
      return matmul_rule(rule);
    case Kind::layer_norm:
      return layer_norm_rule(rule);
    case Kind::layer_norm_gradient:
      return layer_norm_gradient_rule(rule);
    case Kind::rms_norm:
      return rms_norm_rule(rule);
    case Kind::rms_norm_gradient:
      return rms_norm_gradient_rule(rule);
    case Kind::softmax:
      return softmax_rule(rule);
    case Kind::attention:
      return attention_rule(rule);
    case Kind::attention_gradient:
      return attention_gradient_rule(rule);
    case Kind::rotary:
      return rotary_rule(rule);
    case Kind::embedding:
      return embedding_rule(rule);
    case Kind::embedding_gradient:
      return embedding_gradient_rule(rule);
    case Kind::cross_entropy:
      return cross_entropy_rule(rule);
    case Kind::cross_entropy_gradient:
      return cross_entropy_gradient_rule(rule);
    case Kind::exponential_sum:
      return exponential_sum_rule(rule);
    case Kind::pick:
      return pick_rule(rule);
    case Kind::top_k:
      return top_k_rule(rule);
    case Kind::top_k_gradient:
      return top_k_gradient_rule(rule);
    case Kind::dispatch:
      return dispatch_rule(rule);
    case Kind::dispatch_gradient:
      return dispatch_gradient_rule(rule);
    case Kind::combine:
      return combine_rule(rule);
    case Kind::combine_gradient:
      return combine_gradient_rule(rule);
    case Kind::adamw:
      return adamw_rule(rule);
    case Kind::sgd:
      return sgd_rule(rule);
    case Kind::all_reduce:
    case Kind::all_gather:
    case Kind::reduce_scatter:
    case Kind::all_to_all:
      return communication_rule(rule, kind);
  }
  HOCKET_CHECK(false, "the types of leaves are given");
  return ResultTypes{};
}

}  // namespace

Result<std::vector<ValueType>> result_types(OperationKind kind, const Attributes& attributes,
                                            std::span<const ValueType> operands) {
  const std::size_t count = operand_names(kind, attributes).size();
  const bool is_right =
      declaration_of(kind).is_variadic ? operands.size() + 1 >= count : operands.size() == count;
  if (!is_right) {
    return failure(ErrorCode::invalid_argument, "expected " + std::to_string(count) +
                                                    " operands, found " +
                                                    std::to_string(operands.size()));
  }
  auto types = types_of(kind, ShapeRule(kind, attributes, operands));
  HOCKET_TRY(types);
  for (const ValueType& type : *types) HOCKET_TRY(check_shape(type.shape));
  return types;
}

}  // namespace hocket
