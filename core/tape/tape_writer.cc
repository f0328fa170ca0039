#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/plan/captured_step.h"
#include "core/tape/tape.h"
#include "core/tape/tape_format.h"

namespace hocket {
namespace {

using tape_format::append_varint;

constexpr std::size_t kChunkBytes = 64 << 10;

void append_communication(std::string& bytes, const TaskCommunication& communication) {
  append_varint(bytes, static_cast<std::uint64_t>(communication.kind));
  append_varint(bytes, communication.group.axes.bits() * tape_format::kTiers +
                           static_cast<std::uint64_t>(communication.group.tier));
  if (!is_message(communication.kind)) return;
  append_varint(bytes, tape_format::zigzag(static_cast<std::uint64_t>(communication.peer)) * 2 +
                           (communication.is_relative ? 1 : 0));
}

/// Appends a task; `name` is the number of its name, `Task` a submitted or captured task.
template <class Task>
void append_task(std::string& bytes, std::uint64_t name, const Task& task) {
  const bool says_communication = task.is_collective && task.communication != TaskCommunication{};
  append_varint(bytes, name);
  append_varint(bytes, std::uint64_t{task.priority} +
                           static_cast<std::uint64_t>(task.lane) * kPriorityLevels +
                           (says_communication ? tape_format::kCommunicationFollows : 0));
  append_varint(bytes, task.is_collective ? static_cast<std::uint64_t>(task.bytes) + 1 : 0);
  if (says_communication) append_communication(bytes, task.communication);
  append_varint(bytes, task.accesses.size());
  for (const Access& access : task.accesses) {
    append_varint(bytes,
                  std::uint64_t{access.data.index} << 2 | static_cast<std::uint64_t>(access.mode));
  }
}

}  // namespace

TapeWriter::TapeWriter(const TapeHeader& header, const Clock& clock,
                       std::function<void(std::string_view)> output)
    : clock_(clock), output_(std::move(output)), last_ns_(clock.now_ns()) {
  auto document = to_json(header);
  document["name"] = header.name.substr(0, kMaxTapeNameBytes);
  const std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // A chunk is complete when its last record ends, so most chunks never grow the buffer.
  buffer_.reserve(kChunkBytes + kChunkBytes / 4);
  buffer_ = tape_format::kMagic;
  append_varint(buffer_, text.size());
  buffer_ += text;
}

TapeWriter::~TapeWriter() {
  buffer_.push_back(static_cast<char>(tape_format::kEnd));
  output_(buffer_);
}

void TapeWriter::begin(TapeKind kind) {
  const std::int64_t now_ns = std::max(clock_.now_ns(), last_ns_);
  buffer_.push_back(static_cast<char>(tape_format::code_of(kind)));
  append_varint(buffer_, static_cast<std::uint64_t>(now_ns - last_ns_));
  last_ns_ = now_ns;
}

void TapeWriter::end() {
  if (buffer_.size() < kChunkBytes) return;
  output_(buffer_);
  buffer_.clear();
}

std::uint64_t TapeWriter::intern(std::string_view name) {
  name = name.substr(0, kMaxTapeNameBytes);
  if (const auto known = names_.find(name); known != names_.end()) return known->second;
  buffer_.push_back(static_cast<char>(tape_format::kName));
  append_varint(buffer_, name.size());
  buffer_ += name;
  return names_.emplace(name, names_.size()).first->second;
}

void TapeWriter::add_task(std::uint32_t slot) {
  if (slot >= number_of_slot_.size()) number_of_slot_.resize(slot + slot / 2 + 16);
  number_of_slot_[slot] = tasks_++;
}

void TapeWriter::configured(const PlanOptions& options) {
  begin(TapeKind::configured);
  append_varint(buffer_, static_cast<std::uint64_t>(options.partition_bytes));
  append_varint(buffer_, static_cast<std::uint64_t>(options.credit_bytes));
  append_varint(buffer_, static_cast<std::uint64_t>(options.order) +
                             static_cast<std::uint64_t>(options.servers) * tape_format::kOrders);
  if (options.servers > 0)
    append_varint(buffer_, static_cast<std::uint64_t>(options.pull_credit_bytes));
  end();
}

void TapeWriter::submitted(const SubmittedTask& task) {
  last_launched_ = nullptr;
  const std::uint64_t name = intern(task.name);
  begin(TapeKind::submitted);
  append_task(buffer_, name, task);
  end();
  add_task(task.id.slot);
}

std::uint64_t TapeWriter::capture(const CapturedStep& step) {
  encoded_step_.clear();
  append_varint(encoded_step_, step.size());
  for (const auto& task : step.tasks()) append_task(encoded_step_, intern(task.name), task);
  const auto [captured, is_new] = captured_.try_emplace(encoded_step_, captured_.size());
  if (is_new) {
    begin(TapeKind::captured);
    buffer_ += encoded_step_;
    end();
  }
  return captured->second;
}

void TapeWriter::launched(const CapturedStep& step, TaskId first) {
  if (&step != last_launched_) last_captured_ = capture(step);
  last_launched_ = &step;
  begin(TapeKind::launched);
  append_varint(buffer_, last_captured_);
  end();
  for (std::uint32_t i = 0; i < step.size(); ++i) add_task(step.id_of(i, first).slot);
}

void TapeWriter::announced(std::span<const std::uint64_t> collectives) {
  begin(TapeKind::announced);
  append_varint(buffer_, collectives.size());
  std::uint64_t last = 0;
  for (const std::uint64_t collective : collectives) {
    append_varint(buffer_, tape_format::zigzag(collective - last));
    last = collective;
  }
  end();
}

void TapeWriter::ready(TaskId task) {
  begin(TapeKind::ready);
  append_varint(buffer_, back_to(task));
  end();
}

void TapeWriter::started(TaskId task) {
  begin(TapeKind::started);
  append_varint(buffer_, back_to(task));
  end();
}

void TapeWriter::add_part(TapeKind kind, TaskId task, std::int64_t offset_bytes,
                          std::int64_t bytes) {
  begin(kind);
  append_varint(buffer_, back_to(task));
  if (has_offset(kind)) append_varint(buffer_, static_cast<std::uint64_t>(offset_bytes));
  append_varint(buffer_, static_cast<std::uint64_t>(bytes));
  end();
}

void TapeWriter::started_part(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) {
  add_part(TapeKind::started_part, task, offset_bytes, bytes);
}

void TapeWriter::finished_part(TaskId task, std::int64_t bytes) {
  add_part(TapeKind::finished_part, task, 0, bytes);
}

void TapeWriter::finished_push(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) {
  add_part(TapeKind::finished_push, task, offset_bytes, bytes);
}

void TapeWriter::started_pull(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) {
  add_part(TapeKind::started_pull, task, offset_bytes, bytes);
}

void TapeWriter::finished_pull(TaskId task, std::int64_t bytes) {
  add_part(TapeKind::finished_pull, task, 0, bytes);
}

void TapeWriter::summed(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) {
  add_part(TapeKind::summed, task, offset_bytes, bytes);
}

void TapeWriter::finished(TaskId task) {
  begin(TapeKind::finished);
  append_varint(buffer_, back_to(task));
  end();
}

}  // namespace hocket
