#pragma once

// Kernels of a CUDA device beside the interpreter (tests/kernels/compared.h): on the emulated
// device with products on the host, or on a real one. One thread.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/products/column_major.h"
#include "kernels/cuda/cuda_kernels.h"
#include "tests/core/cuda/host_matrix.h"
#include "tests/kernels/compared.h"

namespace hocket {

/// A CUDA device with its products; null: kernels run on the emulated one. The program with a real
/// one sets it (kernels_on_cuda_device.cc).
struct TestedDevice {
  MatrixProducts* products = nullptr;
  DeviceStream stream = {};
};
inline TestedDevice& tested_device() {
  static TestedDevice device;
  return device;
}

/// Returns the task in which kernels run.
inline DeviceTask tested_task() {
  return {.stream = tested_device().stream, .lane = 0, .memory = nullptr};
}

/// Products on the host, with the rules of the library's, or those of the device.
class HostProducts final : public MatrixProducts {
 public:
  Result<void> multiply(const MatrixProduct& product, const DeviceTask& task) override {
    if (!has_epilogues && product.epilogue != Epilogue::none)
      return failure(ErrorCode::not_found, "no kernel with an epilogue");
    HOCKET_CHECK(!product.gelu_input || product.c.type == ElementType::bfloat16,
                 "GELU in an epilogue is not exact enough for float32");
    HOCKET_TRY(column_major(product));
    if (MatrixProducts* const products = tested_device().products) {
      HOCKET_TRY(products->multiply(product, task));
    } else {
      multiply_on_host(product);
    }
    if (product.epilogue != Epilogue::none) ++epilogues;
    ++multiplied;
    return {};
  }

  bool has_epilogues = true;
  int multiplied = 0, epilogues = 0;
};

/// A table of kernels, and what they are made of.
struct CudaKernels {
  explicit CudaKernels(std::int64_t most_score_bytes = std::int64_t{256} << 20,
                       FusedAttention* attention = nullptr) {
    add_cuda_kernels(table, {.products = products,
                             .attention = attention,
                             .warn = [this](const std::string& text) { warnings.push_back(text); },
                             .most_score_bytes = most_score_bytes});
  }
  CudaKernels(const CudaKernels&) = delete;
  CudaKernels& operator=(const CudaKernels&) = delete;

  HostProducts products;
  std::vector<std::string> warnings;
  KernelTable table;
};

inline CudaKernels& cuda_kernels() {
  static CudaKernels kernels;
  return kernels;
}

/// Returns the case with operands of bfloat16, as far as the kind allows.
inline OperationCase in_bfloat16(OperationCase each) {
  const auto names = operand_names(each.kind, complete(each.kind, each.attributes).value());
  const auto widens = each.attributes.find("widens");
  const bool is_wide = widens && std::get<bool>(*widens);
  for (std::size_t i = 0; i < each.operands.size(); ++i) {
    const std::string_view name = names[std::min(i, names.size() - 1)];
    const bool stays = name == "mean" || name.starts_with("inverse_") || name == "log_sums" ||
                       name == "dlosses" || (name == "residual" && is_wide);
    NumberType& type = each.operands[i].type.numbers;
    if (type == NumberType::float32 && !stays) type = NumberType::bfloat16;
  }
  return each;
}

/// Compares on aligned or shifted memory, as `random` has it.
inline void expect_as_interpreted(CudaKernels& kernels, OperationCase each, Random& random) {
  const DeviceTask task = tested_task();
  const RunningDeviceTask running(task);
  const std::int64_t shift = random() % 3 == 0 ? 1 : 0;
  SCOPED_TRACE(shift == 0 ? "aligned" : "shifted");
  expect_as_interpreted({kernels.table, KernelDevice::cuda, shift}, std::move(each), random);
}
inline void expect_float32_as_interpreted(OperationCase each, Random& random) {
  expect_as_interpreted(cuda_kernels(), std::move(each), random);
}
/// In float32 and in bfloat16.
inline void expect_as_interpreted(OperationCase each, Random& random) {
  expect_as_interpreted(cuda_kernels(), each, random);
  SCOPED_TRACE("bfloat16");
  expect_as_interpreted(cuda_kernels(), in_bfloat16(std::move(each)), random);
}

/// Returns what a kernel makes of operands that the interpreter refuses.
inline std::vector<Numbers> cuda_results(const OperationCase& each) {
  const DeviceTask task = tested_task();
  const RunningDeviceTask running(task);
  const KernelSignature signature = signature_of(each);
  const auto kernel = cuda_kernels().table.make(signature, KernelDevice::cuda);
  EXPECT_TRUE(kernel);
  auto found = run_kernel(**kernel, signature, each.operands);
  EXPECT_TRUE(found);
  return std::move(*found);
}

}  // namespace hocket
