#pragma once

// Memory that tasks read and write under one name, and parts of it. Where it is, a backend
// (examples/gpt2/model/backend.h) knows. Plain values, which own nothing.

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
  void* memory = nullptr;  ///< null: lives within a step, and the backend finds it by its id
};

/// Some of a buffer's elements, one after another. The buffer must keep its place.
struct BufferSlice {
  BufferSlice() = default;
  BufferSlice(const Buffer& whole)
      : buffer(&whole), size(whole.size) {}  // a buffer is a slice, too
  BufferSlice(const Buffer& of, std::size_t first, std::size_t count)
      : buffer(&of), offset(first), size(count) {
    HOCKET_CHECK(first + count <= of.size, "a slice ends within its buffer");
  }

  const Buffer* buffer = nullptr;  ///< null: nothing
  std::size_t offset = 0, size = 0;
};

}  // namespace hocket
