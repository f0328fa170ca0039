#include "core/protocol/job_report.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "core/base/json.h"

namespace hocket {
namespace {

constexpr const char* kReportFormat = "hocket-report";
constexpr int kReportVersion = 1;
constexpr std::int64_t kMaxNs = std::int64_t{1} << 53;

Result<Iteration> iteration_from_json(const nlohmann::json& entry) {
  Iteration iteration;
  const struct {
    const char* field;
    std::int64_t* target;
    std::int64_t low;
  } fields[] = {{"wall_ns", &iteration.wall_ns, 1},
                {"compute_ns", &iteration.compute_ns, 0},
                {"communication_ns", &iteration.communication_ns, 0},
                {"exposed_ns", &iteration.exposed_ns, 0}};
  iteration.is_whole = std::ranges::none_of(
      std::span(fields).subspan(1), [&](const auto& each) { return entry.contains(each.field); });
  for (const auto& [field, target, low] :
       std::span(fields).first(iteration.is_whole ? 1 : std::size(fields))) {
    const auto value = read_integer(entry, field, low, kMaxNs);
    if (!value) return failure(value.error().in("field \"iterations\""));
    *target = *value;
  }
  return iteration;
}

nlohmann::json iteration_to_json(const Iteration& iteration) {
  if (iteration.is_whole) return {{"wall_ns", iteration.wall_ns}};
  return {{"wall_ns", iteration.wall_ns},
          {"compute_ns", iteration.compute_ns},
          {"communication_ns", iteration.communication_ns},
          {"exposed_ns", iteration.exposed_ns}};
}

}  // namespace

nlohmann::json to_json(const RunReport& report) {
  auto iterations = nlohmann::json::array();
  for (const auto& iteration : report.iterations)
    iterations.push_back(iteration_to_json(iteration));
  return {{"format", kReportFormat},
          {"version", kReportVersion},
          {"topology", to_json(report.topology)},
          {"workload", to_json(report.workload)},
          {"config", to_json(report.config)},
          {"config_source", report.config_source},
          {"iterations", std::move(iterations)}};
}

Result<RunReport> parse_report(std::string_view text) {
  const auto document = parse_object(text, "report");
  if (!document) return failure(document.error());
  if (const auto ok = check_format(*document, kReportFormat, kReportVersion); !ok)
    return failure(ok.error().in("report"));

  RunReport report;
  const auto read_part = [&](const char* field, auto from_json, auto& target) -> Result<void> {
    const auto object = read_object(*document, field);
    if (!object) return failure(object.error().in("report"));
    auto value = from_json(*object);
    if (!value) return failure(value.error().in(std::string("report, field \"") + field + "\""));
    target = std::move(*value);
    return {};
  };
  const auto read_config = [](const nlohmann::json& object) {
    return schedule_config_from_json(object);
  };
  if (auto ok = read_part("topology", topology_from_json, report.topology); !ok)
    return failure(ok.error());
  if (auto ok = read_part("workload", workload_from_json, report.workload); !ok)
    return failure(ok.error());
  if (auto ok = read_part("config", read_config, report.config); !ok) return failure(ok.error());

  auto source = read_string(*document, "config_source");
  if (!source) return failure(source.error().in("report"));
  report.config_source = std::move(*source);
  const auto iterations = read_array(*document, "iterations");
  if (!iterations) return failure(iterations.error().in("report"));
  for (const auto& entry : *iterations) {
    const auto iteration = iteration_from_json(entry);
    if (!iteration) return failure(iteration.error().in("report"));
    report.iterations.push_back(*iteration);
  }
  return report;
}

}  // namespace hocket
