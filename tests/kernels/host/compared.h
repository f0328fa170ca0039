#pragma once

// Kernels of the host beside the interpreter (tests/kernels/compared.h). One thread.

#include <string>
#include <utility>

#include "kernels/host/host_kernels.h"
#include "tests/kernels/compared.h"

namespace hocket {

inline const KernelTable& host_kernels() {
  static const KernelTable table = [] {
    KernelTable made;
    add_host_kernels(made);
    return made;
  }();
  return table;
}

inline void expect_as_interpreted(OperationCase each, Random& random) {
  expect_as_interpreted({host_kernels(), KernelDevice::host}, std::move(each), random);
}

/// Returns the error of a kernel's run, "none" if it succeeds.
inline std::string kernel_error(const OperationCase& each) {
  const KernelSignature signature = signature_of(each);
  const auto kernel = host_kernels().make(signature, KernelDevice::host);
  EXPECT_TRUE(kernel);
  const auto found = run_kernel(**kernel, signature, each.operands);
  return found ? "none" : found.error().message;
}

}  // namespace hocket
