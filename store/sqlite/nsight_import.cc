// Reads the tables of an SQLite export of Nsight Systems ("SQLite Schema Reference" in its User
// Guide). Versions differ in their columns; missing columns are read as NULL:
//
//   StringIds                     id, value
//   CUPTI_ACTIVITY_KIND_KERNEL    start, end, streamId, a name; deviceId, correlationId, globalPid
//   CUPTI_ACTIVITY_KIND_MEMCPY    start, end, streamId; bytes, copyKind, and as above
//   CUPTI_ACTIVITY_KIND_MEMSET    start, end, streamId; bytes, and as above
//   CUPTI_ACTIVITY_KIND_GRAPH_TRACE  start, end, streamId; graphId, and as above: a launch of a
//                                 CUDA graph, whose kernels are in no table
//   CUPTI_ACTIVITY_KIND_RUNTIME   start, end; nameId, correlationId, globalTid
//   NVTX_EVENTS                   start, end, text or textId; eventType, globalTid; in newer
//                                 versions NVTX_EVENTS_V2, NVTX_EVENTS_V3
//   TARGET_INFO_SYSTEM_ENV        name, value: 'Hostname'
//   TARGET_INFO_SESSION_START_TIME  utcEpochNs: realtime of the recording's time 0

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/collective_name.h"
#include "core/trace/repetition.h"
#include "core/trace/trace_builder.h"
#include "store/sqlite/connection.h"
#include "store/trace_file.h"

namespace hocket {
namespace {

using sqlite::Connection;
using sqlite::Query;

constexpr char kKernels[] = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr char kCopies[] = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr char kFills[] = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr char kCalls[] = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr char kGraphs[] = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
/// All tables of ranges begin so; newer versions put a number behind it.
constexpr std::string_view kRanges = "NVTX_EVENTS";

/// Event types of a thread's ranges, and of ranges between any two points (NvtxPushPopRange,
/// NvtxStartEndRange).
constexpr std::int64_t kPushPopRange = 59, kStartEndRange = 60;

/// The lower 24 bits of a globalTid are the thread; a globalPid has zeros there.
constexpr int kThreadBits = 24;

/// Returns Nsight's name for CUPTI's copy kind.
std::string copy_name(std::optional<std::int64_t> kind) {
  static const std::map<std::int64_t, std::string> names{{1, "Host-to-Device"},
                                                         {2, "Device-to-Host"},
                                                         {8, "Device-to-Device"},
                                                         {9, "Host-to-Host"},
                                                         {10, "Peer-to-Peer"}};
  const auto found = kind ? names.find(*kind) : names.end();
  return found == names.end() ? "[CUDA memcpy]" : "[CUDA memcpy " + found->second + "]";
}

/// One process of the export.
struct Process {
  TraceBuilder builder;
  std::int64_t quarantined = 0;
  std::int64_t graph_launches = 0;
  double graphs_ns = 0;
  std::map<std::string, std::int32_t> streams;              ///< numbers by device and stream
  std::unordered_map<std::int64_t, std::int64_t> launches;  ///< begin by correlation
  bool has_device = false;
};

class NsightExport {
 public:
  NsightExport(Connection db, std::string path) : db_(std::move(db)), path_(std::move(path)) {}

  Result<std::vector<RankTrace>> read(std::string_view step_range, NsightFindings& findings) {
    HOCKET_TRY(find_tables());
    if (!has(kKernels) && !has(kCopies) && !has(kFills) && !has(kCalls) && !has(kGraphs) &&
        range_tables().empty()) {
      return failure(ErrorCode::invalid_argument,
                     path_ + " is no export of Nsight Systems: it has none of its tables (" +
                         kKernels + ", " + std::string(kRanges) +
                         ", …); make one with nsys export --type sqlite");
    }
    // Reads launches first, since kernels look them up.
    for (const auto step :
         {&NsightExport::read_strings, &NsightExport::read_calls, &NsightExport::read_ranges,
          &NsightExport::read_kernels, &NsightExport::read_graphs, &NsightExport::read_copies,
          &NsightExport::read_fills}) {
      HOCKET_TRY((this->*step)());
    }
    HOCKET_TRY(find_unread(findings));
    return finish(step_range, findings);
  }

 private:
  using Columns = std::set<std::string, std::less<>>;

  bool has(std::string_view table) const { return tables_.contains(table); }

  Result<void> find_tables() {
    auto rows = db_.query(
        "SELECT m.name, i.name FROM sqlite_master AS m, pragma_table_info(m.name) "
        "AS i WHERE m.type IN ('table', 'view')");
    HOCKET_TRY(rows);
    for (;;) {
      const auto row = rows->next();
      HOCKET_TRY(row);
      if (!*row) return {};
      tables_[rows->text(0)].insert(rows->text(1));
    }
  }

  std::vector<std::string> range_tables() const {
    std::vector<std::string> found;
    for (const auto& [table, columns] : tables_) {
      std::string_view version = table;
      if (!version.starts_with(kRanges)) continue;
      version.remove_prefix(kRanges.size());
      const bool has_number = version.starts_with("_V") && version.size() > 2 &&
                              version.find_first_not_of("0123456789", 2) == version.npos;
      if (version.empty() || has_number) found.push_back(table);
    }
    return found;
  }

  /// Finds tables of events that nothing here reads. Those that describe values, the machine or the
  /// export are none.
  Result<void> find_unread(NsightFindings& findings) {
    static const std::set<std::string_view> kKnown{
        kKernels, kCopies, kFills, kCalls, kGraphs, "StringIds", "PROCESSES", "ThreadNames"};
    const std::vector<std::string> ranges = range_tables();
    for (const auto& [table, columns] : tables_) {
      const auto describes = [&name = table](std::string_view prefix) {
        return name.starts_with(prefix);
      };
      if (kKnown.contains(table) || std::ranges::find(ranges, table) != ranges.end()) continue;
      if (describes("ENUM_") || describes("TARGET_INFO_") || describes("META_DATA_") ||
          describes("EXPORT_META_DATA") || describes("sqlite_") || describes("ANALYSIS_"))
        continue;
      bool has_rows = false;
      HOCKET_TRY(each(
          quoted_table(table).c_str(), {"1"}, [&](const Query&) { has_rows = true; }, " LIMIT 1"));
      if (has_rows) findings.unread_tables.push_back(table);
    }
    return {};
  }

  static std::string quoted_table(std::string_view table) {
    std::string text = "\"";
    for (const char c : table) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + "\"";
  }

  Result<void> require(const char* table, std::initializer_list<const char*> columns) const {
    std::string missing;
    for (const char* column : columns) {
      if (!tables_.at(table).contains(column)) {
        missing.append(missing.empty() ? "" : ", ").append(column);
      }
    }
    if (missing.empty()) return {};
    return failure(ErrorCode::invalid_argument,
                   path_ + ": table " + table + " lacks the column " + missing +
                       "; this version of Nsight Systems' export is not known");
  }

  /// Returns the column of `table`, or NULL if this version lacks it.
  std::string column(const char* table, const char* name) const {
    return tables_.at(table).contains(name) ? "\"" + std::string(name) + "\"" : "NULL";
  }

  /// Returns an expression for the first of several columns that has a value.
  std::string first_of(const char* table, std::initializer_list<const char*> names) const {
    std::string text = "COALESCE(NULL";
    for (const char* name : names) text += ", " + column(table, name);
    return text + ", NULL)";
  }

  /// Calls `take` for each row, with the columns `selected`.
  template <class Take>
  Result<void> each(const char* table, const std::vector<std::string>& selected, const Take& take,
                    std::string_view end = {}) {
    std::string& sql = statements_.emplace_back("SELECT ");
    for (std::size_t i = 0; i < selected.size(); ++i) sql += (i == 0 ? "" : ", ") + selected[i];
    sql.append(" FROM ").append(table).append(end);
    auto rows = db_.query(sql);
    HOCKET_TRY(rows);
    for (;;) {
      const auto row = rows->next();
      HOCKET_TRY(row);
      if (!*row) return {};
      take(*rows);
    }
  }

  Result<void> read_strings() {
    if (!has("StringIds")) return {};
    const auto columns = require("StringIds", {"id", "value"});
    if (!columns) return columns;
    return each("StringIds", {"id", "value"},
                [&](const Query& row) { strings_[row.integer(0)] = row.text(1); });
  }

  std::string_view string(std::optional<std::int64_t> id) const {
    const auto found = id ? strings_.find(*id) : strings_.end();
    return found == strings_.end() ? std::string_view("?") : std::string_view(found->second);
  }

  Process& process_of(std::optional<std::int64_t> global_id) {
    auto& process = processes_[global_id.value_or(0) >> kThreadBits];
    if (!process) process = std::make_unique<Process>();
    return *process;
  }

  /// Returns whether the row has a begin and an end; counts it as quarantined otherwise, since it
  /// had not ended when the recording did.
  static bool has_times(Process& process, const Query& row) {
    const bool has = !row.is_null(0) && !row.is_null(1);
    if (!has) ++process.quarantined;
    return has;
  }

  Result<void> read_calls() {
    if (!has(kCalls)) return {};
    const auto columns = require(kCalls, {"start", "end"});
    if (!columns) return columns;
    const std::vector<std::string> selected{"\"start\"", "\"end\"", column(kCalls, "nameId"),
                                            column(kCalls, "correlationId"),
                                            column(kCalls, "globalTid")};
    return each(kCalls, selected, [&](const Query& row) {
      Process& process = process_of(row.optional_integer(4));
      if (!has_times(process, row)) return;
      TraceRecord record;
      record.kind = TraceKind::call;
      record.name = process.builder.names().number(string(row.optional_integer(2)));
      record.begin_ns = row.integer(0);
      record.end_ns = row.integer(1);
      record.lane = process.builder.lane(record.kind, "thread " + row.text(4));
      const std::int64_t correlation = row.integer(3);
      if (correlation != 0) process.launches.try_emplace(correlation, record.begin_ns);
      process.builder.add(record);
    });
  }

  Result<void> read_ranges() {
    for (const std::string& table : range_tables()) HOCKET_TRY(read_ranges(table.c_str()));
    return {};
  }

  Result<void> read_ranges(const char* table) {
    const auto columns = require(table, {"start", "end"});
    if (!columns) return columns;
    const std::vector<std::string> selected{"\"start\"",
                                            "\"end\"",
                                            column(table, "text"),
                                            column(table, "textId"),
                                            column(table, "eventType"),
                                            column(table, "globalTid")};
    return each(table, selected, [&](const Query& row) {
      const auto type = row.optional_integer(4);
      if (type && *type != kPushPopRange && *type != kStartEndRange) return;
      // Without types, a row without an end is a mark.
      if (!type && row.is_null(1)) return;
      Process& process = process_of(row.optional_integer(5));
      if (!has_times(process, row)) return;
      TraceRecord record;
      record.kind = TraceKind::range;
      const std::string text = row.text(2);
      record.name = process.builder.names().number(row.is_null(2) ? string(row.optional_integer(3))
                                                                  : std::string_view(text));
      record.begin_ns = row.integer(0);
      record.end_ns = row.integer(1);
      record.lane = process.builder.lane(record.kind, "thread " + row.text(5));
      process.builder.add(record);
    });
  }

  /// Returns the columns of all device activities, followed by the table's own, `last`.
  std::vector<std::string> device_columns(const char* table, std::vector<std::string> last) const {
    std::vector<std::string> selected{"\"start\"",
                                      "\"end\"",
                                      column(table, "deviceId"),
                                      "\"streamId\"",
                                      column(table, "correlationId"),
                                      column(table, "globalPid")};
    selected.insert(selected.end(), last.begin(), last.end());
    return selected;
  }

  /// Adds a row of device_columns() as a record; the caller sets its kind and name.
  void add_device_record(const Query& row, TraceRecord record, std::string_view name) {
    Process& process = process_of(row.optional_integer(5));
    process.has_device = true;
    const auto launch = process.launches.find(row.integer(4));
    // A version without globalPid has one process.
    const std::int64_t submitted_ns =
        launch == process.launches.end() ? 0 : std::max<std::int64_t>(launch->second, 0);
    if (!has_times(process, row)) return process.builder.add_lost(submitted_ns);
    record.submitted_ns = submitted_ns;
    record.begin_ns = row.integer(0);
    record.end_ns = row.integer(1);
    record.name = process.builder.names().number(name);
    const std::string stream = row.text(2) + " stream " + row.text(3);
    record.lane = process.builder.lane(record.kind, stream);
    const auto next = static_cast<std::int32_t>(process.streams.size());
    process.builder.add_device_work(record,
                                    process.streams.try_emplace(stream, next).first->second);
  }

  Result<void> read_kernels() {
    if (!has(kKernels)) return {};
    const auto columns = require(kKernels, {"start", "end", "streamId"});
    if (!columns) return columns;
    const auto selected = device_columns(
        kKernels, {first_of(kKernels, {"demangledName", "shortName", "mangledName"})});
    return each(kKernels, selected, [&](const Query& row) {
      const std::string_view name = string(row.optional_integer(6));
      TraceRecord record;
      const auto communication = communication_name(name);
      if (communication && communication->source == CommunicationSource::kernel) {
        record.kind = TraceKind::communication;
        record.collective = communication->collective;
      }
      add_device_record(row, record, name);
    });
  }

  Result<void> read_graphs() {
    if (!has(kGraphs)) return {};
    const auto columns = require(kGraphs, {"start", "end", "streamId"});
    if (!columns) return columns;
    return each(
        kGraphs, device_columns(kGraphs, {column(kGraphs, "graphId")}), [&](const Query& row) {
          add_device_record(row, {}, "[CUDA graph " + row.text(6) + "]");
          if (row.is_null(0) || row.is_null(1)) return;
          Process& process = process_of(row.optional_integer(5));
          ++process.graph_launches;
          process.graphs_ns += std::max(
              static_cast<double>(row.integer(1)) - static_cast<double>(row.integer(0)), 0.0);
        });
  }

  Result<void> read_copies() {
    if (!has(kCopies)) return {};
    const auto columns = require(kCopies, {"start", "end", "streamId"});
    if (!columns) return columns;
    const auto selected =
        device_columns(kCopies, {column(kCopies, "bytes"), column(kCopies, "copyKind")});
    return each(kCopies, selected, [&](const Query& row) {
      TraceRecord record;
      record.kind = TraceKind::copy;
      record.bytes = row.integer(6);
      add_device_record(row, record, copy_name(row.optional_integer(7)));
    });
  }

  Result<void> read_fills() {
    if (!has(kFills)) return {};
    const auto columns = require(kFills, {"start", "end", "streamId"});
    if (!columns) return columns;
    return each(kFills, device_columns(kFills, {column(kFills, "bytes")}), [&](const Query& row) {
      TraceRecord record;
      record.kind = TraceKind::copy;
      record.bytes = row.integer(6);
      add_device_record(row, record, "[CUDA memset]");
    });
  }

  Result<std::string> host() {
    if (!has("TARGET_INFO_SYSTEM_ENV")) return std::string();
    HOCKET_TRY(require("TARGET_INFO_SYSTEM_ENV", {"name", "value"}));
    std::string found;
    HOCKET_TRY(each("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [&](const Query& row) {
      if (row.text(0) == "Hostname") found = row.text(1);
    }));
    return found;
  }

  Result<std::vector<ClockSample>> clock_samples() {
    constexpr char kStart[] = "TARGET_INFO_SESSION_START_TIME";
    std::vector<ClockSample> samples;
    if (!has(kStart) || !tables_.at(kStart).contains("utcEpochNs")) return samples;
    HOCKET_TRY(each(kStart, {"utcEpochNs"}, [&](const Query& row) {
      if (!row.is_null(0) && samples.empty()) samples.push_back({0, row.integer(0)});
    }));
    return samples;
  }

  /// Returns the steps that the ranges in `builder` mark of the work in `process`.
  static std::vector<StepRange> marked_steps(const TraceBuilder& builder,
                                             const TraceBuilder& process, std::string_view range) {
    if (!range.empty()) return named_steps(builder.records(), builder.names(), range);
    // PyTorch marks its steps so, also for NVTX.
    auto steps = named_steps(builder.records(), builder.names(), "ProfilerStep#");
    if (steps.size() < 2)
      steps = repeated_steps(builder.records(), builder.names(), process.records());
    return steps;
  }

  Result<std::vector<RankTrace>> finish(std::string_view step_range, NsightFindings& findings) {
    const auto name = host();
    HOCKET_TRY(name);
    const auto samples = clock_samples();
    HOCKET_TRY(samples);
    const auto devices = std::count_if(processes_.begin(), processes_.end(),
                                       [](const auto& p) { return p.second->has_device; });
    std::vector<RankTrace> traces;
    double graphs_ns = 0, work_ns = 0;
    for (auto& [id, process] : processes_) {
      // Skips processes without device activity, such as launchers, if others have some.
      if (devices > 0 && !process->has_device) continue;
      RankTrace trace;
      trace.rank = static_cast<std::int64_t>(traces.size());
      trace.host = *name;
      trace.source = "nsight";
      trace.clock_samples = *samples;
      trace.quarantined = process->quarantined;
      const TraceBuilder& builder = process->builder;
      findings.impossible.add(process->builder.correct());
      auto steps = marked_steps(builder, builder, step_range);
      // A version without the threads of ranges does not say whose they are.
      const auto nobody = processes_.find(0);
      if (steps.empty() && nobody != processes_.end() && devices == 1)
        steps = marked_steps(nobody->second->builder, builder, step_range);
      if (steps.empty() && step_range.empty()) steps = repeated_work(builder.records());
      findings.incomplete_steps += process->builder.finish(trace, std::move(steps));
      findings.graph_launches += process->graph_launches;
      graphs_ns += process->graphs_ns;
      for (const TraceRecord& record : trace.records)
        if (is_activity(record)) work_ns += static_cast<double>(record.end_ns - record.begin_ns);
      traces.push_back(std::move(trace));
    }
    findings.graph_share = work_ns > 0 ? std::min(graphs_ns / work_ns, 1.0) : 0;
    if (traces.empty()) traces.emplace_back().source = "nsight";
    for (RankTrace& trace : traces) trace.ranks = static_cast<std::int64_t>(traces.size());
    return traces;
  }

  std::deque<std::string> statements_;  ///< statement texts, which db_ uses until it closes
  Connection db_;
  std::string path_;
  std::map<std::string, Columns, std::less<>> tables_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::map<std::int64_t, std::unique_ptr<Process>> processes_;
};

}  // namespace

Result<std::vector<RankTrace>> read_nsight_export(const std::string& path,
                                                  std::string_view step_range,
                                                  NsightFindings* findings) {
  constexpr sqlite::Subject kSubject{"Nsight export",
                                     "export it again with nsys export --type sqlite",
                                     ErrorCode::invalid_argument};
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error || !std::filesystem::exists(absolute, error)) {
    return failure(ErrorCode::not_found, "there is no file " + path);
  }
  if (!std::filesystem::is_regular_file(absolute, error)) {
    return failure(ErrorCode::invalid_argument, path + " is not a file");
  }
  auto db = Connection::open(absolute.string(), Connection::Mode::immutable, 0, kSubject);
  HOCKET_TRY(db);
  db->bound_memory();
  NsightFindings unused;
  return NsightExport(std::move(*db), path)
      .read(step_range, findings == nullptr ? unused : *findings);
}

}  // namespace hocket
