#include "core/scheduler/partitioned_steps.h"

#include <algorithm>
#include <utility>

namespace hocket {
namespace {

/// Returns the bytes from `begin` to `end` of `values`.
ValueSpan bytes_of(ValueSpan values, std::int64_t begin, std::int64_t end) {
  const auto size = static_cast<std::int64_t>(values.element_bytes());
  return values.subspan(static_cast<std::size_t>(begin / size),
                        static_cast<std::size_t>((end - begin) / size));
}

}  // namespace

void PartitionedSteps::submit(TaskSubmission&& submission, std::span<const Access> accesses) {
  using State = StepSubstitution::State;
  const State before = substitution_.state();
  std::optional<CollectiveKind> kind;
  if (submission.is_collective) kind = submission.kind();
  const StepSubstitution::Range pieces =
      substitution_.submitted({.name = submission.options.name,
                               .priority = submission.options.priority,
                               .place = submission.options.place,
                               .collective = kind,
                               .bytes = submission.bytes,
                               .accesses = accesses});
  if (substitution_.state() == State::recognised) {
    map_data();
    held_.push_back(std::move(submission));
    for (std::uint32_t piece = pieces.first; piece < pieces.last; ++piece) submit_piece(piece);
    return;
  }
  if (before == State::recognised) submit_rest();
  sink_->submit(std::move(submission), accesses);
}

void PartitionedSteps::map_data() {
  if (mapped_version_ == substitution_.version()) return;
  // Tasks of the step before access the same values under other identities.
  (void)dispatch_.synchronize();
  const StepDescription& step = substitution_.partitioned().step;
  std::size_t known = step.data.size();
  for (const StepTask& task : step.tasks) {
    for (const Access& access : task.accesses)
      known = std::max(known, access.data.index + std::size_t{1});
  }
  const std::size_t own = substitution_.submitted_data();
  while (own + data_.size() < known) data_.push_back(dispatch_.add_data());
  accesses_.clear();
  for (const StepTask& task : step.tasks) {
    std::vector<Access>& accesses = accesses_.emplace_back(task.accesses);
    for (Access& access : accesses) {
      if (access.data.index >= own) access.data = data_[access.data.index - own];
    }
  }
  mapped_version_ = substitution_.version();
}

void PartitionedSteps::submit_piece(std::uint32_t piece) {
  const PartitionedStep& step = substitution_.partitioned();
  const StepTask& task = step.step.tasks[piece];
  const PieceOrigin& origin = step.origins[piece];
  const std::vector<Access>& accesses = accesses_[piece];
  TaskSubmission submission{.options = held_[origin.sources.front()].options,
                            .is_collective = task.collective.has_value(),
                            .accesses = static_cast<std::uint32_t>(accesses.size()),
                            .bytes = task.bytes};
  submission.options.priority = task.priority;
  if (task.collective) {
    SpecialCollective collective = collective_of(task, origin);
    if (collective.is_plain()) {
      submission.values = collective.work.values;
    } else {
      submission.special = std::make_unique<SpecialCollective>(std::move(collective));
    }
  } else {
    submission.body = body_of(origin);
  }
  sink_->submit(std::move(submission), accesses);
}

TaskBody PartitionedSteps::body_of(const PieceOrigin& origin) {
  TaskSubmission& source = held_[origin.sources.front()];
  if (origin.begin == origin.end) return std::move(source.body);
  return [pieces = source.pieces, piece = TaskPiece{origin.dimension, origin.begin, origin.end}] {
    (*pieces)(piece);
  };
}

SpecialCollective PartitionedSteps::collective_of(const StepTask& task,
                                                  const PieceOrigin& origin) const {
  const TaskSubmission& first = held_[origin.sources.front()];
  SpecialCollective collective;
  collective.work.kind = *task.collective;
  collective.work.group = task.group;
  if (first.special) {
    collective.is_scattered = true;
    collective.work.values = first.special->work.values;
    const std::size_t size = collective.work.values.element_bytes();
    collective.work.begin = static_cast<std::size_t>(origin.begin) / size;
    collective.work.end = static_cast<std::size_t>(origin.end) / size;
    return collective;
  }
  std::int64_t before = 0;
  for (const std::uint32_t source : origin.sources) {
    const TaskSubmission& member = held_[source];
    const std::int64_t begin = std::max(origin.begin - before, std::int64_t{0});
    const std::int64_t end = std::min(origin.end - before, member.bytes);
    if (begin < end) collective.bucket.push_back(bytes_of(member.values, begin, end));
    before += member.bytes;
  }
  const auto other = std::ranges::find_if(collective.bucket, [&](const ValueSpan& values) {
    return values.type() != collective.bucket.front().type();
  });
  if (other != collective.bucket.end()) {
    dispatch_.fail({ErrorCode::invalid_argument,
                    "bucket_bytes: the bucket of \"" + task.name + "\" has tensors of " +
                        std::string(to_string(collective.bucket.front().type())) + " and of " +
                        std::string(to_string(other->type())) +
                        ", which no collective sums at once; set bucket_bytes=0, or the "
                        "bucket_bytes of a region that has tensors of one type"});
  }
  if (collective.bucket.size() == 1) {
    collective.work.values = collective.bucket.front();
    collective.bucket.clear();
  }
  return collective;
}

void PartitionedSteps::submit_rest() {
  if (dispatch_.schedule().static_order.exists()) {
    dispatch_.fail(
        {ErrorCode::invalid_argument,
         "order=static: a step is another one than the first, which the order and how steps are "
         "partitioned were made for; use order=fifo or negotiated, or submit the same tasks in "
         "each step"});
  }
  dispatch_.suspend_static_order();
  // Tasks as submitted and tasks of the partitioned step access the same values under different
  // identities, so only waiting orders them.
  for (const StepSubstitution::Rest& rest : substitution_.rest()) {
    if (rest.is_piece) {
      submit_piece(rest.index);
      continue;
    }
    (void)dispatch_.synchronize();
    const Access access = substitution_.access_of(rest.index);
    sink_->submit(std::move(held_[rest.index]), {&access, 1});
    (void)dispatch_.synchronize();
  }
  (void)dispatch_.synchronize();
}

void PartitionedSteps::end_substitution() {
  auto is_short = substitution_.end_step();
  if (is_short && *is_short) {
    submit_rest();
    is_short = substitution_.end_step();
  }
  held_.clear();
  if (!is_short) dispatch_.fail(is_short.error());
}

Result<void> PartitionedSteps::end_step() {
  end_substitution();
  return dispatch_.end_step(is_recognised());
}

Result<void> PartitionedSteps::launch(const std::shared_ptr<StepCapture>& step) {
  const bool was_recognised = is_recognised();
  step->submit_to(*this);
  auto ended = end_step();
  if (!was_recognised && is_recognised()) {
    recognised_ = step;
    recognised_number_ = substitution_.recognised_steps();
  }
  return ended;
}

std::shared_ptr<StepCapture> PartitionedSteps::formed(const std::shared_ptr<StepCapture>& step) {
  const bool is_known = is_recognised() && recognised_ == step &&
                        recognised_number_ == substitution_.recognised_steps();
  if (!is_known) return nullptr;
  if (pieces_ && pieces_version_ == substitution_.version()) return pieces_;
  // Launches under way may still call the bodies of the step captured before.
  (void)dispatch_.synchronize();
  pieces_ = std::make_shared<StepCapture>();
  sink_ = pieces_.get();
  step->submit_to(*this);
  end_substitution();
  sink_ = &dispatch_;
  pieces_->finish();
  pieces_version_ = substitution_.version();
  return pieces_;
}

}  // namespace hocket
