// Reads the tables of an SQLite export of Nsight Systems ("SQLite Schema Reference" in its User
// Guide). Versions differ in their columns; missing columns are read as NULL:
//
//   StringIds                     id, value
//   CUPTI_ACTIVITY_KIND_KERNEL    start, end, streamId, a name; deviceId, correlationId, globalPid
//   CUPTI_ACTIVITY_KIND_MEMCPY    start, end, streamId; bytes, copyKind, and as above
//   CUPTI_ACTIVITY_KIND_MEMSET    start, end, streamId; bytes, and as above
//   CUPTI_ACTIVITY_KIND_RUNTIME   start, end; nameId, correlationId, globalTid
//   NVTX_EVENTS                   start, end, text or textId; eventType, globalTid
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
constexpr char kRanges[] = "NVTX_EVENTS";

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
  std::unordered_map<std::int64_t, std::int64_t> launches;  ///< begin by correlation
  bool has_device = false;
};

class NsightExport {
 public:
  NsightExport(Connection db, std::string path) : db_(std::move(db)), path_(std::move(path)) {}

  Result<std::vector<RankTrace>> read(std::string_view step_range) {
    HOCKET_TRY(find_tables());
    if (!has(kKernels) && !has(kCopies) && !has(kFills) && !has(kCalls) && !has(kRanges)) {
      return failure(ErrorCode::invalid_argument,
                     path_ + " is no export of Nsight Systems: it has none of its tables (" +
                         kKernels + ", " + kRanges +
                         ", …); make one with nsys export --type sqlite");
    }
    // Reads launches first, since kernels look them up.
    for (const auto step :
         {&NsightExport::read_strings, &NsightExport::read_calls, &NsightExport::read_ranges,
          &NsightExport::read_kernels, &NsightExport::read_copies, &NsightExport::read_fills}) {
      HOCKET_TRY((this->*step)());
    }
    return finish(step_range);
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
  Result<void> each(const char* table, const std::vector<std::string>& selected, const Take& take) {
    std::string& sql = statements_.emplace_back("SELECT ");
    for (std::size_t i = 0; i < selected.size(); ++i) sql += (i == 0 ? "" : ", ") + selected[i];
    sql.append(" FROM ").append(table);
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
    if (!has(kRanges)) return {};
    const auto columns = require(kRanges, {"start", "end"});
    if (!columns) return columns;
    const std::vector<std::string> selected{"\"start\"",
                                            "\"end\"",
                                            column(kRanges, "text"),
                                            column(kRanges, "textId"),
                                            column(kRanges, "eventType"),
                                            column(kRanges, "globalTid")};
    return each(kRanges, selected, [&](const Query& row) {
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
    if (!has_times(process, row)) return;
    record.begin_ns = row.integer(0);
    record.end_ns = row.integer(1);
    record.name = process.builder.names().number(name);
    record.lane = process.builder.lane(record.kind, row.text(2) + " stream " + row.text(3));
    // A version without globalPid has one process.
    const auto launch = process.launches.find(row.integer(4));
    if (launch != process.launches.end()) {
      record.submitted_ns = std::max<std::int64_t>(launch->second, 0);
    }
    process.builder.add(record);
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

  static std::vector<StepRange> marked_steps(const TraceBuilder& builder, std::string_view range) {
    if (!range.empty()) return named_steps(builder.records(), builder.names(), range);
    // PyTorch marks its steps so, also for NVTX.
    auto steps = named_steps(builder.records(), builder.names(), "ProfilerStep#");
    if (steps.size() < 2) steps = repeated_steps(builder.records(), builder.names());
    return steps;
  }

  Result<std::vector<RankTrace>> finish(std::string_view step_range) {
    const auto name = host();
    HOCKET_TRY(name);
    const auto samples = clock_samples();
    HOCKET_TRY(samples);
    const auto devices = std::count_if(processes_.begin(), processes_.end(),
                                       [](const auto& p) { return p.second->has_device; });
    std::vector<RankTrace> traces;
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
      auto steps = marked_steps(builder, step_range);
      // A version without the threads of ranges does not say whose they are.
      const auto nobody = processes_.find(0);
      if (steps.empty() && nobody != processes_.end() && devices == 1)
        steps = marked_steps(nobody->second->builder, step_range);
      if (steps.empty() && step_range.empty()) steps = repeated_work(builder.records());
      process->builder.finish(trace, std::move(steps));
      traces.push_back(std::move(trace));
    }
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
                                                  std::string_view step_range) {
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
  return NsightExport(std::move(*db), path).read(step_range);
}

}  // namespace hocket
