#include "job/model/batches.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace hocket {

Result<Batches> Batches::create(const Graph& model, const TokenSource& tokens,
                                const BatchOptions& options) {
  const auto leaf = model.leaf("tokens");
  const auto logits = model.output("logits");
  if (!leaf || !model.leaf("targets") || !logits)
    return invalid("--model: " + options.model + " takes no tokens; expected a language model");
  Batches batches(tokens, options);
  batches.sequence_ = model.type(*leaf).shape.back();
  batches.vocabulary_ = model.type(*logits).shape.back();
  HOCKET_TRY(tokens.check_window(batches.sequence_));
  const std::int64_t largest = tokens.largest_token();
  if (largest < batches.vocabulary_) return batches;
  return invalid("--tokens: there is the token " + std::to_string(largest) +
                 ", and the vocabulary is " + std::to_string(batches.vocabulary_) +
                 "; choose one of at least " + std::to_string(largest + 1));
}

void Batches::draw_windows(int rank, std::int64_t step, std::size_t count) {
  if (drawn_ == step && inputs_.size() == count) return;
  drawn_ = step;
  inputs_.resize(count);
  targets_.resize(count);
  const auto drawn =
      tokens_.draw({options_.seed, rank, step}, sequence_, vocabulary_, inputs_, targets_);
  // Checked when the job began; a file that became another meanwhile must not look like data.
  if (drawn) return;
  std::ranges::fill(inputs_, -1);
  std::ranges::fill(targets_, -1);
}

void Batches::draw(int rank, std::int64_t step, std::string_view input,
                   std::span<std::byte> bytes) {
  const auto write = [&](const auto& value) { std::memcpy(bytes.data(), &value, sizeof value); };
  if (input == "rate") return write(static_cast<float>(options_.rate));
  if (input == "step") return write(static_cast<std::int32_t>(step + 1));
  if (input == "key") {
    return write(std::array{
        static_cast<std::int32_t>(options_.seed * 65'537 + static_cast<std::uint64_t>(rank)),
        static_cast<std::int32_t>(step)});
  }
  draw_windows(rank, step, bytes.size() / sizeof(std::int32_t));
  std::memcpy(bytes.data(), (input == "tokens" ? inputs_ : targets_).data(), bytes.size());
}

}  // namespace hocket
