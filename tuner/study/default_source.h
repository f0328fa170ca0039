#pragma once

// The source of the defaults of a study's parameters: what a gain over the default is worth depends
// on it. Plain values; thread-safe.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/json_reader.h"

namespace hocket {

enum class DefaultOrigin {
  given,        ///< the user gave it
  environment,  ///< the variable of the parameter's name, when the study began
  script,       ///< the argument parser of the script
  scheduler,    ///< a knob's own default
  assumed,      ///< nobody said: the middle of the range, or the first choice
};

struct DefaultSource {
  DefaultOrigin origin = DefaultOrigin::assumed;
  /// Name of the script, or why the default that it states is not taken; may be empty.
  std::string detail = {};

  bool operator==(const DefaultSource&) const = default;
};

/// Sources by the names of parameters; the source of a parameter without an entry is not known.
using DefaultSources = std::map<std::string, DefaultSource>;

/// Returns for example "given", "argparse of train.py", "assumed".
std::string readable(const DefaultSource& source);

/// Returns the names of the parameters whose default is assumed.
std::vector<std::string> assumed_parameters(const DefaultSources& sources);

/// `{"BUCKET":{"origin":"script","detail":"train.py"},…}`; "detail" may be absent.
nlohmann::json to_json(const DefaultSources& sources);
void read_default_sources(JsonReader& reader, DefaultSources& target);

}  // namespace hocket
