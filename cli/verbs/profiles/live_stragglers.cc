#include "cli/verbs/profiles/live_stragglers.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "core/base/json_members.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kLiveStragglersTextBytes = 80;

std::string milliseconds_of(double ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f ms", ns / 1e6);
  return text;
}

std::string counter_text(const nlohmann::json& rank, const char* name) {
  return rank.contains(name) ? milliseconds_of(number_member(rank, name)) : "-";
}

std::string cause_text(const std::string& cause) {
  if (cause == "computation") return "its computation takes longer";
  if (cause == "host")
    return "it computes no longer than the others and comes later: its work is issued late, or its "
           "process is held up";
  if (cause == "link") return "it sends for longer than the others: its link is slow";
  return cause == "unknown" ? "what it counts does not say why"
                            : printable(cause, kLiveStragglersTextBytes);
}

std::string pattern_text(const std::string& pattern) {
  if (pattern == "persistent") return "in most steps";
  if (pattern == "growing") return "more and more";
  if (pattern == "shrinking") return "less and less";
  return pattern == "periodic" ? "at even distances" : "in some steps";
}

void print_verdict(std::ostream& out, const nlohmann::json& document) {
  const std::string verdict = text_member(document, "verdict");
  const auto steps = integer_member(document, "steps");
  if (verdict == "none") out << "no rank is late\n";
  if (verdict == "alternating") out << "ranks are late in turns: none is to blame\n";
  if (verdict == "uneven") out << "most ranks wait for a few that are never last alone\n";
  if (verdict == "too_few" && steps > 0) out << "too few steps are counted: " << steps << '\n';
  if (verdict == "too_few" && steps == 0)
    out << "the ranks have counted nothing yet, or the job does not count\n";
  const double iteration_ns = number_member(document, "iteration_ns");
  for (const nlohmann::json& rank : list_member(document, "ranks")) {
    const std::string pattern = text_member(rank, "pattern");
    if (pattern == "none") continue;
    const double lost_ns = number_member(rank, "kept_waiting_ns");
    out << "rank " << integer_member(rank, "rank") << " is late " << pattern_text(pattern)
        << "; the others wait for it " << milliseconds_of(lost_ns);
    if (iteration_ns > 0) out << " or " << percent_text(lost_ns / iteration_ns);
    out << " of a step on average: " << cause_text(text_member(rank, "cause")) << '\n';
  }
}

void print_live_stragglers(std::ostream& out, const nlohmann::json& document) {
  out << printable(text_member(document, "job"), kLiveStragglersTextBytes) << ": steps "
      << integer_member(document, "first_step") << " to " << integer_member(document, "last_step")
      << ", iteration " << milliseconds_of(number_member(document, "iteration_ns")) << "\n\n";
  TextTable table({"rank", "waits", "computes", "processor", "sends", "last in", "kept waiting"});
  std::size_t number = 0;
  for (const nlohmann::json& rank : list_member(document, "ranks")) {
    table.add({std::to_string(number++), counter_text(rank, "waited_ns"),
               counter_text(rank, "computed_ns"), counter_text(rank, "processor_ns"),
               counter_text(rank, "sending_ns"), percent_text(number_member(rank, "last_share")),
               counter_text(rank, "kept_waiting_ns")});
  }
  if (number > 0) {
    table.print(out);
    out << '\n';
  }
  print_verdict(out, document);
}

}  // namespace

Result<int> show_live_stragglers(const LiveStragglersOptions& options, VerbContext& context) {
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  HttpClient client(std::move(*access));
  const auto answer =
      ask_daemon(client, "GET", "/v1/jobs/" + url_encoded(options.job) + "/stragglers");
  HOCKET_TRY(answer);
  if (options.json) {
    context.out << json_text(*answer) << '\n';
  } else {
    print_live_stragglers(context.out, *answer);
  }
  return kDone;
}

}  // namespace hocket
