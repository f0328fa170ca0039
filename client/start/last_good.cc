#include "client/start/last_good.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/files/owned_path.h"
#include "core/files/private_file.h"
#include "core/files/regular_file.h"
#include "core/sharing/sha256.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "hocket-last-good";
constexpr int kVersion = 1;
constexpr std::int64_t kMaxFileBytes = 1 << 20, kMaxVersion = std::int64_t{1} << 53;
constexpr std::string_view kBegin = R"({"sha256":")", kMiddle = R"(","content":)", kEnd = "}\n";

constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kUnfinishedSuffix = ".XXXXXX";  // mkstemp() replaces each X

std::string path_of(const std::string& folder, const ConfigKey& key) {
  return folder + "/" + to_string(key) + std::string(kSuffix);
}

/// Returns the content of the file's text if its framing and checksum are intact.
Result<std::string_view> checked(std::string_view text) {
  const std::size_t content_at = kBegin.size() + kSha256Digits + kMiddle.size();
  const bool framed = text.size() >= content_at + kEnd.size() && text.starts_with(kBegin) &&
                      text.substr(kBegin.size() + kSha256Digits).starts_with(kMiddle) &&
                      text.ends_with(kEnd);
  if (framed) {
    text.remove_suffix(kEnd.size());
    const std::string_view content = text.substr(content_at);
    if (sha256_hex(content) == text.substr(kBegin.size(), kSha256Digits)) return content;
  }
  return failure(ErrorCode::invalid_argument, "it is damaged: its checksum is wrong");
}

Result<LastGood> parse(std::string_view text, const ConfigKey& key) {
  const auto content = checked(text);
  HOCKET_TRY(content);
  const auto document = parse_object(*content, "its content");
  HOCKET_TRY(document);
  LastGood last_good;
  std::string of;
  JsonReader reader(*document);
  reader.format(kFormat, kVersion);
  reader.text("key", of);
  if (reader.finish() && of != to_string(key))
    return failure(ErrorCode::invalid_argument, "it is of another key, " + of.substr(0, 80));
  reader.part("config", last_good.config, read_known_knobs);
  reader.integer("config_version", last_good.version, 0, kMaxVersion);
  reader.text("origin", last_good.origin);
  return reader.result(std::move(last_good));
}

Error system_error(const std::string& what) {
  return {ErrorCode::unavailable, what + ": " + std::generic_category().message(errno)};
}

Result<void> write_whole(const std::string& folder, const std::string& path,
                         const std::string& text) {
  // Uses a unique temporary name, because several jobs with the same key may write at once.
  std::string unfinished = path + std::string(kUnfinishedSuffix);
  const FileDescriptor file(::mkostemp(unfinished.data(), O_CLOEXEC));
  if (!file) return failure(system_error("cannot write " + unfinished));
  auto written = write_all(file, text, path);
  if (written && (::fsync(file.get()) != 0 || ::rename(unfinished.c_str(), path.c_str()) != 0))
    written = failure(system_error("cannot write " + path));
  if (!written) {
    ::unlink(unfinished.c_str());
    return written;
  }
  const FileDescriptor entries(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!entries || ::fsync(entries.get()) != 0)
    return failure(system_error("cannot write " + folder));
  return {};
}

}  // namespace

std::optional<std::string> last_good_folder(const Environment& environment) {
  const auto cache = environment("XDG_CACHE_HOME");
  if (cache && cache->starts_with('/')) return *cache + "/hocket";
  const auto home = environment("HOME");
  if (home && home->starts_with('/')) return *home + "/.cache/hocket";
  return std::nullopt;
}

bool is_last_good_name(std::string_view name) {
  if (!name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  return parse_config_key(name).has_value();
}

bool is_unfinished_last_good_name(std::string_view name) {
  if (name.size() <= kUnfinishedSuffix.size()) return false;
  const auto drawn_at = name.size() - kUnfinishedSuffix.size();
  return name[drawn_at] == '.' && is_last_good_name(name.substr(0, drawn_at));
}

Result<std::optional<LastGood>> read_last_good(const std::string& folder, const ConfigKey& key) {
  const std::string path = path_of(folder, key);
  HOCKET_TRY(check_private_folder(folder));
  const auto text = read_regular_file(path, kMaxFileBytes);
  if (!text && text.error().code == ErrorCode::not_found) return std::nullopt;
  if (!text) return failure(ErrorCode::unavailable, text.error().message);
  auto last_good = parse(*text, key);
  if (!last_good) return failure(last_good.error().in(path));
  return std::optional(std::move(*last_good));
}

Result<void> write_last_good(const std::string& folder, const ConfigKey& key,
                             const LastGood& last_good) {
  HOCKET_TRY(create_private_folders(folder));
  const nlohmann::json document = {{"format", kFormat},
                                   {"version", kVersion},
                                   {"key", to_string(key)},
                                   {"config_version", last_good.version},
                                   {"config", to_json(last_good.config)},
                                   {"origin", last_good.origin}};
  const std::string content =
      document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string text(kBegin);
  text.append(sha256_hex(content)).append(kMiddle).append(content).append(kEnd);
  return write_whole(folder, path_of(folder, key), text);
}

Result<void> remove_last_good(const std::string& folder, const ConfigKey& key) {
  std::error_code error;
  const std::string path = path_of(folder, key);
  fs::remove(path, error);
  if (error)
    return failure(ErrorCode::unavailable, "cannot remove " + path + ": " + error.message());
  return {};
}

}  // namespace hocket
