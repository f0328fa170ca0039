#pragma once

// Memory that tasks read and write under one name, and slices of it. A backend
// (examples/gpt2/model/backend.h) knows its address. Plain values that own nothing.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/step/element_type.h"
#include "core/step/task.h"
#include "job/step/submitter.h"

namespace hocket {

struct Buffer {
  std::int64_t bytes() const { return static_cast<std::int64_t>(size * element_bytes(type)); }

  /// Adds the buffer to the submitter's data. `place` says what the buffer does not know.
  void attach(Submitter& submitter, std::string_view name, DataPlace place = {}) {
    place.bytes = bytes();
    id = submitter.add_data(place, name);
  }

  DataId id;
  std::size_t size = 0;  ///< elements
  ElementType type = ElementType::float32;
  /// null: the buffer lives within a step, and the backend finds it by its id
  void* memory = nullptr;
};

/// A buffer that lives within a step, with its name in traces and messages.
struct NamedBuffer {
  std::string name;
  Buffer* buffer = nullptr;
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
