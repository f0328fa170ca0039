#pragma once

// A condition on the parameters of a space, known before any trial:
// `credit_bytes>=partition_bytes`, `batch*sequence*4096<=8G`, `order!=fifo`. Immutable;
// thread-safe.
//
//     constraint = sum comparison sum | CHOICE ("==" | "!=") WORD
//     comparison = "<=" | "<" | ">=" | ">" | "==" | "!="
//     sum        = product { ("+" | "-") product }
//     product    = factor { ("*" | "/") factor }
//     factor     = NUMBER | PARAMETER | "(" sum ")" | "-" factor
//
// Numbers take units of sizes (tuner/space/size_text.h). CHOICE is a parameter whose values are
// words; a WORD that is not a plain name must be quoted. Expressions are evaluated in doubles; a
// comparison with NaN (0/0) is false.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tuner/space/parameter.h"

namespace hocket {

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

  enum class Operation { number, parameter, add, subtract, multiply, divide, negate };
  enum class Comparison { at_most, below, at_least, above, equal, unequal };

  struct Step {
    Operation operation;
    double number = 0;
    std::size_t parameter = 0;
    bool operator==(const Step&) const = default;
  };

  Constraint() = default;

  std::string text_;
  std::vector<std::size_t> parameters_;
  /// In postfix order; evaluation leaves both sides of the comparison on the stack.
  std::vector<Step> steps_;
  Comparison comparison_ = Comparison::equal;
};

/// Returns the number that a constraint uses for a value inside `domain`: the number itself, or the
/// index of a choice.
double number_of(const Domain& domain, const ParameterValue& value);

}  // namespace hocket
