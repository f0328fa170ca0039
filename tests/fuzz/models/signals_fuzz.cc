// Signals files, and what they ask of a small model.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "core/layout/rank_program.h"
#include "models/gpt2.h"
#include "models/signals/signals.h"

namespace hocket {
namespace {

constexpr std::int64_t kMostRanks = 64;

void plan(const Signals& signals) {
  static const Graph model = gpt2({.layers = 1,
                                   .heads = 4,
                                   .width = 16,
                                   .vocabulary = 32,
                                   .positions = 16,
                                   .sequence = 16,
                                   .batch = 16})
                                 .value();
  const std::int64_t ranks = signals.ranks();
  if (ranks > kMostRanks) return;
  const auto mesh = Mesh::make(signals.mesh, {ranks, ranks});
  if (!mesh) return;
  const auto request = request_layouts(signals, model, *mesh);
  if (!request) return;
  const auto plan = plan_layouts(model, *mesh, *request);
  HOCKET_CHECK(plan, "what is asked for was checked");
  HOCKET_CHECK(program_of_rank(model, *plan, ranks - 1), "each rank has a program");
}

}  // namespace
}  // namespace hocket

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto signals = hocket::parse_signals(text)) hocket::plan(*signals);
  return 0;
}
