#pragma once

// The tape: every decision of one rank's plan, in order, with its time; for looking at, comparing
// and replaying (core/sim/tape_replay.h). A compact binary format, docs/formats/tape.md. Not
// thread-safe; a plan calls its observer from one thread at a time.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
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

namespace hocket {

/// What a tape says about itself.
struct TapeHeader {
  PlanOptions plan;
  std::int64_t rank = 0;
  std::int64_t ranks = 1;
  bool virtual_time = false;  ///< times are the simulator's, not a machine's
  std::string name;           ///< of the step or job, for people

  bool operator==(const TapeHeader&) const = default;
};

/// `{"format":"hocket-tape","version":2,"partition_bytes":…,…}`.
nlohmann::json to_json(const TapeHeader& header);
/// invalid_argument names the field and the allowed range.
Result<TapeHeader> tape_header_from_json(const nlohmann::json& document);

enum class TapeKind : std::uint8_t {
  submitted,      ///< a task; its number is the count of tasks submitted before it
  captured,       ///< a step whose tasks follow in the same record; its number counts from 0
  launched,       ///< a captured step was submitted again: as many tasks as it has
  announced,      ///< collectives whose parts start next
  ready,          ///< a task waits for nothing more
  started,        ///< a compute task was handed out
  started_part,   ///< a part of a collective was handed out
  finished,       ///< a compute task
  finished_part,  ///< a part; the last one finishes the collective
  configured,     ///< the plan has other options
};

std::string_view to_string(TapeKind kind);
std::string_view to_string(PartOrder order);

/// A task as a record describes it.
struct TapeTask {
  std::string name;
  std::uint32_t priority = 0;
  bool is_collective = false;
  std::int64_t bytes = 0;  ///< of a collective
  std::vector<Access> accesses;

  bool operator==(const TapeTask& other) const;
};

/// Fields that a kind does not have are 0 or empty.
struct TapeRecord {
  TapeKind kind = TapeKind::submitted;
  std::int64_t time_ns = 0;  ///< since the tape began
  /// The task's number (or, for captured and launched, the captured step's).
  std::uint64_t number = 0;
  /// launched: the number of the first of its tasks.
  std::uint64_t first_task = 0;
  std::int64_t offset_bytes = 0, bytes = 0;  ///< of a part; a finished part has no offset
  std::vector<TapeTask> tasks;               ///< submitted: one; captured: all
  std::vector<std::uint64_t> collectives;    ///< announced
  PlanOptions plan;                          ///< configured: the options from here on

  bool operator==(const TapeRecord&) const = default;
};

class TapeReader;

/// A line for people, without the time: kind, number, name, part. `tape` has just read the record,
/// and says what the names are, which may hold any bytes.
std::string describe(const TapeRecord& record, const TapeReader& tape);

/// Longer names are cut by the writer.
inline constexpr std::size_t kMaxTapeNameBytes = 4096;
/// Of a task's data.
inline constexpr std::uint32_t kMaxTapeData = 1u << 24;
/// Of a collective, the credit window and a partition.
inline constexpr std::int64_t kMaxTapeBytes = std::int64_t{1} << 60;

/// Writes a tape; to observe a plan from its first task on. Whole records are given to `output` in
/// chunks and, with the mark of the end, by the destructor; `output` must not throw.
class TapeWriter final : public PlanObserver {
 public:
  /// `clock` gives the times, from now on, and must outlive the writer.
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
  /// How many tasks were submitted after `task`: a small number that stands for it.
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
  /// By their encoded tasks: an address may be that of a later step.
  std::unordered_map<std::string, std::uint64_t> captured_;
  /// The step of the last task, which the plan holds on to, and its number.
  const CapturedStep* last_launched_ = nullptr;
  std::uint64_t last_captured_ = 0;
};

/// Reads a tape record by record; what is whole can be read even when the end is missing. Uses
/// memory in proportion to the tape.
class TapeReader {
 public:
  /// `bytes` must outlive the reader. invalid_argument when it does not begin with a whole header.
  static Result<TapeReader> open(std::string_view bytes);

  const TapeHeader& header() const { return header_; }

  /// The next record; nothing at the end. invalid_argument when the rest is cut off or damaged: the
  /// message says at which byte, and how many records were whole; the same again when asked again.
  /// Numbers are in range and refer to what came before; whether a plan could have done so, a
  /// replay finds out.
  Result<std::optional<TapeRecord>> next();

  /// Records read so far.
  std::uint64_t records() const { return records_; }
  /// Tasks submitted by them.
  std::uint64_t tasks() const { return tasks_; }
  /// How many tasks a captured step has that was read.
  std::uint64_t captured_size(std::uint64_t number) const { return captured_[number].size; }
  /// The name of a task that was submitted.
  std::string_view name_of(std::uint64_t task) const;

 private:
  struct Captured {
    std::size_t first_index = 0;  ///< into task_names_
    std::uint64_t size = 0;
  };
  /// Consecutive tasks with consecutive entries of task_names_.
  struct Run {
    std::uint64_t first_task = 0;
    std::size_t first_index = 0;
  };

  Result<void> read_header();
  TapeRecord read_record(TapeKind kind);
  void read_name();
  TapeTask read_task();
  std::uint64_t read_task_number();
  std::uint64_t read_varint();
  /// A number from `low` to `high`, or below `count`.
  std::uint64_t read_number(const char* what, std::uint64_t low, std::uint64_t high);
  std::uint64_t read_index(const char* what, std::uint64_t count);
  std::int64_t read_bytes(const char* what);
  std::uint64_t read_count(const char* what);
  void read_collectives(std::vector<std::uint64_t>& collectives);
  void read_options(PlanOptions& options);
  void add_run(std::size_t first_index);
  /// The first problem counts; after it every number reads as 0.
  void damaged(const std::string& problem);
  void cut_off();

  std::string_view bytes_;
  TapeHeader header_;
  std::size_t at_ = 0;
  std::size_t field_at_ = 0;  ///< where the number read last begins
  std::optional<Error> error_;
  bool ended_ = false;
  std::int64_t time_ns_ = 0;
  std::uint64_t records_ = 0, tasks_ = 0;
  std::vector<std::string_view> names_;
  std::vector<std::uint32_t> task_names_;  ///< into names_, of submitted and of captured tasks
  std::vector<Run> runs_;
  std::vector<Captured> captured_;
};

}  // namespace hocket
