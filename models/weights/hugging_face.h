#pragma once

// The names and layouts that Hugging Face's transformers give to the parameters of GPT-2 and Llama,
// and weights read and written as they have them. Thread-safe.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "models/weights/weight_files.h"

namespace hocket {

struct ForeignName {
  std::string name;
  /// They keep the matrix with its dimensions swapped.
  bool is_transposed = false;

  bool operator==(const ForeignName&) const = default;
};

/// Returns their name of a parameter of the model "gpt2" or "llama"; nothing for other models and
/// parameters.
std::optional<ForeignName> hugging_face_name(std::string_view model, std::string_view parameter);

/// A parameter of a graph.
struct ParameterName {
  std::string_view model;  ///< "gpt2" or "llama"
  std::string_view name;
  Shape shape;
};

/// Sets `values` to the numbers of the parameter from place `first` on, in the order of its
/// dimensions, innermost last. GPT-2's files may leave out the "transformer." in front of names.
/// not_found if the files do not have it, invalid_argument if it has another shape or numbers of
/// another type.
Result<void> read_hugging_face(const WeightFiles& files, const ParameterName& parameter,
                               std::int64_t first, std::span<float> values);

/// Returns the numbers of a parameter, all of them.
using ParameterValues = std::function<std::span<const float>(std::string_view name)>;

/// Writes all parameters of a graph of the model "gpt2" or "llama" to a safetensors file, as their
/// names and layouts are, in float32. invalid_argument for another model.
Result<void> write_hugging_face(const std::string& path, std::string_view model, const Graph& graph,
                                const ParameterValues& values);

}  // namespace hocket
