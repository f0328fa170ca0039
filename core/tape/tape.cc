#include "core/tape/tape.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/json_reader.h"

namespace hocket {
namespace {

constexpr const char* kTapeFormat = "hocket-tape";
constexpr int kTapeVersion = 4;
constexpr std::int64_t kMaxRanks = 1 << 24;

constexpr std::string_view kKinds[] = {
    "submitted",     "captured",     "launched",      "announced",     "ready",
    "started",       "started_part", "finished",      "finished_part", "configured",
    "finished_push", "started_pull", "finished_pull", "summed"};
constexpr std::array<std::string_view, 3> kOrders{"fifo", "priority", "announced"};

void read_header(JsonReader& reader, TapeHeader& header) {
  reader.format(kTapeFormat, kTapeVersion);
  reader.integer("partition_bytes", header.plan.partition_bytes, 1, kMaxTapeBytes);
  reader.integer("credit_bytes", header.plan.credit_bytes, 1, kMaxTapeBytes);
  reader.integer("servers", header.plan.servers, 0, kMaxTapeServers, 0);
  reader.integer("pull_credit_bytes", header.plan.pull_credit_bytes, 0, kMaxTapeBytes, 0);
  reader.integer("rank", header.rank, 0, kMaxRanks - 1);
  reader.integer("ranks", header.ranks, 1, kMaxRanks);
  reader.value("order", [&](const JsonValue& order) {
    header.plan.order = static_cast<PartOrder>(order.word(kOrders));
    if (header.plan.servers == 0) return;
    if (header.plan.order == PartOrder::announced || header.plan.pull_credit_bytes == 0)
      order.refuse("\"fifo\" or \"priority\", and \"pull_credit_bytes\", with \"servers\"");
  });
  reader.flag("virtual_time", header.virtual_time);
  reader.text("name", header.name);
}

}  // namespace

std::string_view to_string(TapeKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::string_view to_string(PartOrder order) {
  return kOrders[static_cast<std::size_t>(order)];
}

bool TapeTask::operator==(const TapeTask& other) const {
  return name == other.name && priority == other.priority && is_collective == other.is_collective &&
         bytes == other.bytes && lane == other.lane &&
         std::ranges::equal(accesses, other.accesses, [](const Access& a, const Access& b) {
           return a.data == b.data && a.mode == b.mode;
         });
}

std::string describe_record(const TapeRecord& record, const TapeReader& tape) {
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
             std::string(to_string(record.plan.order)) +
             (record.plan.servers == 0
                  ? ""
                  : ", servers " + std::to_string(record.plan.servers) + ", pull_credit_bytes " +
                        std::to_string(record.plan.pull_credit_bytes));
    default:
      break;
  }
  text += number + ' ' + std::string(tape.name_of(record.number));
  if (record.kind == TapeKind::submitted && record.tasks.front().is_collective)
    text += ", " + std::to_string(record.tasks.front().bytes) + " bytes";
  if (record.kind == TapeKind::submitted && record.tasks.front().lane != TaskLane::stream)
    text += ", lane " + std::string(to_string(record.tasks.front().lane));
  if (is_of_part(record.kind)) text += ", " + std::to_string(record.bytes) + " bytes";
  if (has_offset(record.kind)) text += " at " + std::to_string(record.offset_bytes);
  return text;
}

nlohmann::json to_json(const TapeHeader& header) {
  nlohmann::json document{{"format", kTapeFormat},
                          {"version", kTapeVersion},
                          {"rank", header.rank},
                          {"ranks", header.ranks},
                          {"virtual_time", header.virtual_time},
                          {"name", header.name}};
  document.update(to_json(header.plan));
  return document;
}

nlohmann::json to_json(const PlanOptions& options) {
  nlohmann::json document{{"partition_bytes", options.partition_bytes},
                          {"credit_bytes", options.credit_bytes},
                          {"order", to_string(options.order)}};
  if (options.servers > 0) {
    document["servers"] = options.servers;
    document["pull_credit_bytes"] = options.pull_credit_bytes;
  }
  return document;
}

Result<TapeHeader> tape_header_from_json(const nlohmann::json& document) {
  return read_json(document, read_header);
}

}  // namespace hocket
