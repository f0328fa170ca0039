#include "core/programs/communication_program.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <utility>

#include "core/collective/part_sizes.h"
#include "core/description/step_description.h"

namespace hocket {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they are");

constexpr std::uint8_t kProgramVersion = 1;
constexpr std::uint16_t kAllAxes = 0xffff;
/// Bytes of a communication without a name.
constexpr std::size_t kLeastCommunicationBytes = 17;

template <std::integral Number>
void put(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Takes numbers and texts from the front of bytes, until they are too few.
class ProgramReader {
 public:
  explicit ProgramReader(std::string_view bytes) : left_(bytes) {}

  template <std::integral Number>
  bool take(Number& number) {
    if (left_.size() < sizeof number) return false;
    std::memcpy(&number, left_.data(), sizeof number);
    left_.remove_prefix(sizeof number);
    return true;
  }
  bool take(std::string& text, std::size_t size) {
    if (left_.size() < size) return false;
    text = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }
  std::size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
};

tl::unexpected<Error> malformed(const std::string& why) {
  return invalid("its program is malformed: " + why);
}

tl::unexpected<Error> malformed_end() {
  return malformed("it ends too early");
}

bool is_task_kind(std::uint8_t kind) {
  return kind < kRecordedKinds && !is_served(CollectiveKind(kind));
}

Result<CollectiveGroup> group_of_bits(std::uint16_t bits, const Mesh& mesh) {
  if (bits == kAllAxes) return CollectiveGroup::world;
  if (bits >> mesh.axes().size() != 0) return malformed("a group has axes that the mesh has not");
  CollectiveGroup group{AxisSet::none(), GroupTier::whole};
  for (std::size_t axis = 0; axis < mesh.axes().size(); ++axis)
    if (bits >> axis & 1u) group.axes = group.axes.with(AxisSet::of(axis));
  return group;
}

/// Returns the number of peers that a communication of this kind may name.
std::int64_t possible_peers(CollectiveKind kind, std::int64_t members) {
  const bool names_one =
      is_message(kind) || kind == CollectiveKind::broadcast || kind == CollectiveKind::shift;
  return names_one ? members : 1;
}

Result<ProgramCommunication> take_communication(ProgramReader& reader, const Mesh& mesh) {
  ProgramCommunication found;
  std::uint8_t kind = 0, type = 0, name_bytes = 0;
  std::uint16_t axes = 0;
  if (!reader.take(kind) || !reader.take(type) || !reader.take(axes) || !reader.take(found.peer) ||
      !reader.take(found.bytes) || !reader.take(name_bytes))
    return malformed_end();
  if (name_bytes > kMostProgramNameBytes) return malformed("a name is too long");
  if (!reader.take(found.name, name_bytes)) return malformed_end();
  if (!is_task_kind(kind)) return malformed("there is no kind " + std::to_string(kind));
  if (type > static_cast<std::uint8_t>(ElementType::float16))
    return malformed("there is no element type " + std::to_string(type));
  if (found.bytes < 0 || found.bytes > kMaxStepTaskBytes)
    return malformed("a communication has " + std::to_string(found.bytes) + " bytes");
  const auto group = group_of_bits(axes, mesh);
  HOCKET_TRY(group);
  found.kind = CollectiveKind(kind);
  found.type = ElementType(type);
  found.group = *group;
  if (found.peer >= possible_peers(found.kind, mesh.size_of(found.group)))
    return malformed("a group has no member " + std::to_string(found.peer));
  return found;
}

/// Checks that the order has each communication as often as it has parts.
Result<void> check_parts(const CommunicationProgram& program) {
  std::vector<std::int64_t> parts(program.communications.size());
  for (const std::uint32_t number : program.part_order) {
    if (number >= parts.size()) return malformed("the static order has a communication too many");
    ++parts[number];
  }
  if (program.order != BeginOrder::static_order) {
    if (!program.part_order.empty()) return malformed("it has a static order that nothing follows");
    return {};
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] != part_count(program.communications[i].bytes, program.partition_bytes))
      return malformed("the static order has other parts than the step");
  }
  return {};
}

}  // namespace

std::string bytes_of(const CommunicationProgram& program) {
  std::string bytes;
  put(bytes, kProgramVersion);
  const std::string refusal = program.refusal.substr(0, kMostRefusalBytes);
  put(bytes, static_cast<std::uint32_t>(refusal.size()));
  bytes += refusal;
  if (!refusal.empty()) return bytes;
  put(bytes, static_cast<std::uint8_t>(program.order));
  put(bytes, program.partition_bytes);
  put(bytes, static_cast<std::uint32_t>(program.communications.size()));
  for (const ProgramCommunication& communication : program.communications) {
    const std::string name = communication.name.substr(0, kMostProgramNameBytes);
    put(bytes, static_cast<std::uint8_t>(communication.kind));
    put(bytes, static_cast<std::uint8_t>(communication.type));
    put(bytes, communication.group.axes.bits());
    put(bytes, communication.peer);
    put(bytes, communication.bytes);
    put(bytes, static_cast<std::uint8_t>(name.size()));
    bytes += name;
  }
  put(bytes, static_cast<std::uint32_t>(program.part_order.size()));
  for (const std::uint32_t number : program.part_order) put(bytes, number);
  return bytes;
}

Result<CommunicationProgram> program_from_bytes(std::string_view bytes, const Mesh& mesh) {
  ProgramReader reader(bytes);
  CommunicationProgram program;
  std::uint8_t version = 0, order = 0;
  std::uint32_t refusal_bytes = 0, count = 0, parts = 0;
  if (!reader.take(version) || !reader.take(refusal_bytes)) return malformed_end();
  if (version != kProgramVersion) return malformed("its version is " + std::to_string(version));
  if (refusal_bytes > kMostRefusalBytes) return malformed("its refusal is too long");
  if (!reader.take(program.refusal, refusal_bytes)) return malformed_end();
  if (!program.refusal.empty()) {
    if (reader.left() > 0) return malformed("something follows its refusal");
    return program;
  }
  if (!reader.take(order) || !reader.take(program.partition_bytes) || !reader.take(count))
    return malformed_end();
  if (order > static_cast<std::uint8_t>(BeginOrder::negotiated))
    return malformed("there is no order " + std::to_string(order));
  program.order = BeginOrder(order);
  if (program.partition_bytes < 1 || program.partition_bytes > kMaxStepTaskBytes)
    return malformed("partition_bytes is " + std::to_string(program.partition_bytes));
  if (count > reader.left() / kLeastCommunicationBytes) return malformed_end();
  program.communications.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto communication = take_communication(reader, mesh);
    HOCKET_TRY(communication);
    program.communications.push_back(std::move(*communication));
  }
  if (!reader.take(parts)) return malformed_end();
  if (parts > reader.left() / sizeof(std::uint32_t)) return malformed_end();
  program.part_order.resize(parts);
  for (std::uint32_t& number : program.part_order) reader.take(number);
  if (reader.left() > 0) return malformed("something follows its end");
  HOCKET_TRY(check_parts(program));
  return program;
}

}  // namespace hocket
