#pragma once

// Lines on standard error that nobody has to read: writing never waits for a reader, and fails
// where there is none. Not thread-safe.

#include <string>
#include <string_view>

namespace hocket {

class StderrLines {
 public:
  StderrLines();
  ~StderrLines();
  StderrLines(const StderrLines&) = delete;
  StderrLines& operator=(const StderrLines&) = delete;

  /// Writes the line, which has its line break. Returns false if the reader has no room for it, or
  /// is gone: the line is lost, but never a part of it. The program must outlive SIGPIPE.
  bool write(std::string_view line);

 private:
  /// Returns how many bytes were written.
  std::size_t write_some(std::string_view text);

  int fd_;
  bool is_socket_ = false;
  std::string rest_;  ///< of a line that was written in part
};

}  // namespace hocket
