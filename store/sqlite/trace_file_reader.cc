// Reads windows of a trace file from its blocks. Everything but the records is read when the file
// is opened.
//
// SQLite refuses a file whose end is missing after an incomplete copy. With PRAGMA writable_schema
// it reads the existing pages, which leaves the rows before the first missing page.

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "core/files/file_stream.h"
#include "core/files/regular_file.h"
#include "store/sqlite/record_block.h"
#include "store/sqlite/trace_schema.h"
#include "store/trace_file.h"

namespace hocket {
namespace sqlite {
namespace {

namespace fs = std::filesystem;

/// Nsight's placeholder for an unknown name.
constexpr char kUnknownName[] = "[Unknown]";

struct Block {
  std::int64_t id = 0, begin_ns = 0, end_ns = 0, records = 0;
};

/// Returns whether the interval from `begin_ns` to `end_ns` overlaps the window; an empty interval
/// inside it does.
bool overlaps(std::int64_t begin_ns, std::int64_t end_ns, const TraceWindow& window) {
  return begin_ns < window.end_ns && (end_ns > window.begin_ns || begin_ns >= window.begin_ns);
}

class TraceReader final : public TraceFileReader {
 public:
  /// `is_cut` says that pages at the file's end are missing.
  TraceReader(Connection db, bool is_cut) : db_(std::move(db)), is_cut_(is_cut) {}

  /// Reads everything but the records. Call it once, before all other functions.
  Result<void> load();

  Result<TraceFileSummary> summary() override { return summary_; }
  Result<std::vector<StepStart>> step_starts() override { return head_.step_starts; }
  Result<RankTrace> read(const TraceWindow& window) override;

 private:
  Result<void> check_tables();
  Result<void> load_head();
  Result<void> load_names();
  Result<void> load_groups();
  Result<void> load_blocks();
  /// Calls `row` for each row of `sql`; in a cut-off file, for the rows before the first missing
  /// page.
  template <class Row>
  Result<void> each_row(std::string_view sql, Row&& row);
  /// Appends the block's records that overlap the window.
  Result<void> read_block(const Block& block, const TraceWindow& window,
                          std::vector<TraceRecord>& records);
  /// Fills in the names that `trace`'s records use, in the order of their use, and checks their
  /// groups.
  Result<void> resolve_names(RankTrace& trace);

  Error damaged(const std::string& why) const { return damaged_trace(db_.path(), why); }

  Connection db_;
  bool is_cut_;
  RankTrace head_;  // without names and records
  std::vector<std::string> names_;
  std::vector<Block> blocks_;  // in the order of writing
  TraceFileSummary summary_;
};

template <class Row>
Result<void> TraceReader::each_row(std::string_view sql, Row&& row) {
  auto query = db_.query(sql);
  if (!query) return is_cut_ ? Result<void>() : failure(query.error());
  for (;;) {
    const auto more = query->next();
    if (!more) return is_cut_ ? Result<void>() : failure(more.error());
    if (!*more) return {};
    if (!row(*query)) return {};
  }
}

/// Refuses views in place of tables, which can have any number of rows.
Result<void> TraceReader::check_tables() {
  const auto views = db_.integer(
      "SELECT count(*) FROM sqlite_schema WHERE rootpage = 0 AND type IN ('table', 'view') AND "
      "(name GLOB 'HOCKET_*' OR name IN ('META_DATA_CAPTURE', 'StringIds'))");
  if (!views) return is_cut_ ? Result<void>() : failure(views.error());
  if (views->value_or(0) == 0) return {};
  return failure(damaged("it has a view in place of a table"));
}

Result<void> TraceReader::load_head() {
  std::vector<std::pair<std::string_view, std::optional<std::int64_t>>> numbers = {
      {kRankKey, {}},     {kRanksKey, {}},    {kDroppedKey, {}}, {kQuarantinedKey, {}},
      {kFinishedKey, {}}, {kShortenedKey, 0},  // files of earlier versions have none
  };
  auto ok = each_row("SELECT name, value FROM META_DATA_CAPTURE", [&](const Query& row) {
    const std::string name = row.text(0), value = row.text(1);
    if (name == kHostKey) head_.host = value;
    if (name == kSourceKey) head_.source = value;
    for (auto& [key, number] : numbers) {
      if (key != name) continue;
      std::int64_t parsed = 0;
      const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
      if (error == std::errc() && stop == value.data() + value.size()) number = parsed;
    }
    return true;
  });
  if (!ok) return ok;
  for (const auto& [key, number] : numbers) {
    if (!number) return failure(damaged(std::string(key) + " is missing in META_DATA_CAPTURE"));
  }
  head_.rank = *numbers[0].second;
  head_.ranks = *numbers[1].second;
  head_.dropped = *numbers[2].second;
  head_.quarantined = *numbers[3].second;
  summary_.is_finished = *numbers[4].second != 0 && !is_cut_;
  head_.shortened = *numbers[5].second;
  return {};
}

Result<void> TraceReader::load_names() {
  bool is_odd = false;
  auto ok = each_row("SELECT id, value FROM StringIds ORDER BY id", [&](const Query& row) {
    is_odd = row.integer(0) != static_cast<std::int64_t>(names_.size());
    if (!is_odd) names_.push_back(row.text(1));
    return !is_odd;
  });
  if (ok && is_odd && !is_cut_) return failure(damaged("a name is missing in StringIds"));
  return ok;
}

Result<void> TraceReader::load_groups() {
  const auto version = db_.integer("PRAGMA user_version");
  HOCKET_TRY(version);
  if (*version == kTraceVersionWithoutGroups) return {};
  bool is_odd = false;
  auto ok =
      each_row("SELECT id, name, ranks FROM HOCKET_GROUPS ORDER BY id", [&](const Query& row) {
        is_odd = row.integer(0) != std::ssize(head_.groups);
        if (is_odd) return false;
        TraceGroup& group = head_.groups.emplace_back(TraceGroup{row.text(1), {}});
        const auto ranks = nlohmann::json::parse(row.text(2), nullptr, false);
        is_odd = !ranks.is_array();
        for (const auto& rank : ranks) {
          is_odd = is_odd || !rank.is_number_integer();
          if (!is_odd) group.ranks.push_back(rank.get<std::int64_t>());
        }
        return !is_odd;
      });
  if (ok && is_odd && !is_cut_) return failure(damaged("a group in HOCKET_GROUPS is none"));
  return ok;
}

Result<void> TraceReader::load_blocks() {
  std::optional<std::string> odd;
  auto ok = each_row(
      "SELECT id, start, end, records FROM HOCKET_BLOCKS ORDER BY id", [&](const Query& row) {
        const Block block{row.integer(0), row.integer(1), row.integer(2), row.integer(3)};
        if (block.records < 1 || block.records > kMostRecordsInBlock ||
            block.end_ns < block.begin_ns) {
          odd = "block " + std::to_string(block.id) + " is none";
          return false;
        }
        blocks_.push_back(block);
        return true;
      });
  if (!ok) return ok;
  if (odd && !is_cut_) return failure(damaged(*odd));
  if (is_cut_) {
    // A row may exist while the rest of its bytes are missing.
    std::vector<TraceRecord> records;
    const auto is_whole = [&](const Block& block) {
      records.clear();
      return read_block(block, {}, records).has_value();
    };
    blocks_.erase(std::ranges::find_if_not(blocks_, is_whole), blocks_.end());
  }
  for (const Block& block : blocks_) {
    const bool is_first = summary_.records == 0;
    summary_.begin_ns = is_first ? block.begin_ns : std::min(summary_.begin_ns, block.begin_ns);
    summary_.end_ns = is_first ? block.end_ns : std::max(summary_.end_ns, block.end_ns);
    summary_.records += block.records;
  }
  return {};
}

Result<void> TraceReader::load() {
  // Reads one state of the file, even if a process still writes it.
  const auto transaction = Transaction::begin(db_, Transaction::Kind::read);
  HOCKET_TRY(transaction);
  HOCKET_TRY(check_tables());
  if (auto ok = load_head(); !ok) return ok;
  if (auto ok = load_names(); !ok) return ok;
  if (auto ok = load_groups(); !ok) return ok;
  if (auto ok = load_blocks(); !ok) return ok;
  auto ok = each_row("SELECT step, start FROM HOCKET_STEPS ORDER BY rowid", [&](const Query& row) {
    head_.step_starts.push_back({row.integer(0), row.integer(1)});
    return true;
  });
  if (!ok) return ok;
  return each_row("SELECT clock, realtime FROM HOCKET_CLOCK_SAMPLES ORDER BY rowid",
                  [&](const Query& row) {
                    head_.clock_samples.push_back({row.integer(0), row.integer(1)});
                    return true;
                  });
}

Result<void> TraceReader::read_block(const Block& block, const TraceWindow& window,
                                     std::vector<TraceRecord>& records) {
  auto query = db_.query("SELECT data FROM HOCKET_BLOCKS WHERE id = ?1", block.id);
  HOCKET_TRY(query);
  const auto row = query->next();
  HOCKET_TRY(row);
  if (!*row) return failure(damaged("block " + std::to_string(block.id) + " has gone"));
  const std::size_t before = records.size();
  if (auto ok = unpack_records(query->bytes(0), block.records, records); !ok) {
    return failure(damaged("block " + std::to_string(block.id) + ": " + ok.error().message));
  }
  if (block.begin_ns >= window.begin_ns && block.end_ns < window.end_ns) return {};
  const auto outside = [&](const TraceRecord& record) {
    return !overlaps(record.begin_ns, record.end_ns, window);
  };
  const auto first = records.begin() + static_cast<std::ptrdiff_t>(before);
  records.erase(std::remove_if(first, records.end(), outside), records.end());
  return {};
}

Result<void> TraceReader::resolve_names(RankTrace& trace) {
  constexpr auto kUnused = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> place(names_.size(), kUnused);
  std::uint32_t unknown = kUnused;
  const auto use = [&](std::uint32_t& index, const std::string& name) {
    if (index != kUnused) return index;
    trace.names.push_back(name);
    return index = static_cast<std::uint32_t>(trace.names.size() - 1);
  };
  for (TraceRecord& record : trace.records) {
    const bool is_known = record.name < names_.size();
    if (!is_known && !is_cut_) return failure(damaged("a record's name is missing in StringIds"));
    if (record.group >= std::ssize(trace.groups)) {
      if (!is_cut_) return failure(damaged("a record's group is missing in HOCKET_GROUPS"));
      record.group = kAllRanks;
    }
    record.name =
        is_known ? use(place[record.name], names_[record.name]) : use(unknown, kUnknownName);
  }
  return {};
}

Result<RankTrace> TraceReader::read(const TraceWindow& window) {
  RankTrace trace = head_;
  const auto transaction = Transaction::begin(db_, Transaction::Kind::read);
  HOCKET_TRY(transaction);
  for (const Block& block : blocks_) {
    if (!overlaps(block.begin_ns, block.end_ns, window)) continue;
    HOCKET_TRY(read_block(block, window, trace.records));
  }
  // Records are unsorted only if parts were appended out of order.
  if (!std::ranges::is_sorted(trace.records, {}, &TraceRecord::begin_ns)) {
    std::ranges::stable_sort(trace.records, {}, &TraceRecord::begin_ns);
  }
  HOCKET_TRY(resolve_names(trace));
  return trace;
}

/// Opens an untrusted file: SQLite must not run code named in its schema, and must check the sizes
/// that its pages claim.
Result<Connection> open_carefully(const std::string& path, bool is_cut) {
  auto db = Connection::open(path, Connection::Mode::recover, kTraceBusyTimeoutMs, kTraceSubject);
  if (!db) return db;
  db->bound_memory();
  auto ok = db->execute_script(
      "PRAGMA trusted_schema = OFF;"
      "PRAGMA cell_size_check = ON;"
      "PRAGMA query_only = ON;");
  if (ok && is_cut) ok = db->execute_script("PRAGMA writable_schema = ON");
  HOCKET_TRY(ok);
  return db;
}

Result<TraceFileKind> kind_of(Connection& db) {
  const auto application = db.integer("PRAGMA application_id");
  HOCKET_TRY(application);
  const auto version = db.integer("PRAGMA user_version");
  HOCKET_TRY(version);
  if (*application == kTraceApplicationId) {
    if (*version == kTraceVersion || *version == kTraceVersionWithoutGroups)
      return TraceFileKind::hocket;
    return failure(ErrorCode::invalid_argument,
                   "trace file " + db.path() + " has version " +
                       std::to_string(version->value_or(0)) + ", this hocket knows versions 1 to " +
                       std::to_string(kTraceVersion) + "; use the hocket that wrote it");
  }
  const auto tables = db.integer(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN "
      "('CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY', "
      "'CUPTI_ACTIVITY_KIND_RUNTIME', 'NVTX_EVENTS')");
  HOCKET_TRY(tables);
  if (tables->value_or(0) > 0) return TraceFileKind::nsight;
  return failure(no_trace(db.path(), "it has none of the tables of one"));
}

/// Returns a reader of the file at `path`, which is absolute.
Result<std::unique_ptr<TraceFileReader>> open_reader(const std::string& path, bool is_cut) {
  auto db = open_carefully(path, is_cut);
  HOCKET_TRY(db);
  const auto kind = kind_of(*db);
  HOCKET_TRY(kind);
  if (*kind == TraceFileKind::nsight)
    return failure(no_trace(path, "it is an export of Nsight; `hocket profiles import` takes it"));
  auto reader = std::make_unique<TraceReader>(std::move(*db), is_cut);
  HOCKET_TRY(reader->load());
  return reader;
}

/// Returns whether the file has fewer pages than its header claims
/// (https://www.sqlite.org/fileformat.html, 1.3). SQLite reports this like any other damage.
bool is_cut_off(const std::string& path) {
  auto opened = open_regular_file(path);
  if (!opened) return false;
  FileReader file(std::move(*opened));
  unsigned char head[32] = {};
  if (!file.read(reinterpret_cast<char*>(head), sizeof head)) return false;
  std::uint64_t page = head[16] * 256U + head[17];
  if (page == 1) page = 65536;
  std::uint64_t pages = 0;
  for (int i = 28; i < 32; ++i) pages = pages * 256 + head[i];
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  return !error && bytes < page * pages;
}

Result<std::string> absolute_path(const std::string& path) {
  std::error_code error;
  const std::string absolute = fs::weakly_canonical(fs::absolute(path, error), error).string();
  const auto status = fs::status(absolute, error);
  if (path.empty() || status.type() == fs::file_type::not_found) {
    return failure(ErrorCode::not_found, "there is no trace file " + absolute);
  }
  if (!fs::is_regular_file(status)) {
    return failure(no_trace(absolute, "it is not a file"));
  }
  return absolute;
}

}  // namespace
}  // namespace sqlite

Result<TraceFileKind> trace_file_kind(const std::string& path) {
  using namespace sqlite;
  const auto absolute = absolute_path(path);
  HOCKET_TRY(absolute);
  auto db = open_carefully(*absolute, false);
  auto kind = db ? kind_of(*db) : failure(db.error());
  if (!kind && kind.error().code == kTraceSubject.damaged && is_cut_off(*absolute)) {
    db = open_carefully(*absolute, true);
    kind = db ? kind_of(*db) : failure(db.error());
  }
  return kind;
}

Result<std::unique_ptr<TraceFileReader>> open_trace_file(const std::string& path) {
  using namespace sqlite;
  const auto absolute = absolute_path(path);
  HOCKET_TRY(absolute);
  auto reader = open_reader(*absolute, false);
  // Checked only after an error: a file that is being written may look cut off for a moment.
  if (!reader && reader.error().code == kTraceSubject.damaged && is_cut_off(*absolute)) {
    reader = open_reader(*absolute, true);
  }
  return reader;
}

}  // namespace hocket
