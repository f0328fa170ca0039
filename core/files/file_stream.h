#pragma once

// Streams of open files (core/files/regular_file.h), for parsers and writers that take one. One
// thread at a time.

#include <ext/stdio_filebuf.h>

#include <istream>
#include <ostream>

#include "core/files/descriptor.h"

namespace hocket {

class FileReader final : public std::istream {
 public:
  explicit FileReader(FileDescriptor file)
      : std::istream(nullptr), buffer_(file.release(), std::ios::in | std::ios::binary) {
    rdbuf(&buffer_);
  }

 private:
  __gnu_cxx::stdio_filebuf<char> buffer_;
};

class FileWriter final : public std::ostream {
 public:
  explicit FileWriter(FileDescriptor file)
      : std::ostream(nullptr), buffer_(file.release(), std::ios::out | std::ios::binary) {
    rdbuf(&buffer_);
  }

  /// Writes what is left and closes the file. Returns whether everything was written.
  bool close() {
    if (buffer_.close() == nullptr) setstate(failbit);
    return !fail();
  }

 private:
  __gnu_cxx::stdio_filebuf<char> buffer_;
};

}  // namespace hocket
