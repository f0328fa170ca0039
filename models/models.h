#pragma once

// The models that hocket has, as a table: what a command line lists and builds. Pure; any thread.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "models/initial.h"

namespace hocket {

struct ModelOption {
  std::string_view name, about;
  double value = 0;  ///< the default
  double low = 0, high = 0;
  bool is_whole = true;
};

/// Values of a model's options by name.
using OptionValues = std::map<std::string, double, std::less<>>;

/// Values of all options, of a size that has a name.
struct ModelPreset {
  std::string_view name;
  OptionValues values;
};

struct Model {
  std::string_view name, about;
  std::vector<ModelOption> options;
  std::vector<ModelPreset> presets;
  /// Returns the graph for these values; options that are not named have their defaults.
  /// invalid_argument for an option that there is not, and for values that do not fit.
  std::function<Result<Graph>(const OptionValues&)> build;
  /// Returns the distribution that a parameter has before the first step, for values that build()
  /// accepts.
  std::function<Distribution(const OptionValues&, std::string_view name, const Shape&)> initial;
};

/// All models, in the order in which lists have them.
std::span<const Model> models();

/// invalid_argument for a name that is none, with those that there are.
Result<const Model*> find_model(std::string_view name);
Result<const ModelPreset*> find_preset(const Model& model, std::string_view name);

}  // namespace hocket
