#pragma once

// Memory that tasks read and write under one name, and slices of it. A backend
// (examples/gpt2/model/backend.h) knows its address. Plain values that own nothing.

#include <cstddef>

#include "core/base/check.h"
#include "core/cuda/driver/element_type.h"
#include "core/step/task.h"
#include "examples/gpt2/model/submitter.h"

namespace hocket {

struct Buffer {
  void attach(Submitter& submitter) { id = submitter.add_data(); }

  DataId id;
  std::size_t size = 0;  ///< elements
  ElementType type = ElementType::float32;
  /// null: the buffer lives within a step, and the backend finds it by its id
  void* memory = nullptr;
};

/// A contiguous range of a buffer's elements. The buffer must not move.
struct BufferSlice {
  BufferSlice() = default;
  BufferSlice(const Buffer& whole)
      // A buffer converts to a slice.
      : buffer(&whole), size(whole.size) {}
  BufferSlice(const Buffer& of, std::size_t first, std::size_t count)
      : buffer(&of), offset(first), size(count) {
    HOCKET_CHECK(first + count <= of.size, "a slice ends within its buffer");
  }

  const Buffer* buffer = nullptr;  ///< null: an empty slice
  std::size_t offset = 0, size = 0;
};

}  // namespace hocket
