#pragma once

// The communications that a rank's step submits, as the ranks of a job show them to each other
// before they run (core/programs/program_check.h), and their form as bytes. Peers are given by
// their distance, so that ranks that do the same have equal programs. Pure; any thread.
//
// Numbers are little-endian. A program is
//   u8  version, 1
//   u32 bytes of the refusal, then that text; nothing follows one that is not empty
//   u8  order, i64 partition_bytes
//   u32 number of communications, then for each:
//       u8 kind, u8 type, u16 axes of the group, u32 peer, i64 bytes, u8 bytes of the name, the
//       name
//   u32 number of parts in the static order, then for each: u32 communication
// The reader checks everything, since the bytes come from another rank.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/collective_group.h"
#include "core/step/collective_kind.h"
#include "core/step/element_type.h"
#include "core/step/mesh.h"

namespace hocket {

/// The order in which a rank begins its communications.
enum class BeginOrder : std::uint8_t {
  submission,
  static_order,  ///< that of CommunicationProgram::part_order
  negotiated,    ///< as rank 0 decides; all are of all ranks
};

struct ProgramCommunication {
  std::string name = {};  ///< for people; at most kMostProgramNameBytes are kept
  CollectiveKind kind = CollectiveKind::all_reduce;
  ElementType type = ElementType::float32;
  /// Its tier is `whole`.
  CollectiveGroup group = CollectiveGroup::world;
  /// A message: the distance from this rank's index in the group to the other one's, round the end
  /// to the beginning. A shift: how far it goes. A broadcast: the index of its root. Otherwise 0.
  std::uint32_t peer = 0;
  /// Bytes that are divided into parts: for an all-to-all its bound, times the members.
  std::int64_t bytes = 0;

  bool operator==(const ProgramCommunication&) const = default;
};

struct CommunicationProgram {
  /// Reason why the rank cannot run its step, for people. If it is not empty, the rest is.
  std::string refusal = {};
  BeginOrder order = BeginOrder::submission;
  std::int64_t partition_bytes = 1;
  std::vector<ProgramCommunication> communications = {};  ///< in order of submission
  /// The order of parts under `static_order`, by number of the communication.
  std::vector<std::uint32_t> part_order = {};

  bool operator==(const CommunicationProgram&) const = default;
};

inline constexpr std::size_t kMostProgramNameBytes = 80;
inline constexpr std::size_t kMostRefusalBytes = 2000;

/// Returns the form as bytes.
std::string bytes_of(const CommunicationProgram& program);

/// Reads it back, with groups and peers of `mesh`. invalid_argument for bytes that are no program,
/// and for a static order that has not each communication as often as it has parts.
Result<CommunicationProgram> program_from_bytes(std::string_view bytes, const Mesh& mesh);

}  // namespace hocket
