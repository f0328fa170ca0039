#pragma once

// Memory that the processes of one machine share. It has no name in any file system, so nothing is
// left of it when its processes have ended, however they did. One thread makes or opens it.

#include <cstddef>
#include <string>

#include "core/base/result.h"

namespace hocket {

class SharedMemory {
 public:
  /// Makes memory that is zero. unavailable with the system's reason, as everything below.
  static Result<SharedMemory> make(std::size_t size_bytes);
  /// Maps the memory that a process of this machine has made, under the name() that it has there.
  /// The process that made it must still have it mapped.
  static Result<SharedMemory> open(const std::string& name);

  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const std::string& name() const { return name_; }
  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  SharedMemory(int descriptor, std::string name)
      : descriptor_(descriptor), name_(std::move(name)) {}

  Result<void> map(std::size_t size_bytes);

  int descriptor_;
  std::string name_;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace hocket
