// The part of the scheduler that submits partitioned steps in place of those that it gets.

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/scheduler/scheduler.h"
#include "core/scheduler/scheduler_capture.h"

namespace hocket {
namespace {

/// The bytes from `begin` to `end` of `values`.
std::span<float> bytes_of(std::span<float> values, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t size = sizeof(float);
  return values.subspan(static_cast<std::size_t>(begin / size),
                        static_cast<std::size_t>((end - begin) / size));
}

}  // namespace

void Scheduler::follow(Submission submission, std::span<const Access> accesses) {
  const StepFollower::State before = follower_->state();
  std::optional<CollectiveKind> kind;
  if (submission.is_collective) {
    kind = submission.special ? submission.special->work.kind : CollectiveKind::all_reduce;
  }
  const StepFollower::Range pieces = follower_->submitted({.name = submission.options.name,
                                                           .priority = submission.options.priority,
                                                           .place = submission.options.place,
                                                           .collective = kind,
                                                           .bytes = submission.bytes,
                                                           .accesses = accesses});
  switch (follower_->state()) {
    case StepFollower::State::learning:
      return submit_to_plan(std::move(submission), accesses);
    case StepFollower::State::following:
      map_pieces();
      held_.push_back(std::move(submission));
      for (std::uint32_t piece = pieces.first; piece < pieces.last; ++piece) submit_piece(piece);
      return;
    case StepFollower::State::strayed:
      if (before != StepFollower::State::strayed) submit_rest();
      return submit_to_plan(std::move(submission), accesses);
  }
}

void Scheduler::map_pieces() {
  if (mapped_ == follower_->version()) return;
  // What the step before left of the same data has other names.
  (void)synchronize();
  const StepDescription& step = follower_->partitioned().step;
  std::size_t known = step.data.size();
  for (const StepTask& task : step.tasks) {
    for (const Access& access : task.accesses)
      known = std::max(known, access.data.index + std::size_t{1});
  }
  const std::size_t own = follower_->submitted_data();
  while (own + piece_data_.size() < known) piece_data_.push_back(add_data());
  piece_accesses_.clear();
  for (const StepTask& task : step.tasks) {
    std::vector<Access>& accesses = piece_accesses_.emplace_back(task.accesses);
    for (Access& access : accesses) {
      if (access.data.index >= own) access.data = piece_data_[access.data.index - own];
    }
  }
  mapped_ = follower_->version();
}

void Scheduler::submit_piece(std::uint32_t piece) {
  const PartitionedStep& step = follower_->partitioned();
  const StepTask& task = step.step.tasks[piece];
  const PieceOrigin& origin = step.origins[piece];
  const std::vector<Access>& accesses = piece_accesses_[piece];
  TaskOptions options = held_[origin.sources.front()].options;
  options.priority = task.priority;
  Submission submission{.options = options,
                        .is_collective = task.collective.has_value(),
                        .accesses = static_cast<std::uint32_t>(accesses.size()),
                        .values = {},
                        .bytes = task.bytes,
                        .special = nullptr,
                        .body = {},
                        .pieces = nullptr};
  if (task.collective) {
    SpecialCollective collective = collective_of_piece(task, origin);
    if (collective.is_plain()) {
      submission.values = collective.work.values;
    } else {
      submission.special = std::make_unique<SpecialCollective>(std::move(collective));
    }
  } else {
    submission.body = body_of_piece(origin);
  }
  submit_to_plan(std::move(submission), accesses);
}

TaskBody Scheduler::body_of_piece(const PieceOrigin& origin) {
  Submission& source = held_[origin.sources.front()];
  if (origin.begin == origin.end) return std::move(source.body);
  return [pieces = source.pieces, piece = TaskPiece{origin.dimension, origin.begin, origin.end}] {
    (*pieces)(piece);
  };
}

Scheduler::SpecialCollective Scheduler::collective_of_piece(const StepTask& task,
                                                            const PieceOrigin& origin) const {
  const Submission& first = held_[origin.sources.front()];
  SpecialCollective collective;
  collective.work.kind = *task.collective;
  collective.work.group = task.group;
  if (first.special) {
    collective.is_scattered = true;
    collective.work.values = first.special->work.values;
    collective.work.begin = static_cast<std::size_t>(origin.begin) / sizeof(float);
    collective.work.end = static_cast<std::size_t>(origin.end) / sizeof(float);
    return collective;
  }
  std::int64_t before = 0;
  for (const std::uint32_t source : origin.sources) {
    const Submission& member = held_[source];
    const std::int64_t begin = std::max(origin.begin - before, std::int64_t{0});
    const std::int64_t end = std::min(origin.end - before, member.bytes);
    if (begin < end) collective.bucket.push_back(bytes_of(member.values, begin, end));
    before += member.bytes;
  }
  if (collective.bucket.size() == 1) {
    collective.work.values = collective.bucket.front();
    collective.bucket.clear();
  }
  return collective;
}

void Scheduler::submit_rest() {
  {
    std::lock_guard lock(mutex_);
    if (!schedule_.static_order.empty()) {
      fail_locked({ErrorCode::invalid_argument,
                   "order=static: a step is another one than the first, which the order and how "
                   "steps are partitioned were made for; use order=fifo or negotiated, or submit "
                   "the same tasks in each step"});
    }
    learns_ = true;
  }
  // Pieces of data stand for what is one from here on, so nothing orders the two but this.
  for (const StepFollower::Rest& rest : follower_->rest()) {
    if (rest.is_piece) {
      submit_piece(rest.index);
      continue;
    }
    (void)synchronize();
    Submission& alone = held_[rest.index];
    const Access access = follower_->access_of(rest.index);
    submit_to_plan(std::move(alone), {&access, 1});
    (void)synchronize();
  }
  (void)synchronize();
}

void Scheduler::end_followed_step() {
  auto is_short = follower_->end_step();
  if (is_short && *is_short) {
    submit_rest();
    is_short = follower_->end_step();
  }
  held_.clear();
  if (is_short) return;
  std::lock_guard lock(mutex_);
  fail_locked(is_short.error());
}

Result<void> Scheduler::replay_followed(const std::shared_ptr<Capture>& step) {
  const bool learns = follower_->state() == StepFollower::State::learning;
  follow_capture(*step);
  auto ended = end_step();
  if (learns && follower_->state() == StepFollower::State::following) {
    learned_from_ = step;
    learned_ = follower_->learned();
  }
  return ended;
}

std::shared_ptr<Scheduler::Capture> Scheduler::captured_pieces(
    const std::shared_ptr<Capture>& step) {
  const bool is_known = follower_->state() == StepFollower::State::following &&
                        learned_from_ == step && learned_ == follower_->learned();
  if (!is_known) return nullptr;
  if (pieces_ && pieces_version_ == follower_->version()) return pieces_;
  // What was launched may still call the bodies of the others.
  (void)synchronize();
  capturing_ = std::make_shared<Capture>();
  follow_capture(*step);
  end_followed_step();
  pieces_ = end_capture();
  pieces_version_ = follower_->version();
  return pieces_;
}

void Scheduler::follow_capture(Capture& step) {
  for (std::uint32_t i = 0; i < step.step->size(); ++i) {
    const CapturedStep::Task& task = step.step->task(i);
    Payload& p = step.payloads[step.step->slot_of(i)];
    follow({.options = step.divisible[i].options,
            .is_collective = task.is_collective,
            .accesses = static_cast<std::uint32_t>(task.accesses.size()),
            .values = p.values,
            .bytes = task.bytes,
            .special = p.special ? std::make_unique<SpecialCollective>(*p.special) : nullptr,
            .body = task.is_collective ? TaskBody() : TaskBody([body = &p.body] { (*body)(); }),
            .pieces = step.divisible[i].pieces},
           task.accesses);
  }
}

}  // namespace hocket
