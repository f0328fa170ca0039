#pragma once

// Graphs as text before and after a pass. One thread.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/graph/graph_text.h"

namespace hocket {

/// Returns the lines of a graph, or what is wrong with it.
inline std::string text_of(const Result<Graph>& graph) {
  return graph ? to_text(*graph) : std::string(graph.error().message) + "\n";
}

inline Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? std::move(*graph) : Graph();
}

/// Returns a graph with the values numbered, as a pass prints it.
inline std::string numbered(std::string_view text) {
  return to_text(graph_of(text));
}

}  // namespace hocket
