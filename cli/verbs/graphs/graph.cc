// hocket graph: checks, prints and compares programs as pure maths. Its verb for models is in
// model.cc.

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
#include "cli/verbs/graphs/laid_out.h"
#include "cli/verbs/graphs/model.h"
#include "cli/verbs/graphs/pass_flags.h"
#include "cli/verbs/verb.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/graph/graph_diff.h"
#include "core/graph/graph_text.h"
#include "core/graph/passes.h"
#include "core/graph/passes/memory_plan.h"

namespace hocket {
namespace {

constexpr std::size_t kLineBytes = 8000;
constexpr std::size_t kShownLiving = 20;

Result<Graph> open_graph(const std::string& path, const std::string& last_pass = "",
                         const PassOptions& options = {}) {
  const auto text = read_file(path, kMostGraphTextBytes);
  HOCKET_TRY(text);
  auto graph = parse_graph(*text);
  if (!graph) return failure(graph.error().in(path));
  auto passed = run_passes(*graph, last_pass, options);
  if (!passed) return failure(passed.error().in(path));
  return passed;
}

struct ShowOptions {
  std::string file, after, region, signals;
  bool regions = false, memory = false;
  std::int64_t slack = 0, rank = 0;
  std::shared_ptr<PassFlags> passes = std::make_shared<PassFlags>();
};

/// Returns whether a region is `wanted` or a part of it.
bool is_within(const std::string& region, const std::string& wanted) {
  if (wanted.empty() || region == wanted) return true;
  return region.starts_with(wanted) &&
         (region[wanted.size()] == '.' || region[wanted.size()] == '/');
}

/// Contents of a region. Each is at most kMost: a graph may name more than fits into a number.
struct RegionCounts {
  static constexpr std::int64_t kMost = std::int64_t{1} << 62;

  std::int64_t operations = 0, parameters = 0, parameter_bytes = 0, result_bytes = 0;

  void add(const RegionCounts& more) {
    operations += more.operations;
    parameters = std::min(parameters + more.parameters, kMost);
    parameter_bytes = std::min(parameter_bytes + more.parameter_bytes, kMost);
    result_bytes = std::min(result_bytes + more.result_bytes, kMost);
  }
};

RegionCounts counts_of(const Graph& graph, const Operation& operation) {
  RegionCounts counts;
  const ValueType& type = graph.type(operation.first_result);
  if (operation.kind == OperationKind::parameter)
    return {.parameters = type.count(), .parameter_bytes = type.bytes()};
  if (operation.kind <= OperationKind::constant) return counts;
  counts.operations = 1;
  for (std::size_t i = 0; i < graph.results(operation); ++i)
    counts.result_bytes += graph.type(graph.result(operation, i)).bytes();
  return counts;
}

void print_regions(const Graph& graph, const std::string& wanted, std::ostream& out) {
  std::vector<std::string> order;
  std::map<std::string, RegionCounts> regions;
  RegionCounts all;
  for (const Operation& operation : graph.operations()) {
    if (!is_within(operation.region, wanted)) continue;
    const RegionCounts counts = counts_of(graph, operation);
    const auto [found, is_new] = regions.try_emplace(operation.region);
    if (is_new) order.push_back(operation.region);
    found->second.add(counts);
    all.add(counts);
  }
  TextTable table({"region", "operations", "parameters", "their bytes", "bytes of results"});
  const auto add = [&](const std::string& name, const RegionCounts& counts) {
    table.add({name, std::to_string(counts.operations), std::to_string(counts.parameters),
               std::to_string(counts.parameter_bytes), std::to_string(counts.result_bytes)});
  };
  for (const std::string& region : order) add(region.empty() ? "-" : region, regions[region]);
  add("all", all);
  table.print(out);
}

/// Lists the values that live where the most bytes do, the largest first.
void print_living(const Graph& graph, const MemoryPlan& plan, std::ostream& out) {
  std::vector<ValueId> living;
  for (std::uint32_t i = 0; i < graph.values(); ++i) {
    const auto& place = plan.places[i];
    if (place && place->first <= plan.fullest && plan.fullest <= place->last) living.push_back({i});
  }
  std::ranges::stable_sort(living, [&](ValueId one, ValueId other) {
    return plan.places[one.index]->bytes > plan.places[other.index]->bytes;
  });
  TextTable table({"bytes", "offset", "value", "made by"});
  for (std::size_t i = 0; i < std::min(living.size(), kShownLiving); ++i) {
    const MemoryPlace& place = *plan.places[living[i].index];
    table.add({std::to_string(place.bytes), std::to_string(place.offset_bytes),
               "%" + std::to_string(living[i].index) + " " + to_string(graph.type(living[i])),
               words_of(graph.operations()[graph.producer(living[i])])});
  }
  table.print(out);
  if (living.size() > kShownLiving) out << "and " << living.size() - kShownLiving << " more\n";
}

Result<int> print_memory(const Graph& graph, std::int64_t slack, VerbContext& context) {
  const auto plan = plan_memory(graph, {.slack_operations = slack});
  HOCKET_TRY(plan);
  TextTable table({"memory", "bytes"});
  table.add({"parameters", std::to_string(plan->parameter_bytes)});
  table.add({"inputs", std::to_string(plan->input_bytes)});
  table.add({"arena of the other values", std::to_string(plan->arena_bytes)});
  table.add({"most that live at once", std::to_string(plan->live_bytes)});
  table.print(context.out);
  if (plan->live_bytes == 0) return kDone;
  context.out << "\nMost bytes live at " << words_of(graph.operations()[plan->fullest]) << ":\n\n";
  print_living(graph, *plan, context.out);
  return kDone;
}

/// Returns the program of a rank: passes up to the optimiser come before signals are looked at, and
/// fusion after.
Result<Graph> open_program(const ShowOptions& options, const PassOptions& passes) {
  const bool is_fused = options.after == graph_passes().back().name;
  auto whole = open_graph(options.file, is_fused ? kLastBeforeLayout : options.after, passes);
  HOCKET_TRY(whole);
  const auto laid_out = lay_out(std::move(*whole), options.signals);
  HOCKET_TRY(laid_out);
  auto program = laid_out->program(options.rank);
  HOCKET_TRY(program);
  return is_fused ? graph_passes().back().run(*program, passes) : program;
}

Result<int> show_graph(const ShowOptions& options, VerbContext& context) {
  const auto passes = options.passes->read();
  HOCKET_TRY(passes);
  auto graph = options.signals.empty() ? open_graph(options.file, options.after, *passes)
                                       : open_program(options, *passes);
  HOCKET_TRY(graph);
  if (options.memory) return print_memory(*graph, options.slack, context);
  if (options.regions) {
    print_regions(*graph, options.region, context.out);
    return kDone;
  }
  if (options.region.empty()) {
    context.out << to_text(*graph);
    return kDone;
  }
  for (const Operation& operation : graph->operations())
    if (is_within(operation.region, options.region))
      context.out << to_text(*graph, operation) << '\n';
  return kDone;
}

Result<int> compare_graphs(const std::string& before, const std::string& after,
                           VerbContext& context) {
  const auto one = open_graph(before);
  HOCKET_TRY(one);
  const auto other = open_graph(after);
  HOCKET_TRY(other);
  const std::vector<GraphLine> lines = graph_diff(*one, *other);
  for (const GraphLine& line : lines) {
    context.out << (line.side == GraphLineSide::before ? "- " : "+ ")
                << printable(line.text, kLineBytes) << '\n';
  }
  return lines.empty() ? kDone : kFailed;
}

std::string passes_text() {
  std::string text = "Passes, in their order:\n";
  for (const GraphPass& pass : graph_passes())
    text += "  " + std::string(pass.name) + "  " + std::string(pass.about) + "\n";
  return text;
}

void add_graph_show(CLI::App& graph, VerbAction& action) {
  auto options = std::make_shared<ShowOptions>();
  auto* verb = graph.add_subcommand("show", "check a graph and print it");
  verb->add_option("FILE", options->file, "the graph")->type_name("FILE")->required();
  CLI::Option* const after =
      verb->add_option("--after", options->after, "as it is after this pass, and those before it");
  verb->add_option("--region", options->region, "only operations of this region");
  verb->add_flag("--regions", options->regions,
                 "a line for each region: operations, parameters and bytes");
  CLI::Option* const memory =
      verb->add_flag("--memory", options->memory,
                     "the memory of a step: parameters, inputs, and an arena for all other values");
  verb->add_option("--slack", options->slack,
                   "operations by which memory stays after its last use, for several streams")
      ->capture_default_str()
      ->needs(memory);
  CLI::Option* const signals =
      verb->add_option("--signals", options->signals,
                       "the program of one rank, under this file of signals (hocket layout)")
          ->type_name("FILE");
  verb->add_option("--rank", options->rank, "the rank")->capture_default_str()->needs(signals);
  add_pass_flags(*verb, options->passes, *after);
  verb->footer(passes_text() +
               "Examples:\n  hocket graph show mlp.graph --after derivative --region layer0\n"
               "  hocket graph show gpt2.graph --after fusion --precision bfloat16 "
               "--optimiser adamw --memory\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return show_graph(*options, c); };
  });
}

void add_graph_diff(CLI::App& graph, VerbAction& action) {
  auto files = std::make_shared<std::pair<std::string, std::string>>();
  auto* verb = graph.add_subcommand("diff", "compare two graphs, whatever their values are called");
  verb->add_option("A", files->first, "a graph")->type_name("FILE")->required();
  verb->add_option("B", files->second, "another")->type_name("FILE")->required();
  verb->footer(
      "Exit status 0 when the graphs are the same, 1 when not.\n"
      "Example:\n  hocket graph diff before.graph after.graph\n");
  verb->callback([files, &action] {
    action = [files](VerbContext& c) { return compare_graphs(files->first, files->second, c); };
  });
}

}  // namespace

void add_graph(CLI::App& program, VerbAction& action) {
  auto* verb = program.add_subcommand(
      "graph", "look at or compare programs as pure maths, or print those of models");
  verb->require_subcommand(1);
  verb->footer("Example:\n  hocket graph show mlp.graph --regions\n");
  add_graph_show(*verb, action);
  add_graph_diff(*verb, action);
  add_graph_model(*verb, action);
}

}  // namespace hocket
