#pragma once

// Captures the output of a command up to a limit: the first half and the last half. One thread at a
// time.

#include <cstddef>
#include <string>
#include <string_view>

namespace hocket {

class OutputCapture {
 public:
  explicit OutputCapture(std::size_t limit_bytes) : half_(limit_bytes / 2) {}

  void append(std::string_view bytes);

  /// Returns the beginning of the output, up to half the limit.
  std::string_view head() const { return head_; }

  /// Returns the whole output, or both halves with a line between them that says how much was
  /// dropped.
  std::string text() const;

  /// Returns text() as it would be under a limit of `limit_bytes`, which must not be higher.
  std::string excerpt(std::size_t limit_bytes) const;

 private:
  std::size_t half_;
  std::string head_, tail_;
  std::size_t left_out_ = 0;
};

}  // namespace hocket
