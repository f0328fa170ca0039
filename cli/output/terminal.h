#pragma once

// A whole terminal to draw on, by ANSI escape sequences. At most one at a time.

#include <signal.h>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace hocket {

struct TerminalSize {
  std::size_t columns = 80, rows = 24;
};

/// Whether `out` is standard output, and that a terminal.
bool is_terminal(const std::ostream& out);

/// While it lives: the alternate screen, without a cursor. What was on the terminal is back
/// afterwards.
class Screen {
 public:
  /// `out` is a terminal (is_terminal), and outlives this.
  explicit Screen(std::ostream& out);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  TerminalSize size() const;

  /// Readable once the size has changed, until draw().
  int resized_fd() const { return resized_[0]; }

  /// Replaces what is shown. The lines fit the size.
  void draw(const std::vector<std::string>& lines);

 private:
  std::ostream& out_;
  int resized_[2] = {-1, -1};
  struct sigaction before_ = {};
};

}  // namespace hocket
