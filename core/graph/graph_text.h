#pragma once

// The text form of a graph, one line for each operation (docs/formats/graph.md):
//
//   %0 = input "tokens" : int32[4, 64]
//   %1 = parameter "table" : float32[256, 128] @embedding
//   %2 = embedding %1, %0 : float32[4, 64, 128] @embedding
//   output "y" = %2
//
// Pure; any thread.

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

/// Returns the lines of a graph. Values are numbered, and attributes with their default left out.
std::string to_text(const Graph& graph);
/// Returns the line of one operation, without its end.
std::string to_text(const Graph& graph, const Operation& operation);

/// Reads the form back, whatever the values are called. The types of results may be left out; those
/// that are given must be the ones that follow. invalid_argument with the number of the line.
Result<Graph> parse_graph(std::string_view text);

/// Most bytes of a text.
inline constexpr std::size_t kMostGraphTextBytes = 256 << 20;

}  // namespace hocket
