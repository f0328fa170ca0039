#pragma once

// Reads JSON as other programs write it: NaN and infinities in the place of numbers, bytes in texts
// that are not UTF-8 or are control characters. Passes it on as JSON, and notes what was repaired
// where. A parser keeps each text, number and run of blanks whole before it looks at it, so these
// are bounded here: of blanks the first are passed on, and a text or number that is longer than
// kMostTokenBytes ends the stream, as does memory that runs out. Not thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/memory_budget.h"

namespace hocket {

class RepairedText final : public std::streambuf {
 public:
  enum class Token : std::uint8_t { text, blanks, word, mark };
  enum class Kind { not_a_number, not_utf8, control_character };
  static constexpr std::size_t kKinds = 3;
  static constexpr std::size_t kMostTokenBytes = 16 << 20;
  static constexpr std::size_t kMostBlanks = 64 << 10;

  struct Repairs {
    std::int64_t first_line = 0;  ///< from 1
    std::int64_t count = 0;
  };

  /// `in` and `memory`, which may be null, must outlive this object.
  explicit RepairedText(std::streambuf& in, MemoryBudget* memory = nullptr)
      : in_(in), memory_(memory) {}

  /// Returns the line of the next byte, from 1.
  std::int64_t line() const;

  /// Returns why the stream has ended before the file, if it has.
  const std::optional<std::string>& problem() const { return problem_; }

  const Repairs& repairs(Kind kind) const { return repairs_[static_cast<std::size_t>(kind)]; }

  /// Puts `text` before what is read next.
  void unread(std::string_view text);

 protected:
  int_type underflow() override;

 private:
  void take(char byte);
  bool is_counted(char byte);
  void take_in_text(char byte);
  void end_word();
  void end_sequence(bool is_whole);
  void note(Kind kind);

  std::streambuf& in_;
  MemoryBudget* memory_;
  std::int64_t blocks_ = 0;  ///< that were read
  std::array<Repairs, kKinds> repairs_;
  std::vector<char> out_;        ///< what is read next
  std::int64_t lines_ = 0;       ///< lines before `out_`
  std::int64_t swallowed_ = 0;   ///< lines whose ends were replaced in `out_`
  std::int64_t raw_lines_ = 0;   ///< lines that were taken
  std::size_t token_bytes_ = 0;  ///< of the text, number or blanks that are being read
  Token token_ = Token::mark;
  std::optional<std::string> problem_;
  bool in_text_ = false, is_escaped_ = false;
  std::string word_;      ///< of letters outside texts
  std::string sequence_;  ///< the begun UTF-8 sequence of a text
  std::size_t sequence_bytes_ = 0;
};

}  // namespace hocket
