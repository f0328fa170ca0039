#include "core/graph/interpreter/computation.h"

#include "core/base/check.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// A function that always succeeds.
template <class T>
using Sure = void (*)(Computation<T>&);

/// Returns null for kinds that have indices to check, or none to compute.
template <class T>
Sure<T> sure_function_of(Kind kind) {
  if (kind <= Kind::constant) return nullptr;
  if (kind == Kind::select) return compute_select;
  if (kind < Kind::dropout) return compute_elementwise;
  switch (kind) {
    case Kind::dropout:
      return compute_dropout;
    case Kind::sum:
    case Kind::maximum:
      return compute_reduction;
    case Kind::maximum_gradient:
      return compute_maximum_gradient;
    case Kind::is_finite:
      return compute_is_finite;
    case Kind::reshape:
    case Kind::transpose:
    case Kind::slice:
    case Kind::pad:
    case Kind::concatenate:
    case Kind::broadcast:
      return compute_layout;
    case Kind::matmul:
      return compute_matmul;
    case Kind::layer_norm:
      return compute_layer_norm;
    case Kind::layer_norm_gradient:
      return compute_layer_norm_gradient;
    case Kind::rms_norm:
      return compute_rms_norm;
    case Kind::rms_norm_gradient:
      return compute_rms_norm_gradient;
    case Kind::softmax:
      return compute_softmax;
    case Kind::softmax_gradient:
      return compute_softmax_gradient;
    case Kind::attention:
      return compute_attention;
    case Kind::attention_gradient:
      return compute_attention_gradient;
    case Kind::rotary:
      return compute_rotary;
    case Kind::exponential_sum:
      return compute_exponential_sum;
    case Kind::top_k:
      return compute_top_k;
    case Kind::sgd:
      return compute_sgd;
    default:
      return nullptr;
  }
}

}  // namespace

template <class T>
Result<void> compute(Computation<T>& computation) {
  if (const Sure<T> function = sure_function_of<T>(computation.kind)) {
    function(computation);
    return {};
  }
  switch (computation.kind) {
    case Kind::embedding:
      return compute_embedding(computation);
    case Kind::embedding_gradient:
      return compute_embedding_gradient(computation);
    case Kind::cross_entropy:
      return compute_cross_entropy(computation);
    case Kind::cross_entropy_gradient:
      return compute_cross_entropy_gradient(computation);
    case Kind::pick:
      return compute_pick(computation);
    case Kind::top_k_gradient:
      return compute_top_k_gradient(computation);
    case Kind::dispatch:
      return compute_dispatch(computation);
    case Kind::dispatch_gradient:
      return compute_dispatch_gradient(computation);
    case Kind::combine:
      return compute_combine(computation);
    case Kind::combine_gradient:
      return compute_combine_gradient(computation);
    case Kind::adamw:
      return compute_adamw(computation);
    default:
      HOCKET_CHECK(false, "each kind but leaves has a function");
      return {};
  }
}

HOCKET_FOR_ALL_NUMBERS(Result<void>, compute);

}  // namespace hocket
