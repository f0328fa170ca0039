#include "core/files/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "core/files/regular_file.h"

namespace hocket {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const auto file = open_regular_file(path);
  HOCKET_TRY(file);
  const auto failed = [&] {
    return failure(ErrorCode::unavailable,
                   "cannot map " + path + ": " + std::generic_category().message(errno));
  };
  struct stat status = {};
  if (::fstat(file->get(), &status) != 0) return failed();
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile({});  // which the kernel does not map
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file->get(), 0);
  if (mapped == MAP_FAILED) return failed();
  return MappedFile({static_cast<const std::byte*>(mapped), size});
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace hocket
