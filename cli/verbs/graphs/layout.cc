// hocket layout: where the values of a model are on the ranks of a mesh, as a file of signals says.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/graphs/laid_out.h"
#include "cli/verbs/graphs/pass_flags.h"
#include "cli/verbs/verb.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/graph/graph_text.h"
#include "core/graph/passes.h"
#include "core/graph/passes/memory_plan.h"
#include "core/graph/passes/optimiser.h"
#include "core/graph/region.h"
#include "core/layout/rank_traffic.h"

namespace hocket {
namespace {

std::string size_text(std::int64_t bytes) {
  return value_text(static_cast<double>(bytes), ObjectiveUnit::bytes);
}

struct LayoutOptions {
  std::string signals, graph;
  std::int64_t rank = 0;
  std::shared_ptr<PassFlags> passes = std::make_shared<PassFlags>();
};

/// Returns a name with "*" for its first number, so that blocks that are alike are one line.
std::string without_number(const std::string& name) {
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  const auto begin = std::ranges::find_if(name, is_digit);
  if (begin == name.end()) return name;
  const auto end = std::find_if_not(begin, name.end(), is_digit);
  return std::string(name.begin(), begin) + "*" + std::string(end, name.end());
}

/// Lines of a table, of which those that differ in a number of their name alone are one.
class FoldedLines {
 public:
  void add(const std::string& name, std::vector<std::string> cells) {
    auto& folded = lines_[{without_number(name), cells}];
    if (folded.count++ == 0) {
      folded.name = name;
      order_.push_back({without_number(name), std::move(cells)});
    }
  }

  void print(TextTable table, std::ostream& out) const {
    for (const auto& key : order_) {
      const Folded& folded = lines_.at(key);
      std::vector<std::string> cells{folded.count > 1 ? key.first : folded.name,
                                     std::to_string(folded.count)};
      cells.insert(cells.end(), key.second.begin(), key.second.end());
      table.add(cells);
    }
    table.print(out);
  }

 private:
  using Key = std::pair<std::string, std::vector<std::string>>;
  struct Folded {
    std::string name;
    std::int64_t count = 0;
  };

  std::map<Key, Folded> lines_;
  std::vector<Key> order_;
};

void print_parameters(const LaidOutGraph& laid_out, std::ostream& out) {
  const Graph& graph = laid_out.graph;
  const Mesh& mesh = laid_out.plan.mesh;
  const auto bytes_of = [&](ValueId value) {
    const ValueType& type = graph.type(value);
    return ValueType{type.numbers, local_shape(laid_out.plan.layout(value), type.shape, mesh)}
        .bytes();
  };
  FoldedLines lines;
  for (const Operation& operation : graph.operations()) {
    if (operation.name.empty() || is_optimiser_state(operation.name)) continue;
    const ValueId value = operation.first_result;
    std::string states = "-";
    std::int64_t state_bytes = 0;
    for (const char* prefix : {"first_moment/", "second_moment/", "velocity/"}) {
      const auto state = graph.leaf(prefix + operation.name);
      if (!state) continue;
      states = to_string(laid_out.plan.layout(*state), mesh);
      state_bytes += bytes_of(*state);
    }
    lines.add(operation.name,
              {to_string(graph.type(value)), to_string(laid_out.plan.layout(value), mesh),
               size_text(bytes_of(value)), states, size_text(state_bytes)});
  }
  lines.print(TextTable({"name", "count", "type", "divided over", "bytes a rank", "its states over",
                         "bytes a rank"}),
              out);
}

std::string pass_of(const std::string& region) {
  if (has_mark(region, kUpdate)) return "update";
  return has_mark(region, kBackward) || has_mark(region, kRecomputed) ? "backward" : "forward";
}

void print_traffic(const Graph& program, std::ostream& out) {
  FoldedLines lines;
  std::map<std::string, std::int64_t> sent;  // by group
  for (const RankTraffic& traffic : traffic_of(program)) {
    const std::string part = part_of_model(traffic.region);
    lines.add(part.empty() ? "-" : part,
              {pass_of(traffic.region), std::string(to_string(traffic.kind)), traffic.group,
               std::to_string(traffic.ranks), std::to_string(traffic.count),
               size_text(traffic.sent_bytes)});
    sent[traffic.group] += traffic.sent_bytes;
  }
  if (sent.empty()) {
    out << "Ranks do not communicate.\n";
    return;
  }
  lines.print(TextTable({"region", "count", "pass", "communication", "group", "ranks", "in each",
                         "bytes sent in each"}),
              out);
  for (const auto& [group, bytes] : sent)
    out << "A rank sends " << size_text(bytes) << " a step in its group of " << group << ".\n";
}

Result<int> show_layout(const LayoutOptions& options, VerbContext& context) {
  const auto passes = options.passes->read();
  HOCKET_TRY(passes);
  const auto text = read_file(options.graph, kMostGraphTextBytes);
  HOCKET_TRY(text);
  auto model = parse_graph(*text);
  if (!model) return failure(model.error().in(options.graph));
  auto step = run_passes(*model, kLastBeforeLayout, *passes);
  if (!step) return failure(step.error().in(options.graph));
  const auto laid_out = lay_out(std::move(*step), options.signals);
  HOCKET_TRY(laid_out);
  const auto program = laid_out->program(options.rank);
  HOCKET_TRY(program);
  const auto memory = plan_memory(*program);
  HOCKET_TRY(memory);

  print_parameters(*laid_out, context.out);
  context.out << '\n';
  print_traffic(*program, context.out);
  context.out << "\nMemory of rank " << options.rank << ": parameters "
              << size_text(memory->parameter_bytes) << ", inputs " << size_text(memory->input_bytes)
              << ", other values " << size_text(memory->arena_bytes) << ".\n";
  return kDone;
}

}  // namespace

void add_layout(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<LayoutOptions>();
  options->passes->optimiser = "adamw";
  options->passes->options.needed.outputs = {"loss"};
  auto* verb = program.add_subcommand(
      "layout", "where a model's values are on many ranks, as a file of signals says");
  verb->add_option("SIGNALS", options->signals, "a file of signals")->type_name("FILE")->required();
  CLI::Option* const graph =
      verb->add_option("GRAPH", options->graph, "the graph of a model")->type_name("FILE");
  graph->required();
  verb->add_option("--rank", options->rank, "whose memory is said")->capture_default_str();
  add_pass_flags(*verb, options->passes, *graph);
  verb->footer(
      "The graph is that of a training step with AdamW, unless --optimiser says otherwise. Lines "
      "that differ in a number of their name alone are one.\n"
      "docs/formats/signals.md has the form of the file.\n"
      "Example:\n  hocket graph model gpt2 > gpt2.graph\n  hocket layout signals.yaml "
      "gpt2.graph\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return show_layout(*options, c); };
  });
}

}  // namespace hocket
