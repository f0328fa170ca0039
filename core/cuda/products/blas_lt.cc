#include "core/cuda/products/blas_lt.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/cuda/driver/cuda_stream.h"
#include "core/cuda/products/blas_lt_functions.h"
#include "core/cuda/products/column_major.h"

namespace hocket {
namespace {

Result<void> checked(const char* what, cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  // The library knows the product, and has no kernel for it.
  const bool has_no_kernel = status == CUBLAS_STATUS_NOT_SUPPORTED;
  return failure(has_no_kernel ? ErrorCode::not_found : ErrorCode::unavailable,
                 std::string(what) + ": " + blas_lt().status_string(status));
}

cudaDataType_t cuda_type(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return CUDA_R_32F;
    case ElementType::bfloat16:
      return CUDA_R_16BF;
    case ElementType::float16:
      return CUDA_R_16F;
  }
  HOCKET_CHECK(false, "a type of elements");
}

/// Returns the epilogue in cuBLASLt's view, where b is the first matrix and rows of the result are
/// columns of c; its bias therefore is the bias of c.
cublasLtEpilogue_t lt_epilogue(const ColumnMajorProduct& product) {
  switch (product.epilogue) {
    case Epilogue::none:
      break;
    case Epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::bias_gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case Epilogue::gelu_gradient:
      return CUBLASLT_EPILOGUE_DGELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

/// Sets attributes of one cuBLASLt descriptor; after the first error, set() does nothing.
class Attributes {
 public:
  explicit Attributes(cublasStatus_t begun) : status_(begun) {}

  template <class T>
  Attributes& set(cublasLtMatmulDescOpaque_t& descriptor, cublasLtMatmulDescAttributes_t attribute,
                  const T& value) {
    if (status_ == CUBLAS_STATUS_SUCCESS)
      status_ = blas_lt().set_operation(&descriptor, attribute, &value, sizeof(value));
    return *this;
  }
  template <class T>
  Attributes& set(cublasLtMatrixLayoutOpaque_t& layout, cublasLtMatrixLayoutAttribute_t attribute,
                  const T& value) {
    if (status_ == CUBLAS_STATUS_SUCCESS)
      status_ = blas_lt().set_layout(&layout, attribute, &value, sizeof(value));
    return *this;
  }
  template <class T>
  Attributes& set(cublasLtMatmulPreferenceOpaque_t& preference,
                  cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    if (status_ == CUBLAS_STATUS_SUCCESS)
      status_ = blas_lt().set_preference(&preference, attribute, &value, sizeof(value));
    return *this;
  }
  cublasStatus_t status() const { return status_; }

 private:
  cublasStatus_t status_;
};

/// Cached state of one kind of product: cuBLASLt's descriptors and the chosen algorithm.
struct Algorithm {
  cublasLtMatmulDescOpaque_t operation = {};
  cublasLtMatrixLayoutOpaque_t first = {}, second = {}, result = {};
  cublasLtMatmulAlgo_t algorithm = {};
  Result<void> found;
};

cublasStatus_t describe(cublasLtMatrixLayoutOpaque_t& layout, const ColumnMajorMatrix& matrix,
                        int batch) {
  return Attributes(blas_lt().init_layout(&layout, sizeof(layout), cuda_type(matrix.type),
                                          static_cast<std::uint64_t>(matrix.rows),
                                          static_cast<std::uint64_t>(matrix.columns),
                                          matrix.leading))
      .set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{batch})
      .set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batch_stride)
      .status();
}

class BlasLt final : public MatrixProducts {
 public:
  explicit BlasLt(const BlasLtOptions& options) : options_(options) {}
  ~BlasLt() override {
    for (void* workspace : workspaces_) cudaFree(workspace);
    if (handle_) blas_lt().destroy(handle_);
  }
  BlasLt(const BlasLt&) = delete;
  BlasLt& operator=(const BlasLt&) = delete;

  Result<void> open() { return checked("cublasLtCreate", blas_lt().create(&handle_)); }

  Result<void> multiply(const MatrixProduct& product, const DeviceTask& task) override {
    const auto kind = column_major(product);
    HOCKET_TRY(kind);
    const auto workspace = workspace_of(task.lane);
    HOCKET_TRY(workspace);
    auto [entry, is_new] = algorithms_.try_emplace(*kind);
    Algorithm& algorithm = entry->second;
    if (is_new) algorithm.found = find(*kind, product, algorithm);
    if (!algorithm.found) return algorithm.found;
    if (auto ok = checked("cublasLtMatmulDescSetAttribute", point(algorithm.operation, product));
        !ok) {
      return ok;
    }
    const float added_scale = product.added ? 1 : 0;
    const void* added = product.added ? product.added : product.c.values;
    return checked("cublasLtMatmul",
                   blas_lt().multiply(
                       handle_, &algorithm.operation, &product.scale, product.b.values,
                       &algorithm.first, product.a.values, &algorithm.second, &added_scale, added,
                       &algorithm.result, product.c.values, &algorithm.result, &algorithm.algorithm,
                       *workspace, options_.workspace_bytes, cuda_stream(task.stream)));
  }

 private:
  /// Sets the addresses of the epilogue's vectors and matrices. Only these change in a descriptor
  /// between products.
  static cublasStatus_t point(cublasLtMatmulDescOpaque_t& operation, const MatrixProduct& product) {
    Attributes attributes(CUBLAS_STATUS_SUCCESS);
    if (product.bias) attributes.set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
    if (product.gelu_input)
      attributes.set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, product.gelu_input);
    return attributes.status();
  }

  /// Describes the operation in CUBLAS_COMPUTE_32F, which computes in float32 throughout.
  static cublasStatus_t describe_operation(const ColumnMajorProduct& kind,
                                           const MatrixProduct& product,
                                           cublasLtMatmulDescOpaque_t& operation) {
    const auto transposed = [](bool is) { return is ? CUBLAS_OP_T : CUBLAS_OP_N; };
    Attributes attributes(
        blas_lt().init_operation(&operation, sizeof(operation), CUBLAS_COMPUTE_32F, CUDA_R_32F));
    attributes.set(operation, CUBLASLT_MATMUL_DESC_TRANSA, transposed(kind.transpose_first))
        .set(operation, CUBLASLT_MATMUL_DESC_TRANSB, transposed(kind.transpose_second))
        .set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, lt_epilogue(kind));
    if (product.gelu_input)
      attributes.set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, kind.result.rows);
    // The heuristics look at the alignment of these addresses.
    return attributes.status() == CUBLAS_STATUS_SUCCESS ? point(operation, product)
                                                        : attributes.status();
  }

  cublasStatus_t describe_preference(const ColumnMajorProduct& kind,
                                     cublasLtMatmulPreferenceOpaque_t& preference) const {
    const std::uint32_t added =
        kind.added_alignment_bytes ? kind.added_alignment_bytes : kind.result.alignment_bytes;
    return Attributes(blas_lt().init_preference(&preference, sizeof(preference)))
        .set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
             std::uint64_t{options_.workspace_bytes})
        // A split product accumulates its partial sums in float32, in a fixed order.
        .set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
             static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE))
        .set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kind.first.alignment_bytes)
        .set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kind.second.alignment_bytes)
        .set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, added)
        .set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kind.result.alignment_bytes)
        .status();
  }

  Result<void> find(const ColumnMajorProduct& kind, const MatrixProduct& product,
                    Algorithm& algorithm) const {
    cublasStatus_t status = describe_operation(kind, product, algorithm.operation);
    if (status == CUBLAS_STATUS_SUCCESS) status = describe(algorithm.first, kind.first, kind.batch);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = describe(algorithm.second, kind.second, kind.batch);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = describe(algorithm.result, kind.result, kind.batch);
    cublasLtMatmulPreferenceOpaque_t preference = {};
    if (status == CUBLAS_STATUS_SUCCESS) status = describe_preference(kind, preference);
    if (auto ok = checked("describing a matrix product", status); !ok) return ok;
    std::array<cublasLtMatmulHeuristicResult_t, 8> candidates = {};
    int found = 0;
    status = blas_lt().heuristic(handle_, &algorithm.operation, &algorithm.first, &algorithm.second,
                                 &algorithm.result, &algorithm.result, &preference,
                                 static_cast<int>(candidates.size()), candidates.data(), &found);
    if (auto ok = checked("cublasLtMatmulAlgoGetHeuristic", status); !ok)
      return failure(ok.error().in(words_of(kind)));
    const auto all = std::span(candidates).first(static_cast<std::size_t>(found));
    const auto best = std::ranges::find_if(all, [this](const auto& candidate) {
      return candidate.state == CUBLAS_STATUS_SUCCESS &&
             candidate.workspaceSize <= options_.workspace_bytes;
    });
    if (best == all.end())
      return failure(ErrorCode::not_found, words_of(kind) + ": cuBLASLt has no kernel for it");
    algorithm.algorithm = best->algo;
    return {};
  }

  static std::string words_of(const ColumnMajorProduct& kind) {
    const auto type = [](ElementType t) { return std::string(to_string(t)); };
    const std::int64_t inner = kind.transpose_second ? kind.second.columns : kind.second.rows;
    return "matrix product with c " + std::to_string(kind.result.columns) + " × " +
           std::to_string(kind.result.rows) + " of " + type(kind.result.type) + ", inner size " +
           std::to_string(inner) + " of " + type(kind.first.type) + ", cuBLASLt's epilogue " +
           std::to_string(lt_epilogue(kind));
  }

  Result<void*> workspace_of(std::uint32_t lane) {
    if (lane >= workspaces_.size()) workspaces_.resize(lane + 1);
    void*& workspace = workspaces_[lane];
    if (workspace || options_.workspace_bytes == 0) return workspace;
    if (const cudaError_t error = cudaMalloc(&workspace, options_.workspace_bytes);
        error != cudaSuccess) {
      cudaGetLastError();
      workspace = nullptr;
      return failure(ErrorCode::unavailable,
                     "allocating " + std::to_string(options_.workspace_bytes) +
                         " bytes for the matrix products of stream " + std::to_string(lane) + ": " +
                         cudaGetErrorString(error));
    }
    return workspace;
  }

  const BlasLtOptions options_;
  cublasLtHandle_t handle_ = nullptr;
  std::vector<void*> workspaces_;  // by lane
  std::map<ColumnMajorProduct, Algorithm> algorithms_;
};

}  // namespace

Result<std::unique_ptr<MatrixProducts>> open_blas_lt(DeviceDriver& driver,
                                                     const BlasLtOptions& options) {
  HOCKET_TRY(load_blas_lt());
  HOCKET_TRY(driver.use_device());
  auto products = std::make_unique<BlasLt>(options);
  HOCKET_TRY(products->open());
  return products;
}

}  // namespace hocket
