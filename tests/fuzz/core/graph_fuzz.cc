// Any text is refused, or is a graph that is printed and read back as it was, has no difference
// from itself, and has a derivative or a reason why not.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "core/graph/graph_diff.h"
#include "core/graph/graph_text.h"
#include "core/graph/passes.h"

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
  const auto derived = run_passes(*graph, "derivative");
  if (!derived) return 0;
  const auto derived_again = parse_graph(to_text(*derived));
  HOCKET_CHECK(derived_again && *derived_again == *derived, "a derivative is a graph");
  return 0;
}
