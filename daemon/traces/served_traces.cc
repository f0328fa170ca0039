#include "daemon/traces/served_traces.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "archive/profiles/transfer/http_trace_transfer.h"
#include "core/files/file_stream.h"
#include "core/files/owned_path.h"
#include "core/files/private_file.h"
#include "core/files/regular_file.h"
#include "store/profile_folder.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStoreFile = "store";
constexpr const char* kOwnerFile = "owner";
constexpr std::int64_t kMostNameBytes = 1 << 16;  ///< of a store or an owner
constexpr mode_t kTraceMode = 0600;

std::string text_of(const fs::path& path) {
  return read_regular_file(path, kMostNameBytes, Links::refused).value_or("");
}

std::string random_set() {
  std::random_device draw;
  std::uniform_int_distribution<int> digit(0, 15);
  std::string set;
  while (set.size() < kTraceSetDigits) {
    set += "0123456789abcdef"[static_cast<std::size_t>(digit(draw))];
  }
  return set;
}

std::optional<std::int64_t> size_of(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? std::nullopt : std::optional(static_cast<std::int64_t>(bytes));
}

Error disk_error(const std::string& what, const std::string& path, const std::error_code& error) {
  return {ErrorCode::unavailable, "cannot " + what + " " + path + ": " + error.message()};
}

/// The files of a set, and when they were written last.
struct SetContent {
  std::string store;
  std::int64_t bytes = 0;
  std::int64_t changed_at_ns = 0;  ///< Unix time
};

SetContent content_of_set(const fs::path& folder) {
  SetContent content;
  const auto look = [&](const fs::path& path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) return;
    const std::int64_t changed_at_ns =
        status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
    content.changed_at_ns = std::max(content.changed_at_ns, changed_at_ns);
    if (S_ISREG(status.st_mode)) content.bytes += status.st_size;
  };
  look(folder);
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    look(at->path());
  }
  content.store = text_of(folder / kStoreFile);
  return content;
}

}  // namespace

ServedTraces::ServedTraces(ServedTracesOptions options) : options_(std::move(options)) {}

std::string ServedTraces::folder_of(std::string_view set) const {
  return options_.folder + "/" + std::string(set);
}

std::string ServedTraces::file_of(std::string_view set, std::int64_t rank) const {
  return trace_file_path(folder_of(set), rank);
}

Result<TraceSet> ServedTraces::make_set(const std::string& owner) {
  TraceSet set{options_.url, random_set()};
  const std::string folder = folder_of(set.id);
  HOCKET_TRY(check_private_folder(options_.folder));
  HOCKET_TRY(create_private_folders(folder));
  const auto made = create_private_file(folder + "/" + kStoreFile, options_.store);
  HOCKET_TRY(made);
  const auto owned = create_private_file(folder + "/" + kOwnerFile, owner);
  HOCKET_TRY(owned);
  return set;
}

bool ServedTraces::has(std::string_view set) const {
  std::error_code error;
  return are_taken() && is_trace_set(set) && fs::is_directory(folder_of(set), error);
}

std::optional<std::string> ServedTraces::owner_of(std::string_view set) const {
  if (!has(set)) return std::nullopt;
  std::string owner = text_of(folder_of(set) + "/" + kOwnerFile);
  return owner.empty() ? std::nullopt : std::optional(std::move(owner));
}

Result<std::int64_t> ServedTraces::append(std::string_view set, std::int64_t rank,
                                          std::int64_t offset, std::string_view bytes) {
  if (!has(set)) {
    return failure(ErrorCode::not_found,
                   "this daemon has no trace set of that name; POST /v1/traces makes one");
  }
  const std::string path = file_of(set, rank);
  const std::lock_guard lock(writing_);
  const std::int64_t size = size_of(path).value_or(0);
  const std::int64_t end = offset + std::ssize(bytes);
  if (end <= size) return size;
  if (offset != size) {
    return failure(ErrorCode::invalid_argument,
                   "the trace has " + std::to_string(size) + " bytes, so the next piece is at " +
                       std::to_string(size) + ", found " + std::to_string(offset));
  }
  if (end > kMostServedTraceBytes) {
    return failure(ErrorCode::invalid_argument, "a trace has at most " +
                                                    std::to_string(kMostServedTraceBytes) +
                                                    " bytes; profile fewer iterations");
  }
  std::error_code error;
  const fs::space_info space = fs::space(options_.folder, error);
  if (error) return failure(disk_error("look at the disk of", options_.folder, error));
  if (static_cast<std::int64_t>(space.available) < options_.least_free_bytes) {
    return failure(ErrorCode::unavailable, "the disk of " + options_.folder + " is almost full");
  }
  const auto file = open_to_write(path, Writing::at_end, kTraceMode, Links::refused);
  HOCKET_TRY(file);
  const auto written = write_all(*file, bytes, path);
  if (written) return end;
  // A part would be taken for the beginning of the next piece.
  std::error_code ignored;
  fs::resize_file(path, static_cast<std::uintmax_t>(size), ignored);
  return failure(written.error());
}

Result<std::string> ServedTraces::read(std::string_view set, std::int64_t rank,
                                       std::int64_t offset) const {
  const auto missing = [&] {
    return failure(ErrorCode::not_found,
                   "this daemon does not have the trace; its profile may have been removed");
  };
  if (!are_taken() || !is_trace_set(set)) return missing();
  auto opened = open_regular_file(file_of(set, rank), Links::refused);
  if (!opened) return missing();
  FileReader file(std::move(*opened));
  std::string piece(kTracePieceBytes, '\0');
  file.seekg(offset);
  file.read(piece.data(), std::ssize(piece));
  piece.resize(static_cast<std::size_t>(file.gcount()));
  return piece;
}

ProfileRow ServedTraces::with_own_paths(ProfileRow row) const {
  if (!are_taken()) return row;
  for (ProfileRank& rank : row.ranks) {
    const auto url = parse_trace_url(rank.trace_path);
    if (!url) continue;
    // By what is there, since a daemon may have got another URL since.
    std::string path = file_of(url->set, url->rank);
    if (size_of(path)) rank.trace_path = std::move(path);
  }
  return row;
}

std::int64_t ServedTraces::bytes_of(const TraceUrl& url) const {
  return are_taken() ? size_of(file_of(url.set, url.rank)).value_or(0) : 0;
}

Result<ServedTraces::Swept> ServedTraces::sweep(std::span<const ProfileRow> rows,
                                                std::int64_t now_unix_ns) {
  Swept swept;
  if (!are_taken()) return swept;
  std::set<std::string> used;
  for (const ProfileRow& row : rows) {
    for (const ProfileRank& rank : row.ranks) {
      if (auto url = parse_trace_url(rank.trace_path)) used.insert(std::move(url->set));
    }
  }
  std::error_code error;
  for (fs::directory_iterator at(options_.folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string set = at->path().filename();
    if (!is_trace_set(set) || used.contains(set)) continue;
    const SetContent content = content_of_set(at->path());
    if (content.store != options_.store) continue;
    if (now_unix_ns - content.changed_at_ns < kUnsavedSetNs) continue;
    std::error_code removing;
    fs::remove_all(at->path(), removing);
    if (removing) return failure(disk_error("remove", at->path(), removing));
    ++swept.sets;
    swept.bytes += content.bytes;
  }
  // Without the folder nothing has been sent yet.
  if (error && error != std::errc::no_such_file_or_directory)
    return failure(disk_error("read", options_.folder, error));
  return swept;
}

}  // namespace hocket
