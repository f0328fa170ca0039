#pragma once

// A declaration: the names that a setting may have, and the values of each. Whatever comes from a
// daemon or a store sets nothing else. The parameters are those of the study that promoted the
// setting, as the store keeps them with the version; the scheduler's knobs (core/step/knob.h) are
// always declared, and the job's own where the stored workload has them. What a job says of its
// configuration declares nothing. A plain value and pure functions; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/step/declared_knob.h"

namespace hocket {

class JsonReader;

/// Both ends included.
struct DeclaredIntegers {
  std::int64_t low = 0, high = 0;
  bool operator==(const DeclaredIntegers&) const = default;
};
struct DeclaredReals {
  double low = 0, high = 0;
  bool operator==(const DeclaredReals&) const = default;
};
struct DeclaredWords {
  std::vector<std::string> words;
  bool operator==(const DeclaredWords&) const = default;
};
struct DeclaredNumbers {
  std::vector<double> numbers;
  bool operator==(const DeclaredNumbers&) const = default;
};

struct DeclaredParameter {
  std::string name;
  std::variant<DeclaredIntegers, DeclaredReals, DeclaredWords, DeclaredNumbers> values;

  bool operator==(const DeclaredParameter&) const = default;
};

struct Declaration {
  std::vector<DeclaredParameter> parameters = {};
  std::vector<DeclaredKnob> knobs = {};

  bool operator==(const Declaration&) const = default;
};

/// Returns the declared parameter; null if there is none.
const DeclaredParameter* find_parameter(const Declaration& declaration, std::string_view name);

/// Refuses `config`, the configuration of a version, if it has a field or a value that is not
/// declared. invalid_argument names the first, and what is declared or the nearest name.
Result<void> check_declared(const nlohmann::json& config, const Declaration& declaration);

/// Returns the fields of a version's configuration that are not the scheduler's.
nlohmann::json other_fields(const nlohmann::json& config);

/// Returns `{"parameters":[{"name":…,"type":"int","low":…,"high":…},…],"knobs":[…]}`.
nlohmann::json to_json(const Declaration& declaration);
/// Reads that form, and the document of a search space, which has the same parameters. Refuses
/// names that no parameter can have: they are [A-Za-z_][A-Za-z0-9_]*, at most 1,000 characters, or
/// a knob's.
void read_declaration(JsonReader& reader, Declaration& declaration);

}  // namespace hocket
