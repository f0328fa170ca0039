#pragma once

// A condition on the parameters of a space that is known before anything is tried:
// `credit_bytes>=partition_bytes`, `batch*sequence*4096<=8G`, `order!=fifo`. Immutable;
// thread-safe.
//
//     constraint = sum comparison sum | CHOICE ("==" | "!=") WORD
//     comparison = "<=" | "<" | ">=" | ">" | "==" | "!="
//     sum        = product { ("+" | "-") product }
//     product    = factor { ("*" | "/") factor }
//     factor     = NUMBER | PARAMETER | "(" sum ")" | "-" factor
//
// Numbers take the suffixes K, M and G (powers of 1024). CHOICE is a parameter that holds words; a
// WORD that is no plain name stands in quotes. It is computed in doubles, and a comparison with a
// result that is no number (0/0) is false.

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

  /// Reads a constraint on `parameters`, which are valid; it names at least one of them.
  static Result<Constraint> parse(std::string_view text, std::span<const Parameter> parameters);

  /// As it was written, without spaces around it.
  const std::string& text() const { return text_; }

  /// The places of the parameters that it names, rising.
  const std::vector<std::size_t>& parameters() const { return parameters_; }

  /// Whether it is met by `numbers`: number_of() of each parameter's value.
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
  std::vector<Step> steps_;  ///< in postfix order; they leave both sides of the comparison
  Comparison comparison_ = Comparison::equal;
};

/// What a constraint sees of a value inside `domain`: the number, or the place of the choice.
double number_of(const Domain& domain, const ParameterValue& value);

}  // namespace hocket
