// Any bytes that a process shows as the lanes of a rank are refused, or are lanes of a rank of its
// mesh, in groups that the mesh has.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include "core/base/check.h"
#include "core/trace/lane_board.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  // Aligned as a mapping is, and as long as the input.
  constexpr std::align_val_t kAligned{4096};
  auto* const bytes = static_cast<std::byte*>(::operator new(size, kAligned));
  std::copy(data, data + size, reinterpret_cast<std::uint8_t*>(bytes));
  const auto read = read_lane_board({bytes, size});
  ::operator delete(bytes, kAligned);
  if (!read) {
    HOCKET_CHECK(read.error().message.find('\n') == std::string_view::npos,
                 "a message has one line");
    return 0;
  }
  HOCKET_CHECK(read->rank >= 0 && read->rank < read->mesh.grid().ranks, "a rank of the mesh");
  for (const ShownLane& lane : read->lanes) {
    HOCKET_CHECK(lane.name.size() <= kMostShownNameBytes, "as much of a name as a lane has");
    HOCKET_CHECK(lane.peer_rank < read->mesh.grid().ranks, "a rank of the mesh, or none");
    HOCKET_CHECK(read->mesh.parse_group(read->mesh.name_of(lane.group)).has_value(),
                 "a group of the mesh");
  }
  return 0;
}
