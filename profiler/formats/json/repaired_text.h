#pragma once

// Reads JSON as other programs write it: NaN and infinities in the place of numbers, bytes in texts
// that are not UTF-8 or are control characters. Passes it on as JSON, and notes what was repaired
// where. Not thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

class RepairedText final : public std::streambuf {
 public:
  enum class Kind { not_a_number, not_utf8, control_character };
  static constexpr std::size_t kKinds = 3;

  struct Repairs {
    std::int64_t first_line = 0;  ///< from 1
    std::int64_t count = 0;
  };

  /// `in` must outlive this object.
  explicit RepairedText(std::streambuf& in) : in_(in) {}

  /// Returns the line of the next byte, from 1.
  std::int64_t line() const;

  const Repairs& repairs(Kind kind) const { return repairs_[static_cast<std::size_t>(kind)]; }

  /// Puts `text` before what is read next.
  void unread(std::string_view text);

 protected:
  int_type underflow() override;

 private:
  void take(char byte);
  void take_in_text(char byte);
  void end_word();
  void end_sequence(bool is_whole);
  void note(Kind kind);

  std::streambuf& in_;
  std::array<Repairs, kKinds> repairs_;
  std::vector<char> out_;       ///< what is read next
  std::int64_t lines_ = 0;      ///< lines before `out_`
  std::int64_t swallowed_ = 0;  ///< lines whose ends were replaced in `out_`
  std::int64_t raw_lines_ = 0;  ///< lines that were taken
  bool in_text_ = false, is_escaped_ = false;
  std::string word_;      ///< of letters outside texts
  std::string sequence_;  ///< the begun UTF-8 sequence of a text
  std::size_t sequence_bytes_ = 0;
};

}  // namespace hocket
