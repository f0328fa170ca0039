#include "core/graph/interpreter/interpreter.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "core/graph/interpreter/computation.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// invalid_argument for a fraction, or a number that has more than 32 bits.
Result<void> check_whole(double number) {
  if (number == std::floor(number) && number >= std::numeric_limits<std::int32_t>::min() &&
      number <= std::numeric_limits<std::int32_t>::max())
    return {};
  return failure(ErrorCode::invalid_argument,
                 "expected whole numbers of 32 bits, found " + std::to_string(number));
}
Result<void> check_whole(Residue number) {
  return check_whole(static_cast<double>(number.whole()));
}

template <class T>
Result<void> check_numbers(const BasicNumbers<T>& numbers, const ValueType& type) {
  if (numbers.type != type) {
    return failure(ErrorCode::invalid_argument,
                   "expected " + to_string(type) + ", found " + to_string(numbers.type));
  }
  if (static_cast<std::int64_t>(numbers.values.size()) != type.count()) {
    return failure(ErrorCode::invalid_argument, "expected " + std::to_string(type.count()) +
                                                    " numbers, found " +
                                                    std::to_string(numbers.values.size()));
  }
  if (is_floating(type.numbers)) return {};
  for (const T number : numbers.values) HOCKET_TRY(check_whole(number));
  return {};
}

/// When values are used for the last time.
class LastUses {
 public:
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kAtTheEnd = kNever - 1;

  explicit LastUses(const Graph& graph) : uses_(graph.values(), kNever) {
    for (const GraphOutput& output : graph.outputs()) uses_[output.value.index] = kAtTheEnd;
    for (std::size_t i = graph.operations().size(); i-- > 0;) {
      if (!is_needed(graph, i) && !is_communication(graph.operations()[i].kind)) continue;
      for (const ValueId operand : graph.operations()[i].operands)
        if (uses_[operand.index] == kNever) uses_[operand.index] = i;
    }
  }

  /// Returns the operation that is the last to use a value, of those that an output needs.
  std::size_t of(ValueId value) const { return uses_[value.index]; }

  bool is_needed(const Graph& graph, std::size_t operation) const {
    const Operation& each = graph.operations()[operation];
    const std::size_t results = graph.results(each);
    for (std::size_t i = 0; i < results; ++i)
      if (of(graph.result(each, i)) != kNever) return true;
    return false;
  }

 private:
  std::vector<std::size_t> uses_;  ///< by value
};

template <class T>
class Interpreter {
 public:
  Interpreter(const Graph& graph, const BasicLeaves<T>& leaves, const InterpreterOptions& options)
      : graph_(graph),
        leaves_(leaves),
        options_(options),
        last_uses_(graph),
        values_(graph.values()) {}

  /// Carries out all operations up to the next communication, which it returns, or to the end.
  Result<const Operation*> run() {
    for (; present_ < graph_.operations().size(); ++present_) {
      const Operation& operation = graph_.operations()[present_];
      // A communication is one of all ranks, whether this one needs its result or not.
      if (is_communication(operation.kind)) return &operation;
      if (!last_uses_.is_needed(graph_, present_)) continue;
      if (auto ok = carry_out(operation); !ok) return failure(ok.error().in(words_of(operation)));
      end_lives(operation, present_);
    }
    return nullptr;
  }

  /// Returns what this rank gives to the communication at which it stands.
  const BasicNumbers<T>& given() const {
    return values_[graph_.operations()[present_].operands[0].index];
  }
  /// Goes on with what the communication has made.
  Result<void> take(std::vector<T> values) {
    const Operation& operation = graph_.operations()[present_];
    HOCKET_TRY(make_room(operation));
    std::vector<BasicNumbers<T>> results;
    results.push_back({graph_.type(operation.first_result), std::move(values)});
    keep(operation, std::move(results));
    end_lives(operation, present_++);
    return {};
  }

  std::vector<BasicNumbers<T>> outputs() {
    std::vector<std::size_t> uses(values_.size());
    for (const GraphOutput& output : graph_.outputs()) ++uses[output.value.index];
    std::vector<BasicNumbers<T>> outputs;
    for (const GraphOutput& output : graph_.outputs()) {
      BasicNumbers<T>& numbers = values_[output.value.index];
      if (--uses[output.value.index] == 0)
        outputs.push_back(std::move(numbers));
      else
        outputs.push_back(numbers);
    }
    return outputs;
  }

 private:
  Result<void> carry_out(const Operation& operation) {
    HOCKET_TRY(make_room(operation));
    auto results = operation.kind <= Kind::constant ? leaf(operation) : results_of(operation);
    HOCKET_TRY(results);
    keep(operation, std::move(*results));
    return {};
  }

  void keep(const Operation& operation, std::vector<BasicNumbers<T>> results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      BasicNumbers<T>& numbers = results[i];
      if constexpr (std::is_same_v<T, double>) {
        if (options_.rounds_values)
          for (double& number : numbers.values) number = rounded(number, numbers.type.numbers);
      }
      values_[graph_.result(operation, i).index] = std::move(numbers);
    }
  }

  Result<void> make_room(const Operation& operation) {
    const std::size_t results = graph_.results(operation);
    for (std::size_t i = 0; i < results; ++i)
      live_numbers_ += graph_.type(graph_.result(operation, i)).count();
    if (live_numbers_ <= options_.most_numbers) return {};
    return failure(ErrorCode::invalid_argument,
                   "values of " + std::to_string(live_numbers_) +
                       " numbers live at the same time, expected at most " +
                       std::to_string(options_.most_numbers) + "; interpret a smaller graph");
  }

  Result<std::vector<BasicNumbers<T>>> leaf(const Operation& operation) const {
    const ValueType& type = graph_.type(operation.first_result);
    if (operation.kind == Kind::constant) {
      const double value = operation.attributes.number("value");
      if (!is_floating(type.numbers)) HOCKET_TRY(check_whole(value));
      const auto count = static_cast<std::size_t>(type.count());
      return std::vector{BasicNumbers<T>{type, std::vector<T>(count, value)}};
    }
    const auto found = leaves_.find(operation.name);
    if (found == leaves_.end()) {
      return failure(ErrorCode::invalid_argument,
                     "expected numbers of " + to_string(type) + ", found none");
    }
    HOCKET_TRY(check_numbers(found->second, type));
    return std::vector{found->second};
  }

  Result<std::vector<BasicNumbers<T>>> results_of(const Operation& operation) const {
    Computation<T> computation{operation.kind, operation.attributes, {}, {}};
    for (const ValueId operand : operation.operands)
      computation.operands.push_back(&values_[operand.index]);
    const std::size_t results = graph_.results(operation);
    for (std::size_t i = 0; i < results; ++i) {
      const ValueType& type = graph_.type(graph_.result(operation, i));
      computation.results.push_back({type, std::vector<T>(static_cast<std::size_t>(type.count()))});
    }
    HOCKET_TRY(compute(computation));
    return std::move(computation.results);
  }

  /// Frees what is used no more after an operation, also results that nothing uses.
  void end_lives(const Operation& operation, std::size_t index) {
    for (const ValueId operand : operation.operands)
      if (last_uses_.of(operand) == index) end_life(operand);
    const std::size_t results = graph_.results(operation);
    for (std::size_t i = 0; i < results; ++i) {
      const ValueId result = graph_.result(operation, i);
      if (last_uses_.of(result) == LastUses::kNever) end_life(result);
    }
  }

  /// An operand that is given twice ends once.
  void end_life(ValueId value) {
    live_numbers_ -= static_cast<std::int64_t>(values_[value.index].values.size());
    values_[value.index] = {};
  }

  const Graph& graph_;
  const BasicLeaves<T>& leaves_;
  const InterpreterOptions& options_;
  const LastUses last_uses_;
  std::vector<BasicNumbers<T>> values_;  ///< by value
  std::int64_t live_numbers_ = 0;
  std::size_t present_ = 0;  ///< the operation that comes next
};

Error no_memory() {
  return {ErrorCode::unavailable,
          "the host has no memory for the graph's values; interpret a smaller graph"};
}

template <class T>
Result<std::vector<BasicNumbers<T>>> outputs_of(const Graph& graph, const BasicLeaves<T>& leaves,
                                                const InterpreterOptions& options) {
  try {
    Interpreter<T> interpreter(graph, leaves, options);
    const auto stop = interpreter.run();
    HOCKET_TRY(stop);
    if (*stop == nullptr) return interpreter.outputs();
    return failure(ErrorCode::invalid_argument,
                   words_of(**stop) +
                       ": it is a communication with other ranks, whose programs "
                       "are needed, too");
  } catch (const std::bad_alloc&) {
    return failure(no_memory());
  }
}

/// The ranks of a job, each at its next communication or at its end.
template <class T>
class Ranks {
 public:
  Ranks(const std::vector<Graph>& programs, const std::vector<BasicLeaves<T>>& leaves,
        const RankGroups& groups, const InterpreterOptions& options)
      : groups_(groups), stops_(programs.size()) {
    for (std::size_t rank = 0; rank < programs.size(); ++rank)
      ranks_.emplace_back(programs[rank], leaves[rank], options);
  }

  Result<std::vector<std::vector<BasicNumbers<T>>>> run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) HOCKET_TRY(run(rank));
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        if (stops_[rank] == nullptr) continue;
        const auto done = communicate(rank);
        HOCKET_TRY(done);
        goes_on |= *done;
      }
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (stops_[rank] != nullptr) return waits(rank);
    std::vector<std::vector<BasicNumbers<T>>> outputs;
    for (Interpreter<T>& rank : ranks_) outputs.push_back(rank.outputs());
    return outputs;
  }

 private:
  static std::string name_of(std::size_t rank) { return "rank " + std::to_string(rank); }

  Result<void> run(std::size_t rank) {
    const auto stop = ranks_[rank].run();
    if (!stop) return failure(stop.error().in(name_of(rank)));
    stops_[rank] = *stop;
    return {};
  }

  /// Carries out the communication of a rank if all ranks of its group are there.
  Result<bool> communicate(std::size_t rank) {
    const Operation& operation = *stops_[rank];
    const auto members = groups_(operation.attributes.word("group"), rank);
    if (!members) return failure(members.error().in(words_of(operation)));
    const auto count = static_cast<std::size_t>(operation.attributes.integer("ranks"));
    if (members->size() != count) {
      return failure(ErrorCode::invalid_argument, words_of(operation) + ": expected a group of " +
                                                      std::to_string(count) + " ranks, found " +
                                                      std::to_string(members->size()));
    }
    for (const std::size_t member : *members) {
      const Operation* const other = stops_[member];
      const bool is_there = other != nullptr && other->kind == operation.kind &&
                            other->attributes == operation.attributes &&
                            ranks_[member].given().type == ranks_[rank].given().type;
      if (!is_there) return false;
    }
    std::vector<const std::vector<T>*> given;
    for (const std::size_t member : *members) given.push_back(&ranks_[member].given().values);
    std::vector<std::vector<T>> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(made_for(operation.kind, given, i));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t member = (*members)[i];
      if (auto ok = ranks_[member].take(std::move(made[i])); !ok)
        return failure(ok.error().in(name_of(member)));
    }
    for (const std::size_t member : *members) HOCKET_TRY(run(member));
    return true;
  }

  /// Returns what a communication makes for the member `index` of what all members give.
  static std::vector<T> made_for(Kind kind, const std::vector<const std::vector<T>*>& given,
                                 std::size_t index) {
    const std::size_t size = given[0]->size(), block = size / given.size();
    std::vector<T> made;
    if (kind == Kind::all_gather) {
      for (const auto* one : given) made.insert(made.end(), one->begin(), one->end());
      return made;
    }
    const auto begin = static_cast<std::ptrdiff_t>(index * block);
    const auto end = begin + static_cast<std::ptrdiff_t>(block);
    if (kind == Kind::all_to_all) {
      for (const auto* one : given)
        made.insert(made.end(), one->begin() + begin, one->begin() + end);
      return made;
    }
    made.assign(size, T(0));
    for (const auto* one : given)
      for (std::size_t i = 0; i < size; ++i) made[i] += (*one)[i];
    if (kind == Kind::reduce_scatter)
      made = std::vector<T>(made.begin() + begin, made.begin() + end);
    return made;
  }

  tl::unexpected<Error> waits(std::size_t rank) const {
    std::string others;
    for (std::size_t other = 0; other < ranks_.size() && other < kMostNamed; ++other) {
      if (other == rank) continue;
      others += (others.empty() ? "" : ", ") + name_of(other) +
                (stops_[other] ? " is at " + words_of(*stops_[other]) : " has ended");
    }
    return failure(ErrorCode::invalid_argument,
                   name_of(rank) + " waits in " + words_of(*stops_[rank]) + ", while " + others);
  }

  static constexpr std::size_t kMostNamed = 8;

  const RankGroups& groups_;
  std::vector<Interpreter<T>> ranks_;
  std::vector<const Operation*> stops_;  ///< by rank; null at the end
};

template <class T>
Result<std::vector<std::vector<BasicNumbers<T>>>> outputs_of_ranks(
    const std::vector<Graph>& programs, const std::vector<BasicLeaves<T>>& leaves,
    const RankGroups& groups, const InterpreterOptions& options) {
  HOCKET_CHECK(programs.size() == leaves.size(), "inputs and parameters for each program");
  try {
    return Ranks<T>(programs, leaves, groups, options).run();
  } catch (const std::bad_alloc&) {
    return failure(no_memory());
  }
}

}  // namespace

Result<std::vector<Numbers>> interpret(const Graph& graph, const Leaves& leaves,
                                       const InterpreterOptions& options) {
  return outputs_of(graph, leaves, options);
}

Result<std::vector<Residues>> interpret_exactly(const Graph& graph, const ResidueLeaves& leaves,
                                                const InterpreterOptions& options) {
  return outputs_of(graph, leaves, options);
}

Result<std::vector<std::vector<Numbers>>> interpret_ranks(const std::vector<Graph>& programs,
                                                          const std::vector<Leaves>& leaves,
                                                          const RankGroups& groups,
                                                          const InterpreterOptions& options) {
  return outputs_of_ranks(programs, leaves, groups, options);
}

Result<std::vector<std::vector<Residues>>> interpret_ranks_exactly(
    const std::vector<Graph>& programs, const std::vector<ResidueLeaves>& leaves,
    const RankGroups& groups, const InterpreterOptions& options) {
  return outputs_of_ranks(programs, leaves, groups, options);
}

}  // namespace hocket
