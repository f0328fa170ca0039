#include "core/protocol/job_report.h"

#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "core/base/json_reader.h"

namespace hocket {
namespace {

constexpr const char* kReportFormat = "hocket-report";
constexpr int kReportVersion = 1;
constexpr std::int64_t kMaxNs = std::int64_t{1} << 53;

nlohmann::json iteration_to_json(const Iteration& iteration) {
  if (iteration.is_whole) return {{"wall_ns", iteration.wall_ns}};
  return {{"wall_ns", iteration.wall_ns},
          {"compute_ns", iteration.compute_ns},
          {"communication_ns", iteration.communication_ns},
          {"exposed_ns", iteration.exposed_ns}};
}

void read_iteration(JsonReader& reader, Iteration& iteration) {
  reader.integer("wall_ns", iteration.wall_ns, 1, kMaxNs);
  iteration.is_whole =
      !reader.has("compute_ns") && !reader.has("communication_ns") && !reader.has("exposed_ns");
  if (iteration.is_whole) return;
  reader.integer("compute_ns", iteration.compute_ns, 0, kMaxNs);
  reader.integer("communication_ns", iteration.communication_ns, 0, kMaxNs);
  reader.integer("exposed_ns", iteration.exposed_ns, 0, kMaxNs);
}

void read_run_report(JsonReader& reader, RunReport& report) {
  reader.format(kReportFormat, kReportVersion);
  reader.part("topology", report.topology, read_topology);
  reader.part("workload", report.workload, read_workload);
  reader.part("config", report.config, read_schedule_config);
  reader.text("config_source", report.config_source);
  reader.parts("iterations", report.iterations, read_iteration);
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
  HOCKET_TRY(document);
  return read_json(*document, read_run_report, "report");
}

}  // namespace hocket
