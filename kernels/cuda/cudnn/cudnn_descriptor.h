#pragma once

// Descriptors of cuDNN's graph API, whose attributes are set by name before they are finalized, and
// cuDNN's errors as values. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "kernels/cuda/cudnn/cudnn_functions.h"

namespace hocket {

/// Returns unavailable with cuDNN's message for the call `what`. `status` must not be success.
Error cudnn_error(std::string_view what, cudnnStatus_t status);

/// Owns a descriptor; empty when default-constructed.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  explicit CudnnDescriptor(cudnnBackendDescriptor_t owned) : owned_(owned) {}
  ~CudnnDescriptor() {
    if (owned_) cudnn().destroy_descriptor(owned_);
  }
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : owned_(std::exchange(other.owned_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(owned_, other.owned_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return owned_; }
  Result<std::int64_t> integer(cudnnBackendAttributeName_t name) const;
  /// Returns the descriptors of `type` that make up an attribute.
  Result<std::vector<CudnnDescriptor>> descriptors(cudnnBackendAttributeName_t name,
                                                   cudnnBackendDescriptorType_t type) const;

 private:
  cudnnBackendDescriptor_t owned_ = nullptr;
};

/// cuDNN's name for the type of an attribute of type T.
template <class T>
inline constexpr cudnnBackendAttributeType_t kCudnnType = [] {
  static_assert(!sizeof(T), "no attribute has this type");
  return CUDNN_TYPE_INT64;
}();
template <>
inline constexpr auto kCudnnType<std::int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr auto kCudnnType<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr auto kCudnnType<char> = CUDNN_TYPE_CHAR;
template <>
inline constexpr auto kCudnnType<void*> = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr auto kCudnnType<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr auto kCudnnType<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr auto kCudnnType<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr auto kCudnnType<cudnnReduceTensorOp_t> = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
template <>
inline constexpr auto kCudnnType<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;

/// Sets attributes one after another and finalizes the descriptor. Keeps the first error and does
/// nothing after it.
class CudnnDescriptorBuilder {
 public:
  explicit CudnnDescriptorBuilder(cudnnBackendDescriptorType_t type);

  template <class T>
  CudnnDescriptorBuilder& set(cudnnBackendAttributeName_t name, const T& value) {
    return set(name, kCudnnType<T>, 1, &value);
  }
  template <class T>
  CudnnDescriptorBuilder& set_all(cudnnBackendAttributeName_t name, std::span<const T> values) {
    return set(name, kCudnnType<T>, values.size(), values.data());
  }
  CudnnDescriptorBuilder& set_descriptor(cudnnBackendAttributeName_t name,
                                         const CudnnDescriptor& value);
  CudnnDescriptorBuilder& set_descriptors(cudnnBackendAttributeName_t name,
                                          std::span<const CudnnDescriptor> values);

  /// Must be called once, last.
  Result<CudnnDescriptor> finalize();

 private:
  CudnnDescriptorBuilder& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              std::size_t count, const void* values);

  CudnnDescriptor descriptor_;
  cudnnBackendDescriptorType_t type_;
  Result<void> ok_;
};

}  // namespace hocket
