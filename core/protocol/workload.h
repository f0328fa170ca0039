#pragma once

// Identity of what a job runs. With the topology it is the key of a tuned configuration. A job that
// knows hocket says it: a name, and the tensors that it communicates. Of any other command it is
// the program that the command runs, or a name that the user gives, and the parameters that are
// tuned (archive/studies/plain_job.h). A plain value.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/declared_knob.h"

namespace hocket {

class JsonReader;

struct TensorSpec {
  std::string name;
  std::int64_t bytes = 0;

  bool operator==(const TensorSpec&) const = default;
};

/// A parameter of a plain command.
struct WorkloadParameter {
  std::string name;
  std::string kind;  ///< "int", "float", "levels", "choice"

  auto operator<=>(const WorkloadParameter&) const = default;
};

struct Workload {
  /// Readable name chosen by the job ("gpt2-6x256"), by the user, or after the program
  /// ("train.py").
  std::string name;
  /// Tensors in the order in which a forward pass needs them; empty if the program gives none.
  std::vector<TensorSpec> tensors = {};
  /// The program of a plain command that the user gives no name ("/data/gpt/train.py"), else
  /// empty.
  std::string program = {};
  /// The parameters of a plain command by name, else none.
  std::vector<WorkloadParameter> parameters = {};
  /// Knobs that the job declares besides the scheduler's, else none.
  std::vector<DeclaredKnob> knobs = {};
  /// Traits of a job that knows hocket which change its best configuration, by name, else none:
  /// {"optimizer", "AdamW"}. Known before the first step, and the same in every run.
  std::map<std::string, std::string> traits = {};

  std::int64_t bytes() const;

  bool operator==(const Workload&) const = default;
};

inline constexpr std::size_t kMaxTraits = 32, kMaxTraitBytes = 200;

/// Returns the traits as people read them: "gradients bfloat16, optimizer AdamW"; empty without
/// any.
std::string traits_text(const Workload& workload);

/// Returns the canonical fingerprint of all fields. Program, parameters, declared knobs and traits
/// count only where there are any.
std::string fingerprint(const Workload& workload);

nlohmann::json to_json(const Workload& workload);
void read_workload(JsonReader& reader, Workload& workload);
Result<Workload> workload_from_json(const nlohmann::json& document);

}  // namespace hocket
