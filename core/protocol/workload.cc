#include "core/protocol/workload.h"

#include <nlohmann/json.hpp>

#include "core/base/fingerprint.h"
#include "core/base/json_reader.h"

namespace hocket {
namespace {

void read_tensor(JsonReader& reader, TensorSpec& tensor) {
  // Bounded, as is the number of tensors, so that the sum of all sizes cannot overflow.
  constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 42;
  reader.text("name", tensor.name);
  reader.integer("bytes", tensor.bytes, 0, kMaxTensorBytes);
}

}  // namespace

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

void read_workload(JsonReader& reader, Workload& workload) {
  constexpr std::size_t kMaxTensors = 1 << 20;
  reader.text("name", workload.name);
  reader.parts("tensors", workload.tensors, read_tensor, kMaxTensors);
}

Result<Workload> workload_from_json(const nlohmann::json& document) {
  return read_json(document, read_workload);
}

}  // namespace hocket
