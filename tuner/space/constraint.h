#pragma once

// A condition on the parameters of a space, known before any trial:
// `credit_bytes>=partition_bytes`, `batch*sequence*4096<=8G`, `order!=fifo`,
// `channels<=16 if algorithm==tree`. Immutable; thread-safe.
//
//     constraint = condition [ "if" condition ]
//     condition  = all { "or" all }
//     all        = denial { "and" denial }
//     denial     = "not" denial | comparison | "(" condition ")"
//     comparison = sum sign sum | CHOICE ("==" | "!=") (WORD | CHOICE)
//     sign       = "<=" | "<" | ">=" | ">" | "==" | "!="
//     sum        = product { ("+" | "-") product }
//     product    = factor { ("*" | "/") factor }
//     factor     = NUMBER | PARAMETER | "(" sum ")" | "-" factor
//
// Numbers take units of sizes (tuner/space/size_text.h). CHOICE is a parameter whose values are
// words; a WORD behind the sign that holds blanks or brackets must be quoted. `if`, `and`, `or` and
// `not` are read in any case, and only where no parameter can be, so parameters may have these
// names. Expressions are evaluated in doubles; a comparison with NaN (0/0) is false. A constraint
// with `if` holds where the condition behind it does not.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tuner/space/parameter.h"

namespace hocket {

/// Says how a constraint is written, for messages.
inline constexpr const char* kConstraintSyntaxText =
    "write CONDITION [if CONDITION]: sums of parameters and numbers compared by <=, <, >=, >, ==, "
    "!=, or a choice and a word by ==, !=, joined by and, or, not; such as A*B<=64 if MODE==fast";

class Constraint {
 public:
  static constexpr std::size_t kMaxTextBytes = 1000;

  /// Parses a constraint that names at least one of `parameters`, which must be valid.
  static Result<Constraint> parse(std::string_view text, std::span<const Parameter> parameters);

  /// Returns the text as written, without surrounding spaces.
  const std::string& text() const { return text_; }

  /// Returns the indices of the named parameters, ascending.
  const std::vector<std::size_t>& parameters() const { return parameters_; }

  /// Returns whether `numbers`, the number_of() of each parameter's value, satisfy the constraint.
  bool holds(std::span<const double> numbers) const;

  bool operator==(const Constraint&) const = default;

 private:
  friend class ConstraintParser;

  /// Conditions are 1 and 0. The last one is true unless its right side is and its left is not.
  enum class Operation {
    number,
    parameter,
    negate,
    deny,
    add,
    subtract,
    multiply,
    divide,
    at_most,
    below,
    at_least,
    above,
    equal,
    unequal,
    both,
    either,
    provided
  };

  struct Step {
    Operation operation;
    double number = 0;
    std::size_t parameter = 0;
    bool operator==(const Step&) const = default;
  };

  /// Returns what an operation of two values gives.
  static double combined(Operation operation, double left, double right);

  Constraint() = default;

  std::string text_;
  std::vector<std::size_t> parameters_;
  /// In postfix order; evaluation leaves one condition on the stack.
  std::vector<Step> steps_;
};

/// Returns the number that a constraint uses for a value inside `domain`: the number itself, or the
/// index of a choice.
double number_of(const Domain& domain, const ParameterValue& value);

}  // namespace hocket
