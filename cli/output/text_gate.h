#pragma once

// The only way from a verb to a terminal. What verbs, tables and views write may repeat texts of
// others: names, messages, output of jobs. So run_hocket() puts a gate before both streams, which
// lets plain text, newlines and tabs through and replaces everything else
// (core/base/plain_text.h). hocket's own sequences pass as values of TerminalControl, which no text
// can be. One thread.

#include <iosfwd>
#include <streambuf>
#include <string>
#include <string_view>

namespace hocket {

/// A thing that hocket itself does to a terminal.
enum class TerminalControl {
  clear_line,         ///< to the beginning of the line, and clear it
  clear_to_line_end,  ///< from the cursor
  clear_to_end,       ///< from the cursor to the end of the screen
  go_home,            ///< to the first line and column
  next_line,          ///< to the beginning of the next line
  enter_screen,       ///< show the alternate screen, without a cursor
  leave_screen,       ///< show the cursor, and what was there before
};

/// Writes it, past the gate if there is one before `out`.
std::ostream& operator<<(std::ostream& out, TerminalControl control);

/// A stream buffer that writes to another, which must outlive it. A character that comes in parts
/// waits for its end.
class TextGate final : public std::streambuf {
 public:
  explicit TextGate(std::streambuf* behind) : behind_(behind) {}
  ~TextGate() override;
  TextGate(const TextGate&) = delete;
  TextGate& operator=(const TextGate&) = delete;

  std::streambuf* behind() const { return behind_; }

  /// Writes `text` as it is, behind what ends a character that has only begun.
  void pass(std::string_view text);

 protected:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  bool write(std::string_view text);

  std::streambuf* const behind_;
  std::string begun_;  ///< the beginning of a character whose end has not been written
};

/// Returns the stream buffer behind the gate before `out`; its own if there is none.
std::streambuf* behind_gate(const std::ostream& out);

}  // namespace hocket
