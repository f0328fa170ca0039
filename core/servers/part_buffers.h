#pragma once

// Memory for the values of parts, kept for the next part of the same size. One thread at a time.

#include <cstddef>
#include <map>
#include <memory>
#include <span>

namespace hocket {

/// Room for the values of one part, uninitialised; empty if default-constructed.
class PartBuffer {
 public:
  PartBuffer() = default;

  std::span<float> values() const {
    return node_.empty() ? std::span<float>() : std::span<float>(node_.mapped().get(), node_.key());
  }

 private:
  friend class PartBuffers;
  // A buffer in use is a node that was taken out of the map of those that are kept, so that giving
  // it back and taking it again allocates nothing.
  using Kept = std::multimap<std::size_t, std::unique_ptr<float[]>>;

  explicit PartBuffer(Kept::node_type node) : node_(std::move(node)) {}

  Kept::node_type node_;
};

class PartBuffers {
 public:
  /// Returns a kept buffer of exactly `values` values, or an empty one if none is kept.
  PartBuffer take(std::size_t values);
  PartBuffer allocate(std::size_t values);
  /// Keeps the buffer for take(); an empty one is ignored. The argument is empty afterwards.
  void give(PartBuffer& buffer);
  /// Frees the largest kept buffer; false if none is kept.
  bool free_one();

  std::size_t used_bytes() const { return used_bytes_; }
  std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  PartBuffer::Kept kept_;
  std::size_t used_bytes_ = 0, kept_bytes_ = 0;
};

}  // namespace hocket
