#include "tuner/trial/process/capture.h"

#include <algorithm>

namespace hocket {

void Capture::append(std::string_view bytes) {
  const std::size_t room = std::min(half_ - head_.size(), bytes.size());
  head_.append(bytes.substr(0, room));
  tail_.append(bytes.substr(room));
  // Cut only at twice the size, so that each byte is moved at most once.
  if (tail_.size() <= 2 * half_) return;
  left_out_ += tail_.size() - half_;
  tail_.erase(0, tail_.size() - half_);
}

std::string Capture::text() const {
  const std::size_t cut = tail_.size() > half_ ? tail_.size() - half_ : 0;
  const std::size_t left_out = left_out_ + cut;
  if (left_out == 0) return head_ + tail_;
  return head_ + "\n[" + std::to_string(left_out) + " bytes left out]\n" + tail_.substr(cut);
}

}  // namespace hocket
