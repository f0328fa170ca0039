#include "tuner/trial/process/capture.h"

#include <algorithm>

namespace hocket {

void OutputCapture::append(std::string_view bytes) {
  const std::size_t room = std::min(half_ - head_.size(), bytes.size());
  head_.append(bytes.substr(0, room));
  tail_.append(bytes.substr(room));
  // Cut only at twice the size, so that each byte is moved at most once.
  if (tail_.size() <= 2 * half_) return;
  left_out_ += tail_.size() - half_;
  tail_.erase(0, tail_.size() - half_);
}

std::string OutputCapture::text() const {
  return excerpt(2 * half_);
}

std::string OutputCapture::excerpt(std::size_t limit_bytes) const {
  const std::size_t half = limit_bytes / 2;
  if (left_out_ == 0 && head_.size() + tail_.size() <= 2 * half) return head_ + tail_;
  // The end may begin in the head, where the tail is shorter than half the limit.
  const std::size_t from_head = std::min(half - std::min(half, tail_.size()), head_.size());
  const std::string end = head_.substr(head_.size() - from_head) +
                          tail_.substr(tail_.size() - std::min(half, tail_.size()));
  const std::string begin = head_.substr(0, half);
  const std::size_t left_out = left_out_ + head_.size() + tail_.size() - begin.size() - end.size();
  return begin + "\n[" + std::to_string(left_out) + " bytes left out]\n" + end;
}

}  // namespace hocket
