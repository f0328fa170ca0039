#pragma once

// Streams of open files (core/files/regular_file.h), for parsers and writers that take one. One
// thread at a time.

#include <ext/stdio_filebuf.h>

#include <istream>
#include <ostream>
#include <streambuf>
#include <utility>
#include <vector>

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

/// Fails once a write has failed, whatever the reason; write_all() says which signals do not come.
class FileWriter final : public std::ostream {
 public:
  explicit FileWriter(FileDescriptor file) : std::ostream(nullptr), buffer_(std::move(file)) {
    rdbuf(&buffer_);
  }

  /// Writes what is left and closes the file. Returns whether everything was written.
  bool close() {
    if (!buffer_.close()) setstate(failbit);
    return !fail();
  }

 private:
  class Buffer final : public std::streambuf {
   public:
    explicit Buffer(FileDescriptor file);
    ~Buffer() override;
    bool close();

   private:
    int_type overflow(int_type next) override;
    int sync() override;

    FileDescriptor file_;
    std::vector<char> bytes_;
  };

  Buffer buffer_;
};

}  // namespace hocket
