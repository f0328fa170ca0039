#pragma once

// The tape: every decision of one rank's plan, in order and with its time, for inspection,
// comparison and replay (core/sim/tape_replay.h). A compact binary format, docs/formats/tape.md.
// Not thread-safe; a plan calls its observer from one thread at a time.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/plan/plan_observer.h"
#include "core/step/mesh.h"
#include "core/step/task_communication.h"

namespace hocket {

/// Header of a tape.
struct TapeHeader {
  PlanOptions plan;
  std::int64_t rank = 0;
  std::int64_t ranks = 1;
  /// True when times are the simulator's, not a machine's.
  bool virtual_time = false;
  /// Name of the step or job, for people.
  std::string name;
  /// The axes of the ranks, whose names groups have (core/step/mesh.h); empty where there are none.
  std::vector<MeshAxis> axes = {};
  std::int64_t ranks_per_host = 1;

  bool operator==(const TapeHeader&) const = default;
};

/// Returns `{"format":"hocket-tape","version":5,"partition_bytes":…,…}`.
nlohmann::json to_json(const TapeHeader& header);
/// Returns `{"partition_bytes":…,"credit_bytes":…,"order":"fifo"}`, with what servers need where
/// there are some.
nlohmann::json to_json(const PlanOptions& options);
/// Parses a header. invalid_argument names the field and the allowed range.
Result<TapeHeader> tape_header_from_json(const nlohmann::json& document);

enum class TapeKind : std::uint8_t {
  submitted,      ///< a task; its number is the count of tasks submitted before it
  captured,       ///< a step with its tasks in the same record; its number counts from 0
  launched,       ///< a captured step was launched: submits all its tasks
  announced,      ///< collectives whose parts start next
  ready,          ///< a task's dependencies are all finished
  started,        ///< a compute task was handed out
  started_part,   ///< a part of a collective was handed out
  finished,       ///< a compute task is done
  finished_part,  ///< a part is done; the last one finishes the collective
  configured,     ///< the plan has new options
  finished_push,  ///< with parameter servers in place of finished_part: the server has the part
  started_pull,   ///< a part was handed out to be pulled
  finished_pull,  ///< a part is pulled
  summed,         ///< a server has the sum of a part, which may be pulled
};

/// Returns whether records of `kind` are about a part, and whether they give its offset.
constexpr bool has_offset(TapeKind kind) {
  return kind == TapeKind::started_part || kind == TapeKind::finished_push ||
         kind == TapeKind::started_pull || kind == TapeKind::summed;
}
constexpr bool is_of_part(TapeKind kind) {
  return has_offset(kind) || kind == TapeKind::finished_part || kind == TapeKind::finished_pull;
}

std::string_view to_string(TapeKind kind);
std::string_view to_string(PartOrder order);

/// A task in a record.
struct TapeTask {
  std::string name;
  std::uint32_t priority = 0;
  bool is_collective = false;
  /// Size of the collective; 0 for a compute task.
  std::int64_t bytes = 0;
  std::vector<Access> accesses;
  TaskLane lane = TaskLane::stream;
  /// For a collective or message.
  TaskCommunication communication = {};

  bool operator==(const TapeTask& other) const;
};

/// Fields that a kind does not have are 0 or empty.
struct TapeRecord {
  TapeKind kind = TapeKind::submitted;
  /// Since the beginning of the tape.
  std::int64_t time_ns = 0;
  /// Number of the task or, for captured and launched, of the captured step.
  std::uint64_t number = 0;
  /// For launched: number of the first of its tasks.
  std::uint64_t first_task = 0;
  /// Range of a part; a part that is finished or pulled has no offset.
  std::int64_t offset_bytes = 0, bytes = 0;
  /// One task for submitted, all tasks for captured.
  std::vector<TapeTask> tasks;
  /// For announced: the collectives whose parts start next.
  std::vector<std::uint64_t> collectives;
  /// For configured: the options from here on.
  PlanOptions plan;

  bool operator==(const TapeRecord&) const = default;
};

class TapeReader;

/// Returns the name of a group on the tape: "world", "tensor", "inside"; "axes 0+2" where the tape
/// does not name the axes.
std::string group_text(CollectiveGroup group, const TapeReader& tape);
/// Returns the other rank of a message; nothing where the tape does not say it.
std::optional<std::int64_t> peer_rank(const TaskCommunication& message, const TapeReader& tape);

/// Returns a line for people, without the time: kind, number, name, part. Requires that `tape` has
/// just read the record; it provides the names, which may hold any bytes.
std::string describe_record(const TapeRecord& record, const TapeReader& tape);

/// Maximum name length; the writer truncates longer names.
inline constexpr std::size_t kMaxTapeNameBytes = 4096;
/// Limit on data indices.
inline constexpr std::uint32_t kMaxTapeData = 1u << 24;
/// Maximum size of a collective, a credit window and a partition.
inline constexpr std::int64_t kMaxTapeBytes = std::int64_t{1} << 60;
/// Limit on parameter servers.
inline constexpr int kMaxTapeServers = 1 << 16;

/// Writes a tape. Must observe a plan from its first task on. Passes whole records to `output` in
/// chunks and, with the end mark, from the destructor; `output` must not throw.
class TapeWriter final : public PlanObserver {
 public:
  /// `clock` must outlive the writer; the tape's time begins now.
  TapeWriter(const TapeHeader& header, const Clock& clock,
             std::function<void(std::string_view)> output);
  ~TapeWriter() override;
  TapeWriter(const TapeWriter&) = delete;
  TapeWriter& operator=(const TapeWriter&) = delete;

  void configured(const PlanOptions& options) override;
  void submitted(const SubmittedTask& task) override;
  void launched(const CapturedStep& step, TaskId first) override;
  void announced(std::span<const std::uint64_t> collectives) override;
  void ready(TaskId task) override;
  void started(TaskId task) override;
  void started_part(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) override;
  void finished(TaskId task) override;
  void finished_part(TaskId task, std::int64_t bytes) override;
  void finished_push(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) override;
  void started_pull(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) override;
  void finished_pull(TaskId task, std::int64_t bytes) override;
  void summed(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) override;

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };

  std::uint64_t intern(std::string_view name);
  std::uint64_t capture(const CapturedStep& step);
  void begin(TapeKind kind);
  void end();
  void add_task(std::uint32_t slot);
  void add_part(TapeKind kind, TaskId task, std::int64_t offset_bytes, std::int64_t bytes);
  /// Returns the number of tasks submitted after `task`, a small number that identifies it.
  std::uint64_t back_to(TaskId task) const {
    HOCKET_CHECK(task.slot < number_of_slot_.size(), "watch a plan from its first task on");
    return tasks_ - 1 - number_of_slot_[task.slot];
  }

  const Clock& clock_;
  std::function<void(std::string_view)> output_;
  std::string buffer_, encoded_step_;
  std::int64_t last_ns_;
  std::uint64_t tasks_ = 0;
  std::vector<std::uint64_t> number_of_slot_;
  std::unordered_map<std::string, std::uint64_t, NameHash, std::equal_to<>> names_;
  /// Keyed by the encoded tasks, since the address of a step may be reused by a later one.
  std::unordered_map<std::string, std::uint64_t> captured_;
  /// Last launched step, which the plan keeps alive, and its number.
  const CapturedStep* last_launched_ = nullptr;
  std::uint64_t last_captured_ = 0;
};

/// Reads a tape record by record; the whole records can be read even if the end is missing. Uses
/// memory proportional to the tape. Not thread-safe.
class TapeReader {
 public:
  /// Opens a tape. `bytes` must outlive the reader. invalid_argument when it does not begin with a
  /// whole header.
  static Result<TapeReader> open(std::string_view bytes);

  const TapeHeader& header() const { return header_; }
  /// Returns the mesh of the header's ranks.
  const Mesh& mesh() const { return mesh_; }

  /// Returns the next record; nothing at the end. invalid_argument when the rest is cut off or
  /// damaged: the message gives the byte and the number of whole records, and later calls return
  /// the same error. Numbers are in range and refer to earlier records; a replay checks whether a
  /// plan could have produced them.
  Result<std::optional<TapeRecord>> next();

  /// Returns the number of records read so far.
  std::uint64_t records() const { return records_; }
  /// Returns the number of tasks that these records submitted.
  std::uint64_t tasks() const { return tasks_; }
  /// Returns the number of tasks of a captured step that was read.
  std::uint64_t captured_size(std::uint64_t number) const { return captured_[number].size; }
  /// Returns the name of a submitted task.
  std::string_view name_of(std::uint64_t task) const;

 private:
  struct Captured {
    /// Index into task_names_.
    std::size_t first_index = 0;
    std::uint64_t size = 0;
  };
  /// Consecutive tasks whose names are consecutive entries of task_names_.
  struct Run {
    std::uint64_t first_task = 0;
    std::size_t first_index = 0;
  };

  Result<void> read_header();
  TapeRecord read_record(TapeKind kind);
  void read_name();
  TapeTask read_task();
  TaskCommunication read_communication();
  std::uint64_t read_task_number();
  std::uint64_t read_varint();
  /// Reads a number from `low` to `high`; read_index() reads one below `count`.
  std::uint64_t read_number(const char* what, std::uint64_t low, std::uint64_t high);
  std::uint64_t read_index(const char* what, std::uint64_t count);
  std::int64_t read_bytes(const char* what);
  std::uint64_t read_count(const char* what);
  void read_collectives(std::vector<std::uint64_t>& collectives);
  void read_options(PlanOptions& options);
  void add_run(std::size_t first_index);
  /// Records an error. The first one is kept; after it every number reads as 0.
  void damaged(const std::string& problem);
  void cut_off();

  std::string_view bytes_;
  TapeHeader header_;
  Mesh mesh_;
  std::size_t at_ = 0;
  /// Offset of the number read last.
  std::size_t field_at_ = 0;
  std::optional<Error> error_;
  bool ended_ = false;
  std::int64_t time_ns_ = 0;
  std::uint64_t records_ = 0, tasks_ = 0;
  std::vector<std::string_view> names_;
  /// Indices into names_, for submitted and for captured tasks.
  std::vector<std::uint32_t> task_names_;
  std::vector<Run> runs_;
  std::vector<Captured> captured_;
};

}  // namespace hocket
