#pragma once

// The inputs of a language model's steps: tokens and their targets, the key of dropout, and what
// the optimiser takes. One thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "models/data/token_source.h"

namespace hocket {

struct BatchOptions {
  std::uint64_t seed = 1;
  double rate = 0;         ///< of learning
  std::string model = {};  ///< its name, for errors
};

class Batches {
 public:
  /// `tokens` must outlive it. invalid_argument for a model that takes no tokens, for tokens that
  /// it does not have, and for fewer than a sequence and the token behind it.
  static Result<Batches> create(const Graph& model, const TokenSource& tokens,
                                const BatchOptions& options);

  /// Writes an input of a step of a rank.
  void draw(int rank, std::int64_t step, std::string_view input, std::span<std::byte> bytes);

 private:
  Batches(const TokenSource& tokens, const BatchOptions& options)
      : tokens_(tokens), options_(options) {}

  /// Draws the windows of a step, which tokens and targets are parts of.
  void draw_windows(int rank, std::int64_t step, std::size_t count);

  const TokenSource& tokens_;
  const BatchOptions options_;
  std::int64_t sequence_ = 0, vocabulary_ = 0;
  std::int64_t drawn_ = -1;  ///< the step of the vectors
  std::vector<std::int32_t> inputs_, targets_;
};

}  // namespace hocket
