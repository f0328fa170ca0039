// Any text is refused, or is a graph that is printed and read back as it was, has no difference
// from itself, and passes and its memory plan give what can be read back, or a reason why not.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "core/graph/graph_diff.h"
#include "core/graph/graph_text.h"
#include "core/graph/passes.h"
#include "core/graph/passes/memory_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const auto graph = parse_graph({reinterpret_cast<const char*>(data), size});
  if (!graph) {
    HOCKET_CHECK(graph.error().message.find('\n') == std::string_view::npos,
                 "a message has one line");
    return 0;
  }
  const auto again = parse_graph(to_text(*graph));
  HOCKET_CHECK(again && *again == *graph, "it is read back as it was printed");
  HOCKET_CHECK(graph_diff(*graph, *graph).empty(), "it does not differ from itself");
  // The settings of passes depend on the text, too.
  PassOptions options;
  if (size % 3 == 1) options.precision.computes = NumberType::bfloat16;
  if (size % 3 == 2) options.precision.computes = NumberType::float16;
  if (size % 2 == 1) options.recomputation.regions = {"*"};
  options.micro_batches.count = static_cast<std::int64_t>(size % 4) + 1;
  options.optimiser.method = size % 5 == 0 ? OptimiserMethod::none : OptimiserMethod::adamw;
  for (const GraphPass& pass : graph_passes()) {
    const auto passed = run_passes(*graph, pass.name, options);
    if (!passed) break;
    const auto passed_again = parse_graph(to_text(*passed));
    HOCKET_CHECK(passed_again && *passed_again == *passed, "a pass gives a graph");
    const auto plan = plan_memory(*passed);
    HOCKET_CHECK(!plan || plan->arena_bytes >= plan->live_bytes, "what lives has its memory");
  }
  return 0;
}
