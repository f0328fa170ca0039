// Compiles the kernels with the host's compiler. The header that defines CUDA's names comes first.
#include "tests/examples/gpt2/cuda/emulated_device.h"

#include "examples/gpt2/cuda/bias_add.cu"
#include "examples/gpt2/cuda/column_sums.cu"
#include "examples/gpt2/cuda/counts.cu"
#include "examples/gpt2/cuda/cross_entropy.cu"
#include "examples/gpt2/cuda/elementwise.cu"
#include "examples/gpt2/cuda/embedding.cu"
#include "examples/gpt2/cuda/layer_norm.cu"
#include "examples/gpt2/cuda/softmax.cu"
