#pragma once

// Finds the number or word of which the first group of a match is a part: a pattern such as
// ([0-9.]+) takes "10" of "10,753" and "4.0" of "4.0e+01". Pure; immutable; thread-safe.

#include <cstddef>
#include <string>
#include <string_view>

#include "tuner/trial/output/line_matcher.h"

namespace hocket {

/// Returns the bytes of the number at the beginning of `text`: a sign, digits, with "," or "_" or
/// "'" between thousands, a fraction, an exponent; 0 if there is none.
std::size_t number_length(std::string_view text);

/// Reads from a pattern which characters it names around its first group.
class GroupBounds {
 public:
  explicit GroupBounds(std::string_view pattern);

  /// The pattern has something in front of the group.
  bool names_place() const { return before_.find_first_not_of("^(?:") != std::string::npos; }

  /// Returns the match whose group is the `size` bytes of `line` at `at` and whose whole ends at
  /// `match_end`; `word_end` is where the word ends.
  LineMatch match_at(std::string_view line, std::size_t at, std::size_t size, std::size_t match_end,
                     std::size_t& word_end) const;

 private:
  /// The pattern has this very character behind the group.
  bool is_followed_by(char c) const;
  /// The pattern names what may follow the group: a class or a group, not any character.
  bool names_what_follows() const;
  std::size_t word_begin(std::string_view line, std::size_t at) const;

  std::string before_, behind_;  ///< the pattern before and behind its first group
};

}  // namespace hocket
