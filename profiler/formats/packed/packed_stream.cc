#include "profiler/formats/packed/packed_stream.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <istream>
#include <streambuf>
#include <utility>
#include <vector>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;
constexpr std::size_t kHeadBytes = 512;
constexpr std::int64_t kBytesBetweenChecks = 1 << 20;
constexpr std::size_t kNameLimitBytes = 200;
constexpr std::size_t kReasonLimitBytes = 200;

struct FreeArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};

/// The packed bytes as the library asks for them.
struct PackedSource {
  std::streambuf& packed;
  std::function<void(std::int64_t)> on_read;
  UnpackUse* use;  ///< null if another stream has counted the bytes
  std::int64_t bytes = 0;
  std::vector<char> block = std::vector<char>(kBlockBytes);

  /// Called by C code, so no exception may leave it.
  static la_ssize_t read(archive* a, void* self, const void** data) {
    auto& source = *static_cast<PackedSource*>(self);
    try {
      const auto size = source.packed.sgetn(source.block.data(), std::ssize(source.block));
      source.bytes += size;
      if (source.use != nullptr) source.use->packed_bytes += size;
      if (size > 0 && source.on_read) source.on_read(source.bytes);
      *data = source.block.data();
      return size;
    } catch (const std::exception& error) {
      archive_set_error(a, EIO, "%s", error.what());
      return -1;
    }
  }
};

}  // namespace

/// The streambuf is the current file's bytes.
class PackedStream::Reader final : public std::streambuf {
 public:
  Reader(std::streambuf& packed, UnpackUse& use, Options options)
      : archive_(archive_read_new()),
        use_(use),
        source_{packed, std::move(options.on_read), options.is_inner ? nullptr : &use} {
    archive* a = archive_.get();
    archive_read_support_filter_gzip(a);
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_xz(a);
    // Without these libraries it would start programs of that name.
    if (archive_libzstd_version() != nullptr) archive_read_support_filter_zstd(a);
    if (archive_liblz4_version() != nullptr) archive_read_support_filter_lz4(a);
    if (options.with_archives) {
      archive_read_support_format_tar(a);
      archive_read_support_format_zip_streamable(a);
    }
    archive_read_support_format_raw(a);
    archive_read_support_format_empty(a);
    archive_read_set_read_callback(a, PackedSource::read);
    archive_read_set_callback_data(a, &source_);
    if (archive_read_open1(a) != ARCHIVE_OK) stop();
  }

  bool next() {
    // Skipped bytes count, too.
    while (!is_done_) (void)underflow();
    while (!problem_) {
      archive_entry* entry = nullptr;
      const int status = archive_read_next_header(archive_.get(), &entry);
      if (status == ARCHIVE_EOF) return false;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
        stop();
        return false;
      }
      if (++use_.files > use_.limits.most_files) {
        stop_at_limit("it has more than " + std::to_string(use_.limits.most_files) + " files");
        return false;
      }
      begin_file(entry);
      if (!is_in_archive_ || archive_entry_filetype(entry) == AE_IFREG) return true;
      while (!is_done_) (void)underflow();
    }
    return false;
  }

  std::string_view head() {
    while (head_.size() < kHeadBytes && !is_done_) {
      if (underflow() != traits_type::eof()) head_.append(gptr(), egptr());
    }
    setg(head_.data(), head_.data(), head_.data() + head_.size());
    return {head_.data(), std::min(head_.size(), kHeadBytes)};
  }

  bool is_in_archive() const { return is_in_archive_; }
  const std::string& name() const { return name_; }
  std::istream& bytes() { return stream_; }
  const std::optional<UnpackProblem>& problem() const { return problem_; }

 protected:
  int_type underflow() override {
    while (!is_done_) {
      const void* data = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int status = archive_read_data_block(archive_.get(), &data, &size, &offset);
      if (status == ARCHIVE_EOF) {
        is_done_ = true;
      } else if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
        stop();
      } else if (size > 0 && offset != position_) {
        stop_with("it is stored with holes, which no trace has");
      } else if (size > 0 && count(size)) {
        char* const begin = const_cast<char*>(static_cast<const char*>(data));
        setg(begin, begin, begin + size);
        return traits_type::to_int_type(*begin);
      }
    }
    setg(nullptr, nullptr, nullptr);
    return traits_type::eof();
  }

 private:
  void begin_file(archive_entry* entry) {
    is_in_archive_ = archive_format(archive_.get()) != ARCHIVE_FORMAT_RAW;
    // The last filter is none, which passes bytes on.
    use_.is_packed = use_.is_packed || is_in_archive_ || archive_filter_count(archive_.get()) > 1;
    const char* name = is_in_archive_ ? archive_entry_pathname(entry) : "";
    // Absent where the name has letters that the locale lacks.
    if (name == nullptr) name = archive_entry_pathname_utf8(entry);
    name_ =
        printable(name == nullptr ? "file " + std::to_string(use_.files) : name, kNameLimitBytes);
    is_done_ = false;
    position_ = 0;
    head_.clear();
    setg(nullptr, nullptr, nullptr);
    stream_.clear();
  }

  /// Counts unpacked bytes. Returns false if a limit is exceeded.
  bool count(std::size_t size) {
    const auto bytes = static_cast<std::int64_t>(size);
    position_ += bytes;
    unpacked_ += bytes;
    use_.bytes += bytes;
    const UnpackLimits& limits = use_.limits;
    if (use_.bytes > limits.most_bytes) {
      stop_at_limit("it unpacks to more than " + std::to_string(limits.most_bytes) + " bytes");
    } else if (use_.bytes > limits.ratio_from_bytes &&
               use_.bytes / limits.most_ratio > use_.packed_bytes) {
      stop_at_limit("it unpacks to more than " + std::to_string(limits.most_ratio) +
                    " times its size, which no trace does");
    } else if (unpacked_ - checked_ >= kBytesBetweenChecks) {
      checked_ = unpacked_;
      const auto packed = use_.is_packed ? std::optional(use_.packed_bytes) : std::nullopt;
      if (auto over = use_.memory.problem(packed)) {
        is_done_ = true;
        problem_ = UnpackProblem{"after " + std::to_string(use_.bytes) + " bytes " + *over, true};
      }
    }
    return !problem_;
  }

  /// Ends the bytes for the reason that the library has.
  void stop() {
    const char* reason = archive_error_string(archive_.get());
    stop_with(printable(reason == nullptr ? "it is damaged" : reason, kReasonLimitBytes));
  }

  void stop_with(std::string message) {
    is_done_ = true;
    if (!problem_) problem_ = UnpackProblem{std::move(message), false};
  }

  void stop_at_limit(const std::string& what) {
    is_done_ = true;
    problem_ = UnpackProblem{what + "; unpack it if you trust it, and import its files", true};
  }

  std::unique_ptr<archive, FreeArchive> archive_;
  UnpackUse& use_;
  PackedSource source_;
  std::istream stream_{this};
  std::string name_, head_;
  bool is_in_archive_ = false;
  bool is_done_ = true;        ///< the current file has no more bytes
  std::int64_t position_ = 0;  ///< in the current file
  std::int64_t unpacked_ = 0;  ///< bytes unpacked from all files
  std::int64_t checked_ = 0;   ///< those after which the memory was looked at last
  std::optional<UnpackProblem> problem_;
};

PackedStream::PackedStream(std::streambuf& packed, UnpackUse& use, Options options)
    : reader_(std::make_unique<Reader>(packed, use, std::move(options))) {}
PackedStream::~PackedStream() = default;

bool PackedStream::next() {
  return reader_->next();
}
bool PackedStream::is_in_archive() const {
  return reader_->is_in_archive();
}
const std::string& PackedStream::name() const {
  return reader_->name();
}
std::string_view PackedStream::head() {
  return reader_->head();
}
std::istream& PackedStream::bytes() {
  return reader_->bytes();
}
const std::optional<UnpackProblem>& PackedStream::problem() const {
  return reader_->problem();
}

bool is_packed(std::string_view head) {
  using namespace std::string_view_literals;
  static constexpr std::array kMagics{"\x1f\x8b"sv, "\x28\xb5\x2f\xfd"sv, "\xfd\x37zXZ\0"sv,
                                      "BZh"sv, "\x04\x22\x4d\x18"sv};
  return std::any_of(kMagics.begin(), kMagics.end(),
                     [&](std::string_view magic) { return head.starts_with(magic); });
}

}  // namespace hocket
