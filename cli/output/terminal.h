#pragma once

// Full-screen drawing on a terminal (cli/output/text_gate.h). At most one screen at a time.

#include <signal.h>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace hocket {

struct TerminalSize {
  std::size_t columns = 80, rows = 24;
};

/// Returns whether `out` is standard output and a terminal.
bool is_terminal(const std::ostream& out);

/// While it lives, shows the alternate screen without a cursor. Restores the previous content
/// afterwards.
class TerminalScreen {
 public:
  /// Requires that `out` is a terminal (is_terminal) and outlives this object.
  explicit TerminalScreen(std::ostream& out);
  ~TerminalScreen();
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  TerminalSize size() const;

  /// Returns a descriptor that is readable after the size has changed, until draw().
  int resized_fd() const { return resized_[0]; }

  /// Replaces the content. Requires that the lines fit the size.
  void draw(const std::vector<std::string>& lines);

 private:
  std::ostream& out_;
  int resized_[2] = {-1, -1};
  struct sigaction before_ = {};
};

}  // namespace hocket
