#include "models/data/token_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/check.h"
#include "core/random/split_mix.h"
#include "models/data/token_file.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

/// Returns `path` itself, or the regular files in the folder `path`, sorted by name.
Result<std::vector<std::string>> token_files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;  // Files that vanish meanwhile are skipped.
    if (entry->is_regular_file(ignored)) files.push_back(entry->path().string());
  }
  if (error) return failure(ErrorCode::unavailable, "folder " + path + ": " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<TokenSource> TokenSource::open(const std::string& path, TokenFormat format) {
  const auto files = token_files_of(path);
  HOCKET_TRY(files);
  TokenSource source;
  source.path_ = path;
  for (const std::string& each : *files) {
    auto file = open_token_file(each, format);
    HOCKET_TRY(file);
    source.add(std::move(*file));
  }
  return source;
}

TokenSource TokenSource::of_text(std::string bytes) {
  TokenFile file;
  file.count = static_cast<std::int64_t>(bytes.size());
  file.text = std::move(bytes);
  TokenSource source;
  source.path_ = "the text";
  source.add(std::move(file));
  return source;
}

void TokenSource::add(TokenFile file) {
  begins_.push_back(size_);
  size_ += file.count;
  files_.push_back(std::make_shared<const TokenFile>(std::move(file)));
}

std::int64_t TokenSource::largest_token() const {
  std::int64_t largest = 0;
  for (const auto& file : files_)
    for (std::int64_t i = 0; i < file->count; ++i) largest = std::max(largest, file->at(i));
  return largest;
}

Result<void> TokenSource::check_window(std::int64_t sequence) const {
  if (size_ > sequence) return {};
  return invalid(path_ + ": has " + std::to_string(size_) + " tokens, at least " +
                 std::to_string(sequence + 1) +
                 " are needed (one sequence and its next token); give more, or a shorter sequence");
}

Result<void> TokenSource::draw(const BatchKey& key, std::int64_t sequence, std::int64_t vocabulary,
                               std::span<std::int32_t> inputs,
                               std::span<std::int32_t> targets) const {
  HOCKET_CHECK(sequence > 0 && size_ > sequence, "there are the tokens of a window");
  const auto length = static_cast<std::size_t>(sequence);
  const std::uint64_t rank_key =
      random_bits(random_key(key.seed, RandomUse::batches), static_cast<std::uint64_t>(key.rank));
  const std::uint64_t step_key = random_bits(rank_key, static_cast<std::uint64_t>(key.step));
  for (std::size_t window = 0; window * length < inputs.size(); ++window) {
    const auto begin = static_cast<std::int64_t>(random_bits(step_key, window) %
                                                 static_cast<std::uint64_t>(size_ - sequence));
    HOCKET_TRY(copy(begin, vocabulary, inputs.subspan(window * length, length)));
    HOCKET_TRY(copy(begin + 1, vocabulary, targets.subspan(window * length, length)));
  }
  return {};
}

Result<void> TokenSource::copy(std::int64_t begin, std::int64_t vocabulary,
                               std::span<std::int32_t> tokens) const {
  // The last file that begins at or before the first token; files without tokens are passed over.
  auto index =
      static_cast<std::size_t>(std::ranges::upper_bound(begins_, begin) - begins_.begin() - 1);
  std::int64_t place = begin - begins_[index];
  for (std::int32_t& token : tokens) {
    while (place == files_[index]->count) ++index, place = 0;
    const std::int64_t found = files_[index]->at(place);
    if (found >= vocabulary)
      return invalid((files_[index]->path.empty() ? path_ : files_[index]->path) + ": token " +
                     std::to_string(found) + " at " + std::to_string(place) +
                     " is beyond the vocabulary of " + std::to_string(vocabulary));
    token = static_cast<std::int32_t>(found);
    ++place;
  }
  return {};
}

}  // namespace hocket
