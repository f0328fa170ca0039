// Writes a trace file. Each append is one transaction. The rollback journal of a file that only
// grows stays small, and undoes what a killed process had not committed. Only finish() waits for
// the disk, so a power cut may lose an unfinished file's data.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "core/step/collective_kind.h"
#include "store/sqlite/record_block.h"
#include "store/sqlite/trace_schema.h"
#include "store/trace_file.h"

namespace hocket {
namespace sqlite {
namespace {

namespace fs = std::filesystem;

/// Nsight's values for NVTX push/pop ranges, CUDA runtime calls and unknown copies.
constexpr std::int64_t kPushPopRange = 59, kRuntimeClass = 0, kUnknownCopy = 0;

/// Returns NULL for a value that a record lacks.
std::optional<std::int64_t> unless(std::int64_t value, std::int64_t absent) {
  return value == absent ? std::nullopt : std::optional(value);
}

class TraceWriter final : public TraceFileWriter {
 public:
  TraceWriter(Connection db, std::int64_t rank) : db_(std::move(db)), rank_(rank) {}

  Result<void> append(const RankTrace& part) override;
  Result<void> finish() override;

 private:
  /// Totals of the committed transactions.
  struct Totals {
    std::int64_t names = 0, groups = 0, dropped = 0, quarantined = 0, shortened = 0;
  };

  Result<void> write(const RankTrace& part, Totals& totals);
  Result<void> write_records(const RankTrace& part, const std::vector<std::uint32_t>& order,
                             const std::vector<std::int64_t>& names,
                             const std::vector<std::int32_t>& groups);
  Result<void> write_row(const TraceRecord& record, std::int64_t name, const std::string& text);
  /// `record` has the file's number of its group.
  Result<void> write_kernel(const TraceRecord& record, std::int64_t name);
  Result<void> write_block(RecordPacker& packer, std::int64_t records, std::int64_t begin_ns,
                           std::int64_t end_ns);
  /// Returns the ids of the part's names; inserts new ones.
  Result<std::vector<std::int64_t>> name_ids(const RankTrace& part, Totals& totals);
  /// Returns the ids of the part's groups; inserts new ones.
  Result<std::vector<std::int32_t>> group_ids(const RankTrace& part, Totals& totals);
  Result<void> set(const char* key, std::int64_t value);

  std::optional<Connection> db_;  // empty after finish()
  std::int64_t rank_;
  Totals totals_;
  std::unordered_map<std::string, std::int64_t> names_;
  std::map<std::pair<std::string, std::string>, std::int64_t> groups_;
};

Result<void> TraceWriter::set(const char* key, std::int64_t value) {
  return db_->execute("UPDATE META_DATA_CAPTURE SET value = ?2 WHERE name = ?1", key,
                      std::to_string(value));
}

Result<std::vector<std::int64_t>> TraceWriter::name_ids(const RankTrace& part, Totals& totals) {
  std::vector<std::int64_t> ids;
  ids.reserve(part.names.size());
  for (const std::string& name : part.names) {
    const auto [known, is_new] = names_.try_emplace(name, totals.names);
    ids.push_back(known->second);
    if (!is_new) continue;
    ++totals.names;
    HOCKET_TRY(
        db_->execute("INSERT INTO StringIds (id, value) VALUES (?1, ?2)", known->second, name));
  }
  return ids;
}

Result<std::vector<std::int32_t>> TraceWriter::group_ids(const RankTrace& part, Totals& totals) {
  std::vector<std::int32_t> ids;
  for (const TraceGroup& group : part.groups) {
    const std::string ranks = nlohmann::json(group.ranks).dump();
    const auto [known, is_new] = groups_.try_emplace({group.name, ranks}, totals.groups);
    ids.push_back(static_cast<std::int32_t>(known->second));
    if (!is_new) continue;
    ++totals.groups;
    HOCKET_TRY(db_->execute("INSERT INTO HOCKET_GROUPS (id, name, ranks) VALUES (?1, ?2, ?3)",
                            known->second, group.name, ranks));
  }
  return ids;
}

Result<void> TraceWriter::write_kernel(const TraceRecord& record, std::int64_t name) {
  const bool is_communication = record.kind == TraceKind::communication;
  const std::int64_t stream = record.lane + (is_communication ? kFirstChannelStream : 0);
  std::optional<std::string_view> collective;
  if (record.collective) collective = to_string(*record.collective);
  return db_->execute(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, globalPid, "
      "demangledName, shortName, hocketKind, hocketCollective, hocketStep, hocketTask, "
      "hocketBytes, hocketSequence, hocketSubmitted, hocketReady, hocketGroup) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
      record.begin_ns, record.end_ns, rank_, stream, rank_ << kThreadBits, name,
      std::string_view(is_communication ? "communication" : "compute"), collective,
      unless(record.step, kNoStep), unless(record.task, kNoTask), unless(record.bytes, 0),
      unless(record.sequence, kNoSequence), unless(record.submitted_ns, 0),
      unless(record.ready_ns, 0), unless(record.group, kAllRanks));
}

Result<void> TraceWriter::write_row(const TraceRecord& record, std::int64_t name,
                                    const std::string& text) {
  const std::int64_t thread = (rank_ << kThreadBits) + record.lane;
  const auto step = unless(record.step, kNoStep), task = unless(record.task, kNoTask);
  switch (record.kind) {
    case TraceKind::compute:
    case TraceKind::communication:
      return write_kernel(record, name);
    case TraceKind::copy:
      return db_->execute(
          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, globalPid, "
          "bytes, copyKind, hocketName, hocketStep, hocketTask, hocketSequence, hocketSubmitted, "
          "hocketReady) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
          record.begin_ns, record.end_ns, rank_, std::int64_t{record.lane}, rank_ << kThreadBits,
          record.bytes, kUnknownCopy, name, step, task, unless(record.sequence, kNoSequence),
          unless(record.submitted_ns, 0), unless(record.ready_ns, 0));
    case TraceKind::range:
      // Stored as text, since many queries look for range names only there.
      return db_->execute(
          "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, hocketStep, "
          "hocketTask) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
          record.begin_ns, record.end_ns, kPushPopRange, text, thread, step, task);
    case TraceKind::call:
      return db_->execute(
          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, nameId, "
          "hocketStep, hocketTask) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
          record.begin_ns, record.end_ns, kRuntimeClass, thread, name, step, task);
  }
  return failure(ErrorCode::invalid_argument, "a record has an unknown kind");
}

Result<void> TraceWriter::write_block(RecordPacker& packer, std::int64_t records,
                                      std::int64_t begin_ns, std::int64_t end_ns) {
  const std::string data = packer.take();
  return db_->execute(
      "INSERT INTO HOCKET_BLOCKS (start, end, records, data) VALUES (?1, ?2, ?3, ?4)", begin_ns,
      end_ns, records, Bytes{data});
}

Result<void> TraceWriter::write_records(const RankTrace& part,
                                        const std::vector<std::uint32_t>& order,
                                        const std::vector<std::int64_t>& names,
                                        const std::vector<std::int32_t>& groups) {
  RecordPacker packer;
  std::int64_t in_block = 0, begin_ns = 0, end_ns = 0;
  for (const std::uint32_t i : order) {
    TraceRecord record = part.records[i];
    const std::int64_t name = names[record.name];
    if (record.group != kAllRanks) record.group = groups[static_cast<std::size_t>(record.group)];
    if (auto ok = write_row(record, name, part.names[record.name]); !ok) return ok;
    packer.add(record, static_cast<std::uint32_t>(name), record.group);
    if (in_block == 0) begin_ns = end_ns = record.begin_ns;
    end_ns = std::max(end_ns, record.end_ns);
    if (++in_block < kRecordsPerBlock) continue;
    if (auto ok = write_block(packer, in_block, begin_ns, end_ns); !ok) return ok;
    in_block = 0;
  }
  return in_block == 0 ? Result<void>() : write_block(packer, in_block, begin_ns, end_ns);
}

/// Returns the indices of the plausible records, by begin_ns.
std::vector<std::uint32_t> order_of(const RankTrace& part) {
  std::vector<std::uint32_t> order;
  order.reserve(part.records.size());
  for (std::size_t i = 0; i < part.records.size(); ++i) {
    const TraceRecord& record = part.records[i];
    if (is_plausible(record) && record.name < part.names.size() &&
        record.group < std::ssize(part.groups)) {
      order.push_back(static_cast<std::uint32_t>(i));
    }
  }
  const auto begin_ns = [&](std::uint32_t i) { return part.records[i].begin_ns; };
  if (!std::ranges::is_sorted(order, {}, begin_ns)) std::ranges::stable_sort(order, {}, begin_ns);
  return order;
}

Result<void> TraceWriter::write(const RankTrace& part, Totals& totals) {
  auto transaction = Transaction::begin(*db_, Transaction::Kind::write);
  HOCKET_TRY(transaction);
  const auto names = name_ids(part, totals);
  HOCKET_TRY(names);
  const auto groups = group_ids(part, totals);
  HOCKET_TRY(groups);
  const std::vector<std::uint32_t> order = order_of(part);
  if (auto ok = write_records(part, order, *names, *groups); !ok) return ok;
  for (const StepStart& step : part.step_starts) {
    auto ok = db_->execute("INSERT INTO HOCKET_STEPS (step, start) VALUES (?1, ?2)", step.step,
                           step.begin_ns);
    if (!ok) return ok;
  }
  for (const ClockSample& sample : part.clock_samples) {
    auto ok = db_->execute("INSERT INTO HOCKET_CLOCK_SAMPLES (clock, realtime) VALUES (?1, ?2)",
                           sample.clock_ns, sample.realtime_ns);
    if (!ok) return ok;
  }
  const auto left_out = static_cast<std::int64_t>(part.records.size() - order.size());
  totals.dropped += part.dropped;
  totals.quarantined += part.quarantined + left_out;
  totals.shortened += part.shortened;
  if (auto ok = set(kDroppedKey, totals.dropped); !ok) return ok;
  if (auto ok = set(kQuarantinedKey, totals.quarantined); !ok) return ok;
  if (auto ok = set(kShortenedKey, totals.shortened); !ok) return ok;
  return transaction->commit();
}

Result<void> TraceWriter::append(const RankTrace& part) {
  if (!db_) {
    return failure(ErrorCode::invalid_argument, "a finished trace file takes no more records");
  }
  Totals totals = totals_;
  auto ok = write(part, totals);
  if (ok) {
    totals_ = totals;
  } else {
    // The rollback also removed the new names and groups.
    std::erase_if(names_, [&](const auto& entry) { return entry.second >= totals_.names; });
    std::erase_if(groups_, [&](const auto& entry) { return entry.second >= totals_.groups; });
  }
  return ok;
}

Result<void> TraceWriter::finish() {
  if (!db_) return {};
  // The commit waits until everything written so far is on the disk.
  if (auto ok = db_->execute_script("PRAGMA synchronous = FULL"); !ok) return ok;
  if (auto ok = set(kFinishedKey, 1); !ok) return ok;
  db_.reset();
  return {};
}

/// Creates an empty file that those can read and write who can do so in its folder, as far as the
/// umask lets; SQLite gives its own files the same mode. Fails if one exists.
Result<void> create_file(const std::string& path) {
  struct stat folder = {};
  ::stat(fs::path(path).parent_path().c_str(), &folder);  // a missing one fails below
  const mode_t mode = (folder.st_mode & 0666) | 0600;
  const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
  if (file < 0) {
    return failure(ErrorCode::unavailable,
                   "trace file " + path + " cannot be created: " + std::strerror(errno));
  }
  close(file);
  return {};
}

Result<Connection> create_database(const std::string& path, const RankTrace& head) {
  auto db = Connection::open(path, Connection::Mode::create, kTraceBusyTimeoutMs, kTraceSubject);
  if (!db) return db;
  HOCKET_TRY(
      db->execute_script("PRAGMA page_size = 8192;"
                         "PRAGMA journal_mode = DELETE;"
                         "PRAGMA synchronous = OFF;"
                         "PRAGMA cache_size = -16384;"));
  HOCKET_TRY(create_trace_tables(*db, head));
  return db;
}

}  // namespace
}  // namespace sqlite

Result<std::unique_ptr<TraceFileWriter>> create_trace_file(const std::string& path,
                                                           const RankTrace& head) {
  using namespace sqlite;
  if (path.empty()) return failure(ErrorCode::invalid_argument, "the trace file's path is empty");
  if (head.rank < 0 || head.rank >= kMaxRanks) {
    return failure(ErrorCode::invalid_argument,
                   "rank " + std::to_string(head.rank) +
                       " cannot be stored in a trace file; expected 0 to " +
                       std::to_string(kMaxRanks - 1));
  }
  std::error_code error;
  const std::string absolute = fs::absolute(path, error).string();
  if (error) {
    return failure(ErrorCode::unavailable, "trace file " + path + ": " + error.message());
  }
  HOCKET_TRY(create_file(absolute));
  auto db = create_database(absolute, head);
  if (!db) {
    fs::remove(absolute, error);
    fs::remove(absolute + "-journal", error);
    return failure(db.error());
  }
  return std::make_unique<TraceWriter>(std::move(*db), head.rank);
}

}  // namespace hocket
