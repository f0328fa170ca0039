#include "core/servers/part_buffers.h"

#include <iterator>
#include <utility>

namespace hocket {

PartBuffer PartBuffers::take(std::size_t values) {
  PartBuffer buffer(kept_.extract(values));
  const std::size_t bytes = buffer.values().size_bytes();
  kept_bytes_ -= bytes;
  used_bytes_ += bytes;
  return buffer;
}

PartBuffer PartBuffers::allocate(std::size_t values) {
  PartBuffer::Kept made;
  made.emplace(values, std::make_unique_for_overwrite<float[]>(values));
  used_bytes_ += values * sizeof(float);
  return PartBuffer(made.extract(made.begin()));
}

void PartBuffers::give(PartBuffer& buffer) {
  if (buffer.node_.empty()) return;
  const std::size_t bytes = buffer.values().size_bytes();
  used_bytes_ -= bytes;
  kept_bytes_ += bytes;
  kept_.insert(std::exchange(buffer.node_, {}));
}

bool PartBuffers::free_one() {
  if (kept_.empty()) return false;
  const auto largest = std::prev(kept_.end());
  kept_bytes_ -= largest->first * sizeof(float);
  kept_.erase(largest);
  return true;
}

}  // namespace hocket
