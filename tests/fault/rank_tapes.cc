#include "tests/fault/rank_tapes.h"

#include <algorithm>
#include <map>

#include "core/collective/part_sizes.h"
#include "core/tape/tape.h"

namespace hocket {
namespace {

/// Processes the records of a tape.
class Follower {
 public:
  explicit Follower(const PlanOptions& plan) : partition_bytes_(plan.partition_bytes) {}

  void take(const TapeRecord& record, std::uint64_t tasks_before) {
    switch (record.kind) {
      case TapeKind::submitted:
        submit(record.tasks[0], record.number);
        break;
      case TapeKind::captured:
        captured_.push_back(record.tasks);
        break;
      case TapeKind::launched:
        for (const TapeTask& task : captured_[record.number]) submit(task, tasks_before++);
        break;
      case TapeKind::configured:
        partition_bytes_ = record.plan.partition_bytes;
        tape.switches.push_back(
            {tape.parts.size(), record.plan.partition_bytes, record.plan.credit_bytes});
        break;
      case TapeKind::started_part:
        start_part(record);
        break;
      default:
        break;
    }
  }

  RankTape tape;
  std::string problem;

 private:
  void submit(const TapeTask& task, std::uint64_t number) {
    if (!task.is_collective) return;
    number_of_task_[number] = tape.parts.size();
    tape.parts.push_back(0);
    cut_by_.push_back(partition_bytes_);
    bytes_.push_back(task.bytes);
    left_.push_back(task.bytes);
    started_.push_back(0);
  }

  void start_part(const TapeRecord& record) {
    const auto collective = number_of_task_.at(record.number);
    ++started_[collective];
    left_[collective] -= record.bytes;
    const bool is_done = left_[collective] <= 0;
    if (is_done) tape.parts[collective] = started_[collective];
    if (record.bytes > cut_by_[collective] ||
        (is_done && started_[collective] != part_count(bytes_[collective], cut_by_[collective]))) {
      problem = "collective " + std::to_string(collective) + " has parts that a partition of " +
                std::to_string(cut_by_[collective]) + " bytes does not give";
    }
  }

  std::int64_t partition_bytes_;
  std::vector<std::vector<TapeTask>> captured_;
  std::map<std::uint64_t, std::size_t> number_of_task_;
  std::vector<std::int64_t> cut_by_, bytes_, left_, started_;  // indexed by collective
};

}  // namespace

Result<RankTape> read_rank_tape(std::string_view bytes) {
  auto reader = TapeReader::open(bytes);
  HOCKET_TRY(reader);
  Follower follower(reader->header().plan);
  for (;;) {
    const auto tasks_before = reader->tasks();
    const auto record = reader->next();
    if (!record || !*record) {
      follower.tape.is_whole = record.has_value();
      break;
    }
    follower.take(**record, tasks_before);
  }
  if (!follower.problem.empty()) return failure(ErrorCode::invalid_argument, follower.problem);
  return std::move(follower.tape);
}

std::string difference(const RankTape& a, const RankTape& b) {
  const auto end = std::min(a.parts.size(), b.parts.size());
  const auto switches_of = [&](const RankTape& tape) {
    auto switches = tape.switches;
    std::erase_if(switches, [&](const TapeSwitch& one) { return one.collective >= end; });
    return switches;
  };
  if (switches_of(a) != switches_of(b)) {
    return "one changed " + std::to_string(switches_of(a).size()) + " times, the other " +
           std::to_string(switches_of(b).size()) + " times, or before other collectives";
  }
  for (std::size_t i = 0; i < end; ++i) {
    if (a.parts[i] != b.parts[i] && a.parts[i] != 0 && b.parts[i] != 0) {
      return "collective " + std::to_string(i) + " has other parts";
    }
  }
  return "";
}

}  // namespace hocket
