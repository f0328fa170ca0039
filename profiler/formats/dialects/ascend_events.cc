#include "profiler/formats/dialects/ascend_events.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/collective_name.h"

namespace hocket {
namespace {

/// Layers of the file, by the names of their processes.
enum class Layer : std::uint8_t { hardware, communication, analysis, host_calls, other };

Layer layer_of(std::string_view process_name) {
  if (process_name.starts_with("Ascend Hardware")) return Layer::hardware;
  if (process_name.starts_with("Communication") || process_name.starts_with("HCCL"))
    return Layer::communication;
  if (process_name.starts_with("Overlap Analysis")) return Layer::analysis;
  if (process_name.starts_with("CANN") || process_name.starts_with("AscendCL"))
    return Layer::host_calls;
  return Layer::other;
}

/// Returns the letters of `text` in lower case, without what separates words.
std::string lower_letters(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) letters += static_cast<char>(std::tolower(byte));
  }
  return letters;
}

template <std::size_t N>
bool holds_any(const std::string& text, const std::array<std::string_view, N>& parts) {
  return std::ranges::any_of(parts,
                             [&](auto part) { return text.find(part) != std::string::npos; });
}

/// Kinds of a task in a stream.
enum class Task : std::uint8_t { kernel, copy, mark };

Task task_of(const std::string& type, const std::string& name) {
  constexpr std::array<std::string_view, 7> kMarks{
      "event", "notify", "placeholder", "writevalue", "profilertrace", "labelset", "streamactive"};
  constexpr std::array<std::string_view, 4> kCopies{"memcpy", "sdma", "pciedma", "rdma"};
  const std::string& said = type.empty() ? name : type;
  if (holds_any(said, kMarks)) return Task::mark;
  return holds_any(said, kCopies) ? Task::copy : Task::kernel;
}

/// Parts of "hcom_allReduce__503_96_1": the operation, the end of its group's hash, a number.
struct HcomName {
  std::string operation, group;
};

std::optional<HcomName> hcom_name(std::string_view name) {
  constexpr std::string_view kPrefix = "hcom_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  HcomName found;
  found.operation = name.substr(0, name.find('_'));
  const auto digits = name.find_first_of("0123456789");
  if (digits != std::string_view::npos) {
    name.remove_prefix(digits);
    found.group = name.substr(0, name.find_first_not_of("0123456789"));
  }
  return found;
}

/// Returns the type's name as PyTorch spells it; empty if unknown.
std::string_view element_type(std::string_view type) {
  struct Pair {
    std::string_view ascend, torch;
  };
  constexpr std::array kTypes{Pair{"FP32", "Float"},     Pair{"FP16", "Half"},
                              Pair{"BFP16", "BFloat16"}, Pair{"BF16", "BFloat16"},
                              Pair{"FP64", "Double"},    Pair{"INT8", "Char"},
                              Pair{"UINT8", "Byte"},     Pair{"INT16", "Short"},
                              Pair{"INT32", "Int"},      Pair{"INT64", "Long"}};
  const auto found = std::ranges::find(kTypes, type, &Pair::ascend);
  return found == kTypes.end() ? std::string_view() : found->torch;
}

class AscendReader {
 public:
  AscendReader(const PlainEvents& events, KinetoEvents& kineto, ImportNotes& notes)
      : events_(events), kineto_(kineto), notes_(notes) {
    for (const PlainPlace& place : events.places()) layers_.push_back(layer_of(place.process_name));
    collects_.resize(layers_.size());
    for (const PlainEvent& event : events.events()) {
      if (is_collective(event)) has_collectives_ = true;
      // A stream with notifications is one of a collective's.
      const std::string name = lower_letters(events.name(event));
      const std::string type = lower_letters(events.remark(event));
      if (layers_[event.place] == Layer::hardware &&
          (name.starts_with("notify") || type.starts_with("notify")))
        collects_[event.place] = true;
    }
  }

  void read() {
    for (const PlainEvent& event : events_.events()) {
      switch (layers_[event.place]) {
        case Layer::hardware:
          take_task(event);
          break;
        case Layer::communication:
          take_communication(event);
          break;
        case Layer::analysis:
          notes_.count("events of Ascend's Overlap Analysis, which repeat others");
          break;
        case Layer::host_calls:
          take(event, "runtime");
          break;
        case Layer::other:
          take(event, "");
      }
    }
  }

 private:
  /// Returns whether an event is a whole collective; the others of its layer are its tasks.
  bool is_collective(const PlainEvent& event) const {
    if (layers_[event.place] != Layer::communication) return false;
    const std::string& thread = events_.place(event).thread_name;
    if (thread.starts_with("Plane")) return false;
    return communication_name(events_.name(event)).has_value();
  }

  void take_task(const PlainEvent& event) {
    const std::string& name = events_.name(event);
    const Task task = task_of(lower_letters(events_.remark(event)), lower_letters(name));
    if (task == Task::mark) return notes_.count("waits and marks of Ascend's streams");
    const bool is_part =
        communication_name(name).has_value() || (task == Task::copy && collects_[event.place]);
    if (is_part && has_collectives_) return leave_out_part();
    ChromeEvent made = events_.restored(event);
    std::int64_t stream = 0;
    const auto [end, error] =
        std::from_chars(made.thread.data(), made.thread.data() + made.thread.size(), stream);
    if (error == std::errc() && end == made.thread.data() + made.thread.size())
      made.arguments.stream = stream;
    made.category = task == Task::copy ? "gpu_memcpy" : "kernel";
    kineto_.take_record(made, PlainEvents::end_of(event), notes_);
  }

  void take_communication(const PlainEvent& event) {
    if (!is_collective(event)) return leave_out_part();
    ChromeEvent made = events_.restored(event);
    made.category = "kernel";
    if (const auto parts = hcom_name(made.name)) {
      made.arguments.collective_name = parts->operation;
      made.arguments.group = parts->group;
    }
    // A count is of all ranks' elements only where each rank has all of them.
    const auto kind = spelled_collective(made.name);
    if (kind == CollectiveKind::all_reduce || kind == CollectiveKind::broadcast) {
      made.arguments.elements_in = event.number;
      made.arguments.element_type = element_type(events_.data_type(event));
    }
    kineto_.take_record(made, PlainEvents::end_of(event), notes_);
  }

  void leave_out_part() {
    notes_.count("tasks of Ascend's collectives, which are read as a whole");
  }

  void take(const PlainEvent& event, std::string category) {
    ChromeEvent made = events_.restored(event);
    made.category = std::move(category);
    kineto_.take_record(made, PlainEvents::end_of(event), notes_);
  }

  const PlainEvents& events_;
  KinetoEvents& kineto_;
  ImportNotes& notes_;
  std::vector<Layer> layers_;   ///< by place
  std::vector<bool> collects_;  ///< by place: the stream works for collectives
  bool has_collectives_ = false;
};

}  // namespace

bool is_ascend(const PlainEvents& events) {
  return std::ranges::any_of(events.places(), [](const PlainPlace& place) {
    const Layer layer = layer_of(place.process_name);
    return layer == Layer::hardware || layer == Layer::analysis;
  });
}

void take_ascend(const PlainEvents& events, KinetoEvents& kineto, ImportNotes& notes) {
  AscendReader(events, kineto, notes).read();
}

}  // namespace hocket
