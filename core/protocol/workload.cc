#include "core/protocol/workload.h"

#include "core/base/fingerprint.h"
#include "core/base/json.h"

namespace hocket {

std::int64_t Workload::bytes() const {
  std::int64_t sum = 0;
  for (const auto& tensor : tensors) sum += tensor.bytes;
  return sum;
}

std::string fingerprint(const Workload& workload) {
  return fingerprint_of(to_json(workload));
}

nlohmann::json to_json(const Workload& workload) {
  auto tensors = nlohmann::json::array();
  for (const auto& tensor : workload.tensors) {
    tensors.push_back({{"name", tensor.name}, {"bytes", tensor.bytes}});
  }
  return {{"name", workload.name}, {"tensors", std::move(tensors)}};
}

Result<Workload> workload_from_json(const nlohmann::json& document) {
  Workload workload;
  auto name = read_string(document, "name");
  if (!name) return failure(name.error());
  workload.name = std::move(*name);
  const auto tensors = read_array(document, "tensors");
  if (!tensors) return failure(tensors.error());
  // Bounded so that the sum of all sizes cannot overflow.
  constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 42;
  constexpr std::size_t kMaxTensors = 1 << 20;
  if (tensors->size() > kMaxTensors) {
    return failure(ErrorCode::invalid_argument,
                   "field \"tensors\": at most 1048576 tensors are allowed");
  }
  for (const auto& entry : *tensors) {
    auto tensor_name = read_string(entry, "name");
    if (!tensor_name) return failure(tensor_name.error().in("field \"tensors\""));
    const auto bytes = read_integer(entry, "bytes", 0, kMaxTensorBytes);
    if (!bytes) return failure(bytes.error().in("field \"tensors\""));
    workload.tensors.push_back({std::move(*tensor_name), *bytes});
  }
  return workload;
}

}  // namespace hocket
