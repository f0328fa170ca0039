#include "profiler/formats/dialects/xla_events.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "profiler/formats/kineto_events.h"

namespace hocket {
namespace {

constexpr std::string_view kDevice = "/device:", kHost = "/host:";

/// Lines of a device, by the names of their threads.
enum class Line : std::uint8_t { stream, instructions, modules, steps, repeats };

Line line_of(std::string_view thread_name) {
  if (thread_name.starts_with("Stream")) return Line::stream;
  if (thread_name == "XLA Ops") return Line::instructions;
  if (thread_name == "XLA Modules") return Line::modules;
  if (thread_name == "Steps") return Line::steps;
  return Line::repeats;
}

bool is_host(const PlainPlace& place) {
  return place.process_name.starts_with(kHost);
}

/// Returns the device of a process such as "/device:TPU:3" or "/device:GPU:0 (NVIDIA H200)".
std::optional<std::int64_t> device_of(std::string_view process_name) {
  if (!process_name.starts_with(kDevice)) return std::nullopt;
  process_name.remove_prefix(kDevice.size());
  const auto colon = process_name.find(':');
  if (colon == std::string_view::npos || process_name.starts_with("CUSTOM")) return std::nullopt;
  process_name.remove_prefix(colon + 1);
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(process_name.data(), process_name.data() + process_name.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  return number;
}

/// Parts of an instruction's name: "all-reduce-start.3" is the start of "all-reduce", number ".3".
struct Instruction {
  enum class Phase : std::uint8_t { whole, start, done };

  std::string_view stem, number;
  Phase phase = Phase::whole;
};

Instruction instruction_of(std::string_view name) {
  if (name.starts_with('%')) name.remove_prefix(1);
  name = name.substr(0, name.find(' '));
  Instruction parts;
  parts.stem = name.substr(0, name.find('.'));
  parts.number = name.substr(parts.stem.size());
  const auto ends = [&](std::string_view end, Instruction::Phase phase) {
    if (!parts.stem.ends_with(end) || parts.stem.size() == end.size()) return;
    parts.stem.remove_suffix(end.size());
    parts.phase = phase;
  };
  ends("-start", Instruction::Phase::start);
  ends("-done", Instruction::Phase::done);
  return parts;
}

bool is_copy(std::string_view name) {
  return name.starts_with("Memcpy") || name.starts_with("Memset") || name == "copy-start" ||
         name == "copy-done" || name == "copy";
}

/// An instruction that ran, or an asynchronous one from its start to its done.
struct Work {
  std::string name;
  const PlainEvent* event = nullptr;
  std::int64_t begin_ns = 0, end_ns = 0;
  bool is_copy = false;
};

/// Returns the events of a line that contain no others, in the order of their begins.
std::vector<const PlainEvent*> innermost(std::vector<const PlainEvent*> events) {
  std::ranges::stable_sort(events, {},
                           [](const PlainEvent* e) { return std::pair(e->begin_ns, ~e->end_ns); });
  std::vector<const PlainEvent*> found;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool contains = i + 1 < events.size() && events[i + 1]->begin_ns < events[i]->end_ns &&
                          events[i + 1]->end_ns <= events[i]->end_ns;
    if (!contains) found.push_back(events[i]);
  }
  return found;
}

/// Joins the starts and dones of a line's asynchronous instructions.
class Instructions {
 public:
  explicit Instructions(const PlainEvents& events) : events_(events) {}

  void take(const PlainEvent& event) {
    const Instruction parts = instruction_of(events_.name(event));
    const std::string name = std::string(parts.stem) + std::string(parts.number);
    const bool copies = parts.stem == "copy" && parts.phase != Instruction::Phase::whole;
    Work work{events_.name(event), &event, event.begin_ns, event.end_ns, copies};
    if (parts.phase == Instruction::Phase::start) {
      work.name = name;
      open_[std::string(parts.stem)].push_back(work_.size());
    } else if (parts.phase == Instruction::Phase::done) {
      work.name = name;
      if (const auto start = take_start(std::string(parts.stem), name)) {
        work_[*start].end_ns = std::max(work_[*start].end_ns, event.end_ns);
        return;
      }
    }
    work_.push_back(std::move(work));
  }

  const std::vector<Work>& work() const { return work_; }

 private:
  /// Returns the start with this name, else the first one that is open.
  std::optional<std::size_t> take_start(const std::string& stem, const std::string& name) {
    auto& open = open_[stem];
    if (open.empty()) return std::nullopt;
    // Few are in flight at once, so a look at the first ones is enough.
    constexpr std::size_t kMostInFlight = 64;
    const auto end =
        open.begin() + static_cast<std::ptrdiff_t>(std::min(open.size(), kMostInFlight));
    auto at = std::find_if(open.begin(), end, [&](std::size_t i) { return work_[i].name == name; });
    if (at == end) at = open.begin();
    const std::size_t found = *at;
    open.erase(at);
    return found;
  }

  const PlainEvents& events_;
  std::vector<Work> work_;
  std::map<std::string, std::deque<std::size_t>> open_;  ///< starts without a done, by stem
};

class XlaReader {
 public:
  XlaReader(const PlainEvents& events, ImportNotes& notes) : events_(events), notes_(notes) {
    for (const PlainEvent& event : events.events()) lines_[event.place].push_back(&event);
    for (const PlainPlace& place : events.places()) {
      if (const auto device = device_of(place.process_name)) {
        if (line_of(place.thread_name) == Line::stream) has_streams_.insert(*device);
        devices_.try_emplace(*device);
      }
    }
    has_devices_ = !devices_.empty();
    if (!has_devices_) devices_.try_emplace(0);
  }

  std::vector<RankTrace> read(const ChromeHead& head, std::string_view step_range) {
    for (const auto& [place, events] : lines_) read_line(events_.places()[place], events);
    read_host(step_range);
    std::vector<RankTrace> traces;
    for (auto& [device, kineto] : devices_) {
      if (kineto.is_empty()) continue;
      ChromeHead known = head;
      if (devices_.size() > 1) {
        known.rank = std::ssize(traces);
        known.world_size = std::ssize(devices_);
      }
      std::string_view prefix = step_range;
      if (prefix.empty() && steps_of_xla_.contains(device)) prefix = kStep;
      if (prefix.empty()) prefix = marked_steps_;
      traces.push_back(kineto.finish(known, prefix, notes_));
      traces.back().source = "xla";
    }
    for (RankTrace& trace : traces) trace.ranks = std::max(trace.ranks, std::ssize(traces));
    return traces;
  }

 private:
  static constexpr std::string_view kStep = "step";

  void read_line(const PlainPlace& place, const std::vector<const PlainEvent*>& events) {
    const auto device = device_of(place.process_name);
    if (!device) return;
    const Line line = line_of(place.thread_name);
    const bool has_streams = has_streams_.contains(*device);
    if (line == Line::repeats || (line == Line::instructions && has_streams)) {
      notes_.count("events of XLA's lines that repeat others", std::ssize(events));
      return;
    }
    KinetoEvents& kineto = devices_[*device];
    if (line == Line::instructions) return take_instructions(kineto, events);
    for (const PlainEvent* event : events) {
      if (line == Line::stream) {
        take(kineto, *event, is_copy(events_.name(*event)) ? "gpu_memcpy" : "kernel");
      } else if (line == Line::steps) {
        steps_of_xla_.insert(*device);
        take(kineto, *event, "user_annotation", std::string(kStep) + " " + events_.name(*event));
      } else {
        take(kineto, *event, "user_annotation");
      }
    }
  }

  void take_instructions(KinetoEvents& kineto, const std::vector<const PlainEvent*>& events) {
    std::vector<const PlainEvent*> whole;
    for (const PlainEvent* event : events) {
      if (event->is_whole) {
        whole.push_back(event);
      } else {
        take(kineto, *event, "kernel");
      }
    }
    const auto leaves = innermost(std::move(whole));
    Instructions instructions(events_);
    for (const PlainEvent* event : leaves) instructions.take(*event);
    for (const Work& work : instructions.work()) {
      ChromeEvent made = events_.restored(*work.event);
      made.name = work.name;
      made.category = work.is_copy ? "gpu_memcpy" : "kernel";
      made.begin_ns = work.begin_ns;
      kineto.take_record(made, work.end_ns, notes_);
    }
  }

  /// Reads the host's events. Those that mark steps are for all devices; the others, for the first.
  /// Without a device, the instructions that ran on the host are work.
  void read_host(std::string_view step_range) {
    for (const auto& [place, events] : lines_) {
      const PlainPlace& of_host = events_.places()[place];
      if (device_of(of_host.process_name)) continue;
      std::vector<const PlainEvent*> instructions;
      for (const PlainEvent* event : events) {
        const std::string& name = events_.name(*event);
        const bool is_instruction = is_host(of_host) && !events_.remark(*event).empty();
        if (is_instruction && !has_devices_) {
          instructions.push_back(event);
        } else if (is_host(of_host) && event->number && !is_instruction) {
          if (marked_steps_.empty()) marked_steps_ = name;
          take_for_all(*event, name + " " + std::to_string(*event->number));
        } else if (!step_range.empty() && name.starts_with(step_range)) {
          take_for_all(*event, name);
        } else {
          // Names of Python's functions begin with "$".
          take(devices_.begin()->second, *event,
               name.starts_with('$') ? "python_function" : "user_annotation");
        }
      }
      if (!instructions.empty()) take_instructions(devices_.begin()->second, instructions);
    }
  }

  /// Takes a range of the host as one of each device.
  void take_for_all(const PlainEvent& event, const std::string& name) {
    // Bounds how many times a file's events are copied. Hosts have fewer devices than that.
    constexpr std::size_t kMostDevices = 16;
    std::size_t copies = 0;
    for (auto& [device, kineto] : devices_) {
      if (copies++ == kMostDevices) break;
      take(kineto, event, "user_annotation", name);
    }
  }

  void take(KinetoEvents& kineto, const PlainEvent& event, const char* category,
            std::string name = {}) {
    ChromeEvent made = events_.restored(event);
    if (!name.empty()) made.name = std::move(name);
    made.category = category;
    kineto.take_record(made, PlainEvents::end_of(event), notes_);
  }

  const PlainEvents& events_;
  ImportNotes& notes_;
  std::map<std::uint32_t, std::vector<const PlainEvent*>> lines_;  ///< by place
  std::set<std::int64_t> has_streams_, steps_of_xla_;              ///< devices
  std::map<std::int64_t, KinetoEvents> devices_;
  bool has_devices_ = false;
  std::string marked_steps_;  ///< name of the ranges that the job marks as steps
};

}  // namespace

bool is_xla(const PlainEvents& events) {
  return std::ranges::any_of(events.places(), [](const PlainPlace& place) {
    return device_of(place.process_name) || place.process_name == "/host:CPU";
  });
}

std::vector<RankTrace> xla_traces(const PlainEvents& events, const ChromeHead& head,
                                  std::string_view step_range, ImportNotes& notes) {
  return XlaReader(events, notes).read(head, step_range);
}

}  // namespace hocket
