#pragma once

// The lines of a program's output, as they stood on a terminal: a progress bar writes its states
// over one another, and colours are no text. Pure; one thread at a time.

#include <cstddef>
#include <string>
#include <string_view>

namespace hocket {

/// Takes output apart. A line ends at a line feed, a carriage return, a backspace and at any escape
/// sequence that moves the cursor or clears; sequences that set colours or titles are left out.
class OutputLines {
 public:
  /// `text` must outlive this.
  explicit OutputLines(std::string_view text) : text_(text) {}

  /// Goes to the next line. Returns false if there is none.
  bool next();

  /// The current line without its end; valid until the next call of next().
  std::string_view line() const { return line_; }
  /// The line has an end: nothing can be added to it.
  bool is_ended() const { return is_ended_; }
  /// It ends at a line feed.
  bool is_fed() const { return is_fed_; }
  /// Bytes of the text up to the end of the current line.
  std::size_t consumed() const { return at_; }

 private:
  std::string_view text_, line_;
  std::string uncoloured_;
  std::size_t at_ = 0;
  bool is_ended_ = false, is_fed_ = false;
};

/// Returns the lines that a terminal would show in the end: of states that were written over one
/// another the last one that is not blank.
std::string last_states(std::string_view text);

}  // namespace hocket
