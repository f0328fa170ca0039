#include "core/tape/tape.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/json_reader.h"

namespace hocket {
namespace {

constexpr const char* kTapeFormat = "hocket-tape";
constexpr int kTapeVersion = 5;
constexpr std::int64_t kMaxRanks = 1 << 24;

constexpr std::string_view kKinds[] = {
    "submitted",     "captured",     "launched",      "announced",     "ready",
    "started",       "started_part", "finished",      "finished_part", "configured",
    "finished_push", "started_pull", "finished_pull", "summed"};
constexpr std::array<std::string_view, 3> kOrders{"fifo", "priority", "announced"};

void read_axis(JsonReader& reader, MeshAxis& axis) {
  reader.text("name", axis.name);
  reader.integer("size", axis.size, 1, kMaxRanks);
}

void read_mesh(JsonReader& reader, TapeHeader& header) {
  reader.integer("ranks_per_host", header.ranks_per_host, 1, kMaxRanks, 1);
  reader.parts("mesh", header.axes, read_axis, kMostAxes, kOptional);
  Mesh mesh;
  reader.self().take(Mesh::make(header.axes, {header.ranks, header.ranks_per_host}), mesh);
}

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
  read_mesh(reader, header);
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
         bytes == other.bytes && lane == other.lane && communication == other.communication &&
         std::ranges::equal(accesses, other.accesses, [](const Access& a, const Access& b) {
           return a.data == b.data && a.mode == b.mode;
         });
}

std::string group_text(CollectiveGroup group, const TapeReader& tape) {
  if (group.axes.is_all() || !tape.mesh().axes().empty()) return tape.mesh().name_of(group);
  std::string text;
  for (std::size_t axis = 0; axis < kMostAxes; ++axis)
    if (group.axes.has(axis)) text += (text.empty() ? "axes " : "+") + std::to_string(axis);
  return group.tier == GroupTier::whole ? text : text + ':' + std::string(to_string(group.tier));
}

std::optional<std::int64_t> peer_rank(const TaskCommunication& message, const TapeReader& tape) {
  const Mesh& mesh = tape.mesh();
  const std::int64_t rank = tape.header().rank;
  if (!is_message(message.kind) || message.group.tier != GroupTier::whole ||
      rank >= mesh.grid().ranks || (!message.group.axes.is_all() && mesh.axes().empty()))
    return std::nullopt;
  const std::int64_t size = mesh.size_of(message.group);
  std::int64_t peer = message.peer;
  if (message.is_relative) {
    const std::int64_t place = mesh.index_in(message.group.axes, rank) + peer % size;
    peer = (place + size) % size;
  }
  if (peer < 0 || peer >= size) return std::nullopt;
  return mesh.rank_at(message.group.axes, rank, peer);
}

namespace {

/// Returns ", send to rank 3" and the like; nothing for an all-reduce of all ranks, which older
/// tapes do not tell from other collectives.
std::string communication_text(const TaskCommunication& communication, const TapeReader& tape) {
  if (communication == TaskCommunication{}) return "";
  const std::string kind = ", " + std::string(in_words(communication.kind));
  if (const auto peer = peer_rank(communication, tape)) {
    return kind + (communication.kind == CollectiveKind::send ? " to rank " : " from rank ") +
           std::to_string(*peer);
  }
  return kind + " in " + group_text(communication.group, tape);
}

}  // namespace

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
    text += communication_text(record.tasks.front().communication, tape) + ", " +
            std::to_string(record.tasks.front().bytes) + " bytes";
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
  if (header.ranks_per_host != 1) document["ranks_per_host"] = header.ranks_per_host;
  for (const MeshAxis& axis : header.axes)
    document["mesh"].push_back({{"name", axis.name}, {"size", axis.size}});
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
