#pragma once

// The kernels that compute on the host's processors: all kinds of operations on float32, layout
// also on int32, and conversions between all floating-point types. A run computes on the calling
// thread alone, also matrix products, since the streams of a step are what computes at the same
// time. Loops use AVX2 where the processor has it.
//
// add_host_kernels() makes OpenBLAS compute on the calling thread, for all of the process.

#include "kernels/kernel_table.h"

namespace hocket {

void add_host_kernels(KernelTable& table);

}  // namespace hocket
