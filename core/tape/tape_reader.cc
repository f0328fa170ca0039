#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "core/tape/tape.h"
#include "core/tape/tape_format.h"

namespace hocket {
namespace {

constexpr std::uint64_t kMaxTimeNs = std::uint64_t{1} << 62;
/// Limit on counts of tasks and collectives, which no real tape approaches.
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 62;

/// Returns the set with these bits, as AxisSet::bits() gives them.
AxisSet axes_of(std::uint64_t bits) {
  if (bits == AxisSet().bits()) return {};
  AxisSet axes = AxisSet::none();
  for (std::size_t axis = 0; axis < kMostAxes; ++axis)
    if ((bits >> axis & 1) != 0) axes = axes.with(AxisSet::of(axis));
  return axes;
}

}  // namespace

Result<TapeReader> TapeReader::open(std::string_view bytes) {
  TapeReader reader;
  reader.bytes_ = bytes;
  HOCKET_TRY(reader.read_header());
  return reader;
}

Result<void> TapeReader::read_header() {
  const std::string_view magic = tape_format::kMagic;
  const std::string cut = "the tape ends in its header at byte " + std::to_string(bytes_.size());
  if (bytes_.substr(0, magic.size()) != magic) {
    return failure(ErrorCode::invalid_argument,
                   magic.starts_with(bytes_)
                       ? cut
                       : "this is no tape: it does not begin with \"" + std::string(magic) + "\"");
  }
  at_ = magic.size();
  const std::uint64_t size = read_number("the header's size", 0, tape_format::kMaxHeaderBytes);
  if (error_ && at_ < bytes_.size()) return failure(*error_);
  if (error_ || size > bytes_.size() - at_) return failure(ErrorCode::invalid_argument, cut);
  const auto document = parse_object(bytes_.substr(at_, size), "the tape's header");
  HOCKET_TRY(document);
  auto header = tape_header_from_json(*document);
  if (!header) return failure(header.error().in("the tape's header"));
  header_ = std::move(*header);
  // The header's axes were checked.
  if (auto mesh = Mesh::make(header_.axes, {header_.ranks, header_.ranks_per_host}))
    mesh_ = std::move(*mesh);
  at_ += size;
  return {};
}

void TapeReader::damaged(const std::string& problem) {
  if (error_) return;
  error_ = Error{ErrorCode::invalid_argument,
                 "the tape is damaged at byte " + std::to_string(field_at_) + ", after " +
                     std::to_string(records_) + " whole records: " + problem};
}

void TapeReader::cut_off() {
  if (error_) return;
  error_ = Error{ErrorCode::invalid_argument, "the tape ends in the middle of a record at byte " +
                                                  std::to_string(bytes_.size()) + ", after " +
                                                  std::to_string(records_) + " whole records"};
}

std::uint64_t TapeReader::read_varint() {
  field_at_ = at_;
  std::uint64_t value = 0;
  for (int shift = 0; !error_; shift += 7) {
    if (at_ == bytes_.size()) {
      cut_off();
      break;
    }
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    const std::uint64_t bits = byte & 0x7f;
    if (shift > 63 || (shift == 63 && bits > 1)) {
      damaged("a number of more than 64 bits");
      break;
    }
    value |= bits << shift;
    if (byte < 0x80) return value;
  }
  return 0;
}

std::uint64_t TapeReader::read_number(const char* what, std::uint64_t low, std::uint64_t high) {
  const std::uint64_t value = read_varint();
  if (error_ || (value >= low && value <= high)) return value;
  damaged(std::string(what) + " must be from " + std::to_string(low) + " to " +
          std::to_string(high) + ", found " + std::to_string(value));
  return 0;
}

std::uint64_t TapeReader::read_index(const char* what, std::uint64_t count) {
  const std::uint64_t value = read_varint();
  if (error_ || value < count) return value;
  damaged(std::string(what) + " " + std::to_string(value) + " of " + std::to_string(count) +
          " so far");
  return 0;
}

std::int64_t TapeReader::read_bytes(const char* what) {
  return static_cast<std::int64_t>(read_number(what, 0, static_cast<std::uint64_t>(kMaxTapeBytes)));
}

std::uint64_t TapeReader::read_count(const char* what) {
  const std::uint64_t count = read_number(what, 0, std::numeric_limits<std::uint32_t>::max() >> 1);
  // Each element takes at least a byte, which bounds the allocation.
  if (!error_ && count > bytes_.size() - at_) cut_off();
  return error_ ? 0 : count;
}

std::uint64_t TapeReader::read_task_number() {
  return tasks_ - 1 - read_index("a task's distance is", tasks_);
}

void TapeReader::read_name() {
  const std::uint64_t size = read_number("a name's length", 0, kMaxTapeNameBytes);
  if (!error_ && size > bytes_.size() - at_) cut_off();
  if (error_) return;
  names_.push_back(bytes_.substr(at_, size));
  at_ += size;
}

TapeTask TapeReader::read_task() {
  TapeTask task;
  const std::uint64_t name = read_index("a name's number is", names_.size());
  if (!error_) {
    task.name = names_[name];
    task_names_.push_back(static_cast<std::uint32_t>(name));
  }
  const std::uint64_t priority =
      read_number("a priority", 0, std::uint64_t{kTaskLanes} * kPriorityLevels - 1);
  task.priority = static_cast<std::uint32_t>(priority % kPriorityLevels);
  task.lane = static_cast<TaskLane>(priority / kPriorityLevels);
  const std::uint64_t size =
      read_number("a collective's size", 0, static_cast<std::uint64_t>(kMaxTapeBytes) + 1);
  task.is_collective = size > 0;
  task.bytes = size > 0 ? static_cast<std::int64_t>(size - 1) : 0;
  if (task.is_collective && task.lane != TaskLane::stream) {
    if (priority / kPriorityLevels > 1) damaged("a collective has no lane");
    task.lane = TaskLane::stream;
    task.communication = read_communication();
  }
  const std::uint64_t accesses = read_count("a number of accesses");
  task.accesses.reserve(accesses);
  for (std::uint64_t i = 0; i < accesses && !error_; ++i) {
    const std::uint64_t access = read_number("an access", 0, (kMaxTapeData << 2) - 1);
    const std::uint64_t mode = access & 3;
    if (mode > static_cast<std::uint64_t>(AccessMode::update)) damaged("an unknown access mode");
    task.accesses.push_back(
        {{static_cast<std::uint32_t>(access >> 2)}, static_cast<AccessMode>(mode)});
  }
  return task;
}

TaskCommunication TapeReader::read_communication() {
  TaskCommunication communication;
  communication.kind =
      static_cast<CollectiveKind>(read_number("a kind of communication", 0, kRecordedKinds - 1));
  if (is_served(communication.kind)) damaged("a task that is pushed or pulled");
  constexpr std::uint64_t kTiers = tape_format::kTiers;
  const std::uint64_t group =
      read_number("a group", kTiers, AxisSet().bits() * kTiers + kTiers - 1);
  if (group % kTiers >= kGroupTiers.size()) damaged("an unknown tier of a group");
  const std::uint64_t bits = group / kTiers;
  if (bits != AxisSet().bits() && bits >> kMostAxes != 0) damaged("a group of unknown axes");
  if (error_) return {};
  const AxisSet axes = axes_of(bits);
  const std::size_t named = header_.axes.size();
  if (named > 0 && !axes.is_all() && axes.bits() >> named != 0)
    damaged("a group of axes that the tape does not have");
  communication.group = {axes, static_cast<GroupTier>(group % kTiers)};
  if (!is_message(communication.kind)) return communication;
  // In zigzag form, and whether it is relative.
  const std::uint64_t peer = read_number("a peer", 0, 4 * tape_format::kMaxPeer - 1);
  communication.peer = static_cast<std::int32_t>(tape_format::unzigzag(peer / 2));
  communication.is_relative = peer % 2 != 0;
  return communication;
}

void TapeReader::read_collectives(std::vector<std::uint64_t>& collectives) {
  const std::uint64_t count = read_count("a number of collectives");
  collectives.reserve(count);
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < count && !error_; ++i) {
    last += tape_format::unzigzag(read_varint());
    if (last > kMaxCount) damaged("a collective's number is out of range");
    collectives.push_back(last);
  }
}

void TapeReader::read_options(PlanOptions& options) {
  constexpr auto kMaxBytes = static_cast<std::uint64_t>(kMaxTapeBytes);
  options.partition_bytes =
      static_cast<std::int64_t>(read_number("a partition's size", 1, kMaxBytes));
  options.credit_bytes = static_cast<std::int64_t>(read_number("a window's size", 1, kMaxBytes));
  constexpr auto kLastOrder = static_cast<std::uint64_t>(PartOrder::announced);
  // The order, plus kOrders for each server.
  constexpr std::uint64_t kOrders = tape_format::kOrders;
  const std::uint64_t value = read_number("an order", 0, kMaxTapeServers * kOrders + kLastOrder);
  if (value % kOrders > kLastOrder) damaged("an unknown order");
  if (error_) return;
  options.order = static_cast<PartOrder>(value % kOrders);
  options.servers = static_cast<int>(value / kOrders);
  if (options.servers == 0) return;
  if (options.order == PartOrder::announced) damaged("servers that follow an announced order");
  options.pull_credit_bytes =
      static_cast<std::int64_t>(read_number("a window's size", 1, kMaxBytes));
}

void TapeReader::add_run(std::size_t first_index) {
  const bool continues =
      !runs_.empty() &&
      runs_.back().first_index + (tasks_ - runs_.back().first_task) == first_index;
  if (!continues) runs_.push_back({tasks_, first_index});
}

std::string_view TapeReader::name_of(std::uint64_t task) const {
  const auto run = std::prev(std::ranges::upper_bound(runs_, task, {}, &Run::first_task));
  return names_[task_names_[run->first_index + (task - run->first_task)]];
}

TapeRecord TapeReader::read_record(TapeKind kind) {
  TapeRecord record;
  record.kind = kind;
  time_ns_ += static_cast<std::int64_t>(
      read_number("a time", 0, kMaxTimeNs - static_cast<std::uint64_t>(time_ns_)));
  record.time_ns = time_ns_;
  const std::size_t first_index = task_names_.size();
  switch (kind) {
    case TapeKind::submitted:
      record.tasks.push_back(read_task());
      record.number = tasks_;
      if (error_) break;
      add_run(first_index);
      ++tasks_;
      break;
    case TapeKind::captured: {
      const std::uint64_t count = read_count("a number of tasks");
      for (std::uint64_t i = 0; i < count && !error_; ++i) record.tasks.push_back(read_task());
      record.number = captured_.size();
      captured_.push_back({first_index, count});
      break;
    }
    case TapeKind::launched:
      record.number = read_index("a captured step's number is", captured_.size());
      record.first_task = tasks_;
      if (error_) break;
      add_run(captured_[record.number].first_index);
      tasks_ += captured_[record.number].size;
      if (tasks_ > kMaxCount) damaged("too many tasks");
      break;
    case TapeKind::announced:
      read_collectives(record.collectives);
      break;
    case TapeKind::configured:
      read_options(record.plan);
      break;
    case TapeKind::started_part:
    case TapeKind::finished_push:
    case TapeKind::started_pull:
    case TapeKind::summed:
      record.number = read_task_number();
      record.offset_bytes = read_bytes("a part's offset");
      record.bytes = read_bytes("a part's size");
      break;
    case TapeKind::finished_part:
    case TapeKind::finished_pull:
      record.number = read_task_number();
      record.bytes = read_bytes("a part's size");
      break;
    case TapeKind::ready:
    case TapeKind::started:
    case TapeKind::finished:
      record.number = read_task_number();
      break;
  }
  return record;
}

Result<std::optional<TapeRecord>> TapeReader::next() {
  while (!error_ && !ended_) {
    field_at_ = at_;
    if (at_ == bytes_.size()) {
      error_ = Error{ErrorCode::invalid_argument, "the tape ends without its end mark at byte " +
                                                      std::to_string(at_) + ", after " +
                                                      std::to_string(records_) + " whole records"};
      break;
    }
    const auto code = static_cast<unsigned char>(bytes_[at_++]);
    if (code == tape_format::kName) {
      read_name();
    } else if (code == tape_format::kEnd) {
      ended_ = true;
      field_at_ = at_;
      if (at_ < bytes_.size()) damaged("something follows the end mark");
    } else if (code == 0 || code > tape_format::kLastCode) {
      damaged("unknown kind of record " + std::to_string(code));
    } else {
      TapeRecord record = read_record(tape_format::kind_of(code));
      if (error_) break;
      ++records_;
      return record;
    }
  }
  if (error_) return failure(*error_);
  return std::nullopt;
}

}  // namespace hocket
