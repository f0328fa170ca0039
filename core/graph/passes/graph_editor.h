#pragma once

// A graph whose operations can be joined in place. Values keep their numbers, and an operation
// keeps its place: its operands are made before it and its results used after it, whatever is
// joined. Private to core/graph. One thread.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

class GraphEditor {
 public:
  struct Node {
    OperationKind kind = OperationKind::input;
    std::vector<ValueId> operands = {};
    Attributes attributes = {};
    std::vector<ValueId> results = {};
    std::string region = {};
    std::string name = {};
    bool is_removed = false;
  };

  explicit GraphEditor(const Graph& graph);

  std::size_t size() const { return nodes_.size(); }
  const Node& node(std::size_t i) const { return nodes_[i]; }
  const ValueType& type(ValueId value) const { return graph_.type(value); }
  /// Returns the place of the operation that makes a value.
  std::size_t producer(ValueId value) const { return producers_[value.index]; }
  const Node& maker(ValueId value) const { return nodes_[producer(value)]; }
  /// Returns the places of the operations that use a value, one for each use.
  std::span<const std::size_t> users(ValueId value) const { return users_[value.index]; }
  bool is_output(ValueId value) const { return is_output_[value.index]; }
  /// Returns the place of the only use of a value, if it has one and is no output.
  bool has_one_use(ValueId value) const { return users(value).size() == 1 && !is_output(value); }

  /// Puts `joined` in the place of one of `members`, which it replaces, and returns true; or
  /// changes nothing and returns false, where at no place all of its operands are there and none of
  /// its results is used yet.
  bool join(std::span<const std::size_t> members, Node joined);

  Result<Graph> take() const;

 private:
  bool fits(std::size_t place, std::span<const std::size_t> members, const Node& joined) const;
  void remove(std::size_t place);

  const Graph& graph_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> producers_;           ///< by value
  std::vector<std::vector<std::size_t>> users_;  ///< by value
  std::vector<bool> is_output_;                  ///< by value
};

}  // namespace hocket
