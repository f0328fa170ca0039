#include "tests/profiler/formats/perfetto_decoder.h"

#include <algorithm>
#include <utility>

namespace hocket {
namespace {

struct Field {
  std::uint64_t number = 0, value = 0;
  std::string_view bytes;
};

class Problem {
 public:
  explicit Problem(std::string& text) : text_(text) {}
  void operator()(const std::string& text) {
    if (text_.empty()) text_ = text;
  }
  bool any() const { return !text_.empty(); }

 private:
  std::string& text_;
};

class WireReader {
 public:
  WireReader(std::string_view rest, Problem& problem) : rest_(rest), problem_(problem) {}

  std::optional<Field> next() {
    if (rest_.empty() || problem_.any()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field{tag >> 3, 0, {}};
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        for (const char c : take(8)) field.value = (field.value >> 8) | fixed_byte(c);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      default:
        problem_("an unknown wire type");
    }
    if (problem_.any()) return std::nullopt;
    return field;
  }

 private:
  static std::uint64_t fixed_byte(char c) {
    return std::uint64_t{static_cast<unsigned char>(c)} << 56;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    problem_("a number that does not end");
    return 0;
  }

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      problem_("a field longer than what is left");
      return {};
    }
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  Problem& problem_;
};

std::vector<Field> fields_of(std::string_view bytes, Problem& problem) {
  std::vector<Field> fields;
  WireReader reader(bytes, problem);
  while (const auto field = reader.next()) fields.push_back(*field);
  return fields;
}

/// The interned names of one packet sequence.
struct Sequence {
  bool was_cleared = false;
  /// By field of InternedData.
  std::map<std::uint64_t, std::map<std::uint64_t, std::string>> names;
};

class Decoder {
 public:
  explicit Decoder(Problem& problem) : problem_(problem) {}

  void packet(std::string_view bytes) {
    const auto fields = fields_of(bytes, problem_);
    std::uint64_t timestamp = 0, sequence_id = 0, flags = 0;
    for (const Field& field : fields) {
      if (field.number == 8) timestamp = field.value;
      if (field.number == 10) sequence_id = field.value;
      if (field.number == 13) flags = field.value;
    }
    if (sequence_id == 0) problem_("a packet of no sequence");
    Sequence& sequence = sequences_[sequence_id];
    if ((flags & 1) != 0) {
      sequence = {};
      sequence.was_cleared = true;
    }
    if ((flags & 2) != 0 && !sequence.was_cleared) problem_("state that was never begun");
    for (const Field& field : fields) {
      if (field.number == 12) interned(field.bytes, sequence);
      if (field.number == 60) descriptor(field.bytes);
    }
    for (const Field& field : fields) {
      if (field.number == 11) event(field.bytes, timestamp, sequence);
    }
  }

  std::map<std::uint64_t, DecodedTrack> finish() {
    for (const auto& [uuid, open] : open_) {
      if (!open.empty()) problem_("a slice that stays open");
    }
    return std::move(tracks_);
  }

 private:
  void interned(std::string_view bytes, Sequence& sequence) {
    for (const Field& entry : fields_of(bytes, problem_)) {
      std::uint64_t iid = 0;
      std::string name;
      for (const Field& field : fields_of(entry.bytes, problem_)) {
        if (field.number == 1) iid = field.value;
        if (field.number == 2) name = std::string(field.bytes);
      }
      if (iid == 0) problem_("an interned name without a number");
      sequence.names[entry.number][iid] = name;
    }
  }

  std::string name_of(const Sequence& sequence, std::uint64_t field, std::uint64_t iid) {
    const auto names = sequence.names.find(field);
    if (names != sequence.names.end()) {
      const auto name = names->second.find(iid);
      if (name != names->second.end()) return name->second;
    }
    problem_("a name that was not told");
    return {};
  }

  void descriptor(std::string_view bytes) {
    DecodedTrack track;
    std::uint64_t uuid = 0;
    for (const Field& field : fields_of(bytes, problem_)) {
      if (field.number == 1) uuid = field.value;
      if (field.number == 2) track.name = std::string(field.bytes);
      if (field.number == 5) track.parent = field.value;
      if (field.number != 3) continue;
      for (const Field& of_process : fields_of(field.bytes, problem_)) {
        if (of_process.number == 6) track.process = std::string(of_process.bytes);
      }
    }
    if (uuid == 0 || !tracks_.emplace(uuid, track).second) problem_("a track told twice");
  }

  void annotation(std::string_view bytes, const Sequence& sequence, DecodedSlice& slice) {
    std::string name;
    for (const Field& field : fields_of(bytes, problem_)) {
      if (field.number == 1) name = name_of(sequence, 3, field.value);
      if (field.number == 4) slice.integers[name] = static_cast<std::int64_t>(field.value);
      if (field.number == 6) slice.texts[name] = std::string(field.bytes);
    }
  }

  void event(std::string_view bytes, std::uint64_t timestamp, Sequence& sequence) {
    DecodedSlice slice;
    std::uint64_t type = 0, uuid = 0;
    for (const Field& field : fields_of(bytes, problem_)) {
      if (field.number == 3) slice.category = name_of(sequence, 1, field.value);
      if (field.number == 4) annotation(field.bytes, sequence, slice);
      if (field.number == 9) type = field.value;
      if (field.number == 10) slice.name = name_of(sequence, 2, field.value);
      if (field.number == 11) uuid = field.value;
      if (field.number == 47) slice.flows.push_back(field.value);
      if (field.number == 48) slice.terminating.push_back(field.value);
    }
    const auto track = tracks_.find(uuid);
    if (track == tracks_.end()) return problem_("an event on a track that was not told");
    auto& slices = track->second.slices;
    auto& open = open_[uuid];
    if (timestamp < latest_[uuid]) problem_("times of a track that go back");
    latest_[uuid] = timestamp;
    if (type == 1) {
      slice.begin_ns = timestamp;
      slice.depth = open.size();
      open.push_back(slices.size());
      slices.push_back(slice);
    } else if (type == 2) {
      if (open.empty()) return problem_("an end without a begin");
      slices[open.back()].end_ns = timestamp;
      slices[open.back()].terminating = slice.terminating;
      open.pop_back();
    } else {
      problem_("an event of another type");
    }
  }

  Problem& problem_;
  std::map<std::uint64_t, Sequence> sequences_;
  std::map<std::uint64_t, DecodedTrack> tracks_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;
  std::map<std::uint64_t, std::uint64_t> latest_;
};

}  // namespace

std::optional<std::map<std::uint64_t, DecodedTrack>> decode_perfetto(std::string_view bytes,
                                                                     std::string& text) {
  text.clear();
  Problem problem(text);
  Decoder decoder(problem);
  for (const Field& field : fields_of(bytes, problem)) {
    if (field.number != 1) problem("a field of a trace that is no packet");
    decoder.packet(field.bytes);
  }
  auto tracks = decoder.finish();
  if (problem.any()) return std::nullopt;
  return tracks;
}

}  // namespace hocket
