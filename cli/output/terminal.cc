#include "cli/output/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <iostream>

#include "cli/output/text_gate.h"

namespace hocket {
namespace {

std::atomic<int> resized_end = -1;

void on_resize(int) {
  const int before = errno;
  const char byte = 0;
  // If the pipe is full, a notification is already pending.
  if (const int end = resized_end.load(); end >= 0) (void)!::write(end, &byte, 1);
  errno = before;
}

}  // namespace

bool is_terminal(const std::ostream& out) {
  return behind_gate(out) == std::cout.rdbuf() && isatty(STDOUT_FILENO) == 1;
}

TerminalScreen::TerminalScreen(std::ostream& out) : out_(out) {
  // Without the pipe, a new size takes effect with the next drawing.
  if (pipe2(resized_, O_NONBLOCK | O_CLOEXEC) == 0) resized_end = resized_[1];
  struct sigaction action {};
  action.sa_handler = on_resize;
  action.sa_flags = SA_RESTART;
  sigaction(SIGWINCH, &action, &before_);
  out_ << TerminalControl::enter_screen << std::flush;
}

TerminalScreen::~TerminalScreen() {
  out_ << TerminalControl::leave_screen << std::flush;
  sigaction(SIGWINCH, &before_, nullptr);
  resized_end = -1;
  for (const int end : resized_) {
    if (end >= 0) close(end);
  }
}

TerminalSize TerminalScreen::size() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

void TerminalScreen::draw(const std::vector<std::string>& lines) {
  char bytes[64];
  while (resized_[0] >= 0 && ::read(resized_[0], bytes, sizeof bytes) > 0) {
  }
  out_ << TerminalControl::go_home;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out_ << TerminalControl::next_line;
    out_ << lines[i] << TerminalControl::clear_to_line_end;
  }
  // Clears the rest of the screen.
  out_ << TerminalControl::clear_to_end << std::flush;
}

}  // namespace hocket
