#include "examples/gpt2/model/text.h"

#include "core/base/check.h"

namespace hocket {
namespace {

constexpr int kBytes = 256;  // that there are

}  // namespace

Result<Text> Text::load(const std::string& path, std::size_t minimum_bytes) {
  auto tokens = TokenSource::open(path, TokenFormat::text);
  if (!tokens) return failure(tokens.error().in("training text"));
  if (static_cast<std::size_t>(tokens->size()) < minimum_bytes) {
    return failure(ErrorCode::invalid_argument,
                   "training text " + path + ": " + std::to_string(tokens->size()) +
                       " bytes, at least " + std::to_string(minimum_bytes) +
                       " are needed (one sequence and its next byte); give a longer text or a "
                       "shorter sequence");
  }
  return Text(std::move(*tokens));
}

void Text::draw(const BatchKey& key, int sequence, std::span<std::int32_t> inputs,
                std::span<std::int32_t> targets) const {
  const auto drawn = tokens_.draw(key, sequence, kBytes, inputs, targets);
  HOCKET_CHECK(drawn, "bytes are tokens below 256");
}

}  // namespace hocket
