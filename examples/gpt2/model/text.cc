#include "examples/gpt2/model/text.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/base/check.h"
#include "core/base/json.h"
#include "core/random/split_mix.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

/// Returns `path` itself, or the regular files in the folder `path`, sorted by name.
Result<std::vector<std::string>> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;  // Files that vanish meanwhile are skipped.
    if (entry->is_regular_file(ignored)) files.push_back(entry->path().string());
  }
  if (error) return failure(ErrorCode::unavailable, "text folder " + path + ": " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<Text> Text::load(const std::string& path, std::size_t minimum_bytes) {
  const auto files = files_of(path);
  HOCKET_TRY(files);
  std::string bytes;
  for (const std::string& file : *files) {
    auto content = read_file(file);
    if (!content) return failure(content.error().in("training text"));
    bytes += *content;
  }
  if (bytes.size() < minimum_bytes) {
    return failure(ErrorCode::invalid_argument,
                   "training text " + path + ": " + std::to_string(bytes.size()) +
                       " bytes, at least " + std::to_string(minimum_bytes) +
                       " are needed (one sequence and its next byte); give a longer text or a "
                       "shorter sequence");
  }
  return Text(std::move(bytes));
}

int Text::largest_token() const {
  int largest = 0;
  for (const char byte : bytes_) largest = std::max<int>(largest, static_cast<unsigned char>(byte));
  return largest;
}

void Text::draw(const BatchKey& key, int sequence, std::span<std::int32_t> inputs,
                std::span<std::int32_t> targets) const {
  const auto length = static_cast<std::size_t>(sequence);
  HOCKET_CHECK(bytes_.size() > length, "the text is shorter than a window");
  const std::uint64_t rank_key =
      random_bits(random_key(key.seed, RandomUse::batches), static_cast<std::uint64_t>(key.rank));
  const std::uint64_t step_key = random_bits(rank_key, static_cast<std::uint64_t>(key.step));
  for (std::size_t window = 0; window * length < inputs.size(); ++window) {
    const std::size_t start = random_bits(step_key, window) % (bytes_.size() - length);
    for (std::size_t t = 0; t < length; ++t) {
      inputs[window * length + t] = static_cast<unsigned char>(bytes_[start + t]);
      targets[window * length + t] = static_cast<unsigned char>(bytes_[start + t + 1]);
    }
  }
}

}  // namespace hocket
