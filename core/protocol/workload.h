#pragma once

// The tensors that a job communicates, in forward order. With the topology it is the key of a tuned
// configuration. A plain value.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

class JsonReader;

struct TensorSpec {
  std::string name;
  std::int64_t bytes = 0;

  bool operator==(const TensorSpec&) const = default;
};

struct Workload {
  /// Readable name chosen by the job ("gpt2-6x256").
  std::string name;
  /// Tensors in the order in which a forward pass needs them; empty if the program gives none.
  std::vector<TensorSpec> tensors;

  std::int64_t bytes() const;

  bool operator==(const Workload&) const = default;
};

/// Returns the canonical fingerprint of name and tensors.
std::string fingerprint(const Workload& workload);

nlohmann::json to_json(const Workload& workload);
void read_workload(JsonReader& reader, Workload& workload);
Result<Workload> workload_from_json(const nlohmann::json& document);

}  // namespace hocket
