#include "models/data/token_file.h"

#include <array>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "core/base/json.h"

namespace hocket {
namespace {

using Bytes = std::span<const std::byte>;

std::uint32_t little_endian(const std::byte* bytes, int count) {
  std::uint32_t number = 0;
  for (int i = count; i-- > 0;) number = number << 8 | static_cast<std::uint32_t>(bytes[i]);
  return number;
}

std::uint32_t header_word(Bytes bytes, std::size_t index) {
  return little_endian(bytes.data() + 4 * index, 4);
}

constexpr std::size_t kHeaderBytes = 256 * 4;

struct LlmcKind {
  std::uint32_t magic, version;
  int token_bytes;
};
constexpr std::array<LlmcKind, 2> kLlmcKinds{{{20240520, 1, 2}, {20240801, 7, 4}}};

const LlmcKind* llmc_kind(Bytes bytes) {
  if (bytes.size() < 4) return nullptr;
  for (const LlmcKind& kind : kLlmcKinds)
    if (header_word(bytes, 0) == kind.magic) return &kind;
  return nullptr;
}

TokenFormat format_of(const std::string& path, Bytes bytes) {
  if (llmc_kind(bytes) != nullptr) return TokenFormat::llm_c;
  return path.ends_with(".bin") ? TokenFormat::nano_gpt : TokenFormat::text;
}

Result<void> read_llmc(Bytes bytes, TokenFile& file) {
  const LlmcKind* const kind = llmc_kind(bytes);
  if (kind == nullptr)
    return invalid(
        file.path +
        ": is no token file of llm.c, which begins with the number 20240520 or 20240801");
  if (bytes.size() < kHeaderBytes)
    return invalid(file.path + ": ends within the header of 1024 bytes, after " +
                   std::to_string(bytes.size()));
  if (header_word(bytes, 1) != kind->version)
    return invalid(file.path + ": is of version " + std::to_string(header_word(bytes, 1)) +
                   ", expected " + std::to_string(kind->version));
  const std::uint64_t count = header_word(bytes, 2);
  const std::uint64_t expected =
      kHeaderBytes + count * static_cast<std::uint64_t>(kind->token_bytes);
  if (bytes.size() != expected)
    return invalid(file.path + ": has " + std::to_string(bytes.size()) + " bytes, but its header " +
                   "says " + std::to_string(count) + " tokens, which are " +
                   std::to_string(expected) + " bytes; write it again");
  file.header_bytes = kHeaderBytes;
  file.token_bytes = kind->token_bytes;
  file.count = static_cast<std::int64_t>(count);
  return {};
}

/// Reads what cannot be mapped, such as a pipe.
Result<TokenFile> read_text(const std::string& path) {
  auto text = read_file(path);
  HOCKET_TRY(text);
  TokenFile file;
  file.path = path;
  file.count = static_cast<std::int64_t>(text->size());
  file.text = std::move(*text);
  return file;
}

}  // namespace

std::int64_t TokenFile::at(std::int64_t index) const {
  if (!mapped) return static_cast<unsigned char>(text[static_cast<std::size_t>(index)]);
  const auto place = header_bytes + static_cast<std::size_t>(index * token_bytes);
  return little_endian(mapped->bytes().data() + place, token_bytes);
}

Result<TokenFile> open_token_file(const std::string& path, TokenFormat format) {
  std::error_code ignored;
  if (format == TokenFormat::text && !std::filesystem::is_regular_file(path, ignored))
    return read_text(path);
  auto mapped = MappedFile::open(path);
  HOCKET_TRY(mapped);
  TokenFile file;
  file.path = path;
  const Bytes bytes = mapped->bytes();
  if (format == TokenFormat::automatic) format = format_of(path, bytes);
  file.count = static_cast<std::int64_t>(bytes.size());
  if (format == TokenFormat::llm_c) HOCKET_TRY(read_llmc(bytes, file));
  if (format == TokenFormat::nano_gpt) {
    if (bytes.size() % 2 != 0)
      return invalid(path + ": has " + std::to_string(bytes.size()) +
                     " bytes, which are not whole tokens of 2 bytes");
    file.token_bytes = 2;
    file.count /= 2;
  }
  file.mapped = std::move(*mapped);
  return file;
}

}  // namespace hocket
