#include "core/tape/tape.h"

#include <algorithm>

#include "core/base/json.h"

namespace hocket {
namespace {

constexpr const char* kTapeFormat = "hocket-tape";
constexpr int kTapeVersion = 2;
constexpr std::int64_t kMaxRanks = 1 << 24;

constexpr std::string_view kKinds[] = {"submitted",     "captured",  "launched",     "announced",
                                       "ready",         "started",   "started_part", "finished",
                                       "finished_part", "configured"};
constexpr std::string_view kOrders[] = {"fifo", "priority", "announced"};

}  // namespace

std::string_view to_string(TapeKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::string_view to_string(PartOrder order) {
  return kOrders[static_cast<std::size_t>(order)];
}

bool TapeTask::operator==(const TapeTask& other) const {
  return name == other.name && priority == other.priority && is_collective == other.is_collective &&
         bytes == other.bytes &&
         std::ranges::equal(accesses, other.accesses, [](const Access& a, const Access& b) {
           return a.data == b.data && a.mode == b.mode;
         });
}

std::string describe(const TapeRecord& record, const TapeReader& tape) {
  std::string text = std::string(to_string(record.kind)) + ' ';
  const std::string number = std::to_string(record.number);
  switch (record.kind) {
    case TapeKind::captured:
      return text + "step " + number + ": " + std::to_string(record.tasks.size()) + " tasks";
    case TapeKind::launched:
      return text + "step " + number + ": " + std::to_string(tape.captured_size(record.number)) +
             " tasks from " + std::to_string(record.first_task);
    case TapeKind::announced:
      text += "collectives";
      for (const std::uint64_t collective : record.collectives)
        text += ' ' + std::to_string(collective);
      return text;
    case TapeKind::configured:
      return text + "partition_bytes " + std::to_string(record.plan.partition_bytes) +
             ", credit_bytes " + std::to_string(record.plan.credit_bytes) + ", order " +
             std::string(to_string(record.plan.order));
    default:
      break;
  }
  text += number + ' ' + std::string(tape.name_of(record.number));
  if (record.kind == TapeKind::submitted && record.tasks.front().is_collective)
    text += ", " + std::to_string(record.tasks.front().bytes) + " bytes";
  if (record.kind == TapeKind::started_part || record.kind == TapeKind::finished_part)
    text += ", " + std::to_string(record.bytes) + " bytes";
  if (record.kind == TapeKind::started_part) text += " at " + std::to_string(record.offset_bytes);
  return text;
}

nlohmann::json to_json(const TapeHeader& header) {
  return {{"format", kTapeFormat},
          {"version", kTapeVersion},
          {"partition_bytes", header.plan.partition_bytes},
          {"credit_bytes", header.plan.credit_bytes},
          {"order", to_string(header.plan.order)},
          {"rank", header.rank},
          {"ranks", header.ranks},
          {"virtual_time", header.virtual_time},
          {"name", header.name}};
}

Result<TapeHeader> tape_header_from_json(const nlohmann::json& document) {
  if (const auto ok = check_format(document, kTapeFormat, kTapeVersion); !ok)
    return failure(ok.error());
  TapeHeader header;
  const struct {
    const char* field;
    std::int64_t* target;
    std::int64_t low, high;
  } integers[] = {{"partition_bytes", &header.plan.partition_bytes, 1, kMaxTapeBytes},
                  {"credit_bytes", &header.plan.credit_bytes, 1, kMaxTapeBytes},
                  {"rank", &header.rank, 0, kMaxRanks - 1},
                  {"ranks", &header.ranks, 1, kMaxRanks}};
  for (const auto& [field, target, low, high] : integers) {
    const auto value = read_integer(document, field, low, high);
    if (!value) return failure(value.error());
    *target = *value;
  }
  const auto order = read_string(document, "order");
  if (!order) return failure(order.error());
  const auto found = std::ranges::find(kOrders, *order);
  if (found == std::end(kOrders)) {
    return failure(
        ErrorCode::invalid_argument,
        "field \"order\": expected fifo, priority or announced, found \"" + *order + "\"");
  }
  header.plan.order = static_cast<PartOrder>(found - kOrders);
  const auto virtual_time = document.find("virtual_time");
  if (virtual_time == document.end() || !virtual_time->is_boolean()) {
    return failure(ErrorCode::invalid_argument, "field \"virtual_time\": expected true or false");
  }
  header.virtual_time = virtual_time->get<bool>();
  auto name = read_string(document, "name");
  if (!name) return failure(name.error());
  header.name = std::move(*name);
  return header;
}

}  // namespace hocket
