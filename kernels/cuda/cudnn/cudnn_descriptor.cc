#include "kernels/cuda/cudnn/cudnn_descriptor.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

namespace hocket {
namespace {

Result<CudnnDescriptor> created(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  const cudnnStatus_t status = cudnn().create_descriptor(type, &descriptor);
  if (status != CUDNN_STATUS_SUCCESS)
    return failure(cudnn_error("cudnnBackendCreateDescriptor " + std::to_string(type), status));
  return CudnnDescriptor(descriptor);
}

}  // namespace

Error cudnn_error(std::string_view what, cudnnStatus_t status) {
  std::string words = std::string(what) + ": " + cudnn().error_string(status);
  std::array<char, 1024> last = {};
  cudnn().last_error_string(last.data(), last.size() - 1);
  if (last[0]) words += " (" + std::string(last.data()) + ")";
  for (char& c : words)
    if (c == '\n') c = ' ';
  return {ErrorCode::unavailable, words};
}

Result<std::int64_t> CudnnDescriptor::integer(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0, count = 0;
  const cudnnStatus_t status =
      cudnn().get_attribute(owned_, name, CUDNN_TYPE_INT64, 1, &count, &value);
  if (status != CUDNN_STATUS_SUCCESS)
    return failure(cudnn_error("cudnnBackendGetAttribute " + std::to_string(name), status));
  return value;
}

Result<std::vector<CudnnDescriptor>> CudnnDescriptor::descriptors(
    cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) const {
  std::int64_t count = 0, filled = 0;
  cudnnStatus_t status =
      cudnn().get_attribute(owned_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr);
  std::vector<CudnnDescriptor> descriptors;
  std::vector<cudnnBackendDescriptor_t> plain;
  while (status == CUDNN_STATUS_SUCCESS && std::ssize(plain) < count) {
    auto made = created(type);
    HOCKET_TRY(made);
    plain.push_back(made->get());
    descriptors.push_back(std::move(*made));
  }
  if (status == CUDNN_STATUS_SUCCESS) {
    status = cudnn().get_attribute(owned_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &filled,
                                   plain.data());
  }
  if (status != CUDNN_STATUS_SUCCESS)
    return failure(cudnn_error("cudnnBackendGetAttribute " + std::to_string(name), status));
  // cuDNN leaves out descriptors that do not work on the device.
  descriptors.resize(static_cast<std::size_t>(std::min(count, filled)));
  return descriptors;
}

CudnnDescriptorBuilder::CudnnDescriptorBuilder(cudnnBackendDescriptorType_t type) : type_(type) {
  auto made = created(type);
  if (made) {
    descriptor_ = std::move(*made);
  } else {
    ok_ = failure(made.error());
  }
}

CudnnDescriptorBuilder& CudnnDescriptorBuilder::set(cudnnBackendAttributeName_t name,
                                                    cudnnBackendAttributeType_t type,
                                                    std::size_t count, const void* values) {
  if (!ok_) return *this;
  const cudnnStatus_t status = cudnn().set_attribute(descriptor_.get(), name, type,
                                                     static_cast<std::int64_t>(count), values);
  if (status != CUDNN_STATUS_SUCCESS)
    ok_ = failure(cudnn_error("cudnnBackendSetAttribute " + std::to_string(name), status));
  return *this;
}

CudnnDescriptorBuilder& CudnnDescriptorBuilder::set_descriptor(cudnnBackendAttributeName_t name,
                                                               const CudnnDescriptor& value) {
  const cudnnBackendDescriptor_t plain = value.get();
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &plain);
}

CudnnDescriptorBuilder& CudnnDescriptorBuilder::set_descriptors(
    cudnnBackendAttributeName_t name, std::span<const CudnnDescriptor> values) {
  std::vector<cudnnBackendDescriptor_t> plain;
  for (const CudnnDescriptor& value : values) plain.push_back(value.get());
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, plain.size(), plain.data());
}

Result<CudnnDescriptor> CudnnDescriptorBuilder::finalize() {
  HOCKET_TRY(ok_);
  const cudnnStatus_t status = cudnn().finalize(descriptor_.get());
  if (status != CUDNN_STATUS_SUCCESS) {
    return failure(
        cudnn_error("cudnnBackendFinalize of a descriptor " + std::to_string(type_), status));
  }
  return std::move(descriptor_);
}

}  // namespace hocket
