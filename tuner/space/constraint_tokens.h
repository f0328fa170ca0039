#pragma once

// The words, numbers and signs of a constraint's text (tuner/space/constraint.h).

#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// In an order in which none stands behind one that it begins with.
inline constexpr std::string_view kConstraintComparisons[] = {"<=", "<", ">=", ">", "==", "!="};

/// `unknown` cannot be read, except as a word of a choice.
enum class ConstraintTokenKind { number, name, quoted, sign, comparison, unknown, end };

struct ConstraintToken {
  ConstraintTokenKind kind;
  std::string_view text;  ///< without quotes
  double number = 0;
  std::string problem = {};    ///< of an unknown one
  std::string_view rest = {};  ///< the constraint's text from the token on
};

/// Returns the tokens of `text` followed by an end token. `text` must outlive them.
std::vector<ConstraintToken> read_constraint_tokens(std::string_view text);

}  // namespace hocket
