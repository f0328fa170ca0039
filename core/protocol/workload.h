#pragma once

// What a job communicates: its tensors in forward order. With a topology it is the key under which
// a tuned configuration is found again. A plain value.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct TensorSpec {
  std::string name;
  std::int64_t bytes = 0;

  bool operator==(const TensorSpec&) const = default;
};

struct Workload {
  /// Readable, chosen by the job ("gpt2-6x256").
  std::string name;
  /// In the order in which a forward pass needs them; empty for a program that did not say.
  std::vector<TensorSpec> tensors;

  std::int64_t bytes() const;

  bool operator==(const Workload&) const = default;
};

/// Canonical fingerprint of name and tensors.
std::string fingerprint(const Workload& workload);

nlohmann::json to_json(const Workload& workload);
Result<Workload> workload_from_json(const nlohmann::json& document);

}  // namespace hocket
