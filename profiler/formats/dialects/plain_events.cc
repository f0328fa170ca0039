#include "profiler/formats/dialects/plain_events.h"

namespace hocket {

bool PlainEvents::is_plain(const ChromeEvent& event) {
  // PyTorch without Kineto writes no categories, but states where an event ran.
  return event.category.empty() && event.process != "CUDA functions" &&
         event.process != "CPU functions";
}

void PlainEvents::take(const ChromeEvent& event, std::optional<std::int64_t> end_ns) {
  const auto [at, is_new] = place_numbers_.try_emplace({event.process, event.thread},
                                                       static_cast<std::uint32_t>(places_.size()));
  if (is_new) places_.push_back({.process = event.process, .thread = event.thread});
  const DialectArguments& dialect = event.dialect;
  PlainEvent& kept = events_.emplace_back();
  kept.name = texts_.number(event.name);
  kept.place = at->second;
  kept.remark = texts_.number(dialect.task_type.empty() ? dialect.hlo_op : dialect.task_type);
  kept.data_type = texts_.number(dialect.data_type);
  kept.number = dialect.step_number ? dialect.step_number : dialect.count;
  kept.is_whole = event.begin_ns && end_ns;
  if (kept.is_whole) {
    kept.begin_ns = *event.begin_ns;
    kept.end_ns = *end_ns;
  }
  if (event.arguments != ChromeArguments())
    kept.arguments = std::make_unique<ChromeArguments>(event.arguments);
}

void PlainEvents::take_metadata(const ChromeEvent& event) {
  if (event.name == "process_name" && !event.arguments.name.empty())
    process_names_[event.process] = event.arguments.name;
  if (event.name == "thread_name" && !event.arguments.name.empty())
    thread_names_[{event.process, event.thread}] = event.arguments.name;
}

void PlainEvents::finish() {
  for (PlainPlace& place : places_) {
    if (const auto named = process_names_.find(place.process); named != process_names_.end())
      place.process_name = named->second;
    const auto named = thread_names_.find({place.process, place.thread});
    if (named != thread_names_.end()) place.thread_name = named->second;
  }
}

ChromeEvent PlainEvents::restored(const PlainEvent& event) const {
  ChromeEvent restored;
  restored.phase = "X";
  restored.name = name(event);
  restored.process = place(event).process;
  restored.thread = place(event).thread;
  if (event.is_whole) restored.begin_ns = event.begin_ns;
  if (event.arguments) restored.arguments = *event.arguments;
  return restored;
}

}  // namespace hocket
