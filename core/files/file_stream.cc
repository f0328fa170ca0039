#include "core/files/file_stream.h"

#include <string_view>

#include "core/files/regular_file.h"

namespace hocket {
namespace {

constexpr std::size_t kBufferBytes = 64 << 10;

}  // namespace

FileWriter::Buffer::Buffer(FileDescriptor file) : file_(std::move(file)), bytes_(kBufferBytes) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

FileWriter::Buffer::~Buffer() {
  close();
}

bool FileWriter::Buffer::close() {
  const bool is_written = file_ && sync() == 0;
  file_.reset();
  return is_written;
}

FileWriter::Buffer::int_type FileWriter::Buffer::overflow(int_type next) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(next, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(next);
    pbump(1);
  }
  return traits_type::not_eof(next);
}

int FileWriter::Buffer::sync() {
  if (!file_) return -1;
  const std::string_view left(pbase(), static_cast<std::size_t>(pptr() - pbase()));
  if (!write_all(file_, left, "")) {
    file_.reset();  // a part may be written: what came later would be in the wrong place
    return -1;
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return 0;
}

}  // namespace hocket
