#pragma once

// Decodes Perfetto traces using only the wire format of protocol buffers
// (https://protobuf.dev/programming-guides/encoding/) and the field numbers of Perfetto's
// documentation: it shares no code and no description with the writer. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

struct DecodedSlice {
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::string name, category;
  std::map<std::string, std::int64_t> integers;
  std::map<std::string, std::string> texts;
  std::vector<std::uint64_t> flows;        ///< arrows that begin here
  std::vector<std::uint64_t> terminating;  ///< arrows that end here, told with the slice's end
  std::size_t depth = 0;                   ///< number of open slices on its track
};

struct DecodedTrack {
  std::string name;
  std::uint64_t parent = 0;
  std::string process;  ///< set on a process's track
  std::vector<DecodedSlice> slices;
};

/// Tracks by their numbers.
using DecodedTracks = std::map<std::uint64_t, DecodedTrack>;

/// Decodes a trace. Returns nothing if the bytes are no trace, or break a rule: a reference to an
/// unknown name or track, an end without a begin, a slice that stays open, times of one sequence
/// that go back.
std::optional<DecodedTracks> decode_perfetto(std::string_view bytes, std::string& problem);

}  // namespace hocket
