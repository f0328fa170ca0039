#pragma once

// Kinds of collectives in a step. Any thread.
//
// Over parameter servers an all-reduce becomes parts that are pushed and parts that are pulled;
// these two kinds are those of records of what ran, never of tasks. A message between two ranks is
// a send on one and a receive on the other; both are kinds of tasks and of records, but not of
// collectives. In a shift all ranks of a group send at once, each to the one that is so many places
// behind it, round the end, and receive from the one as many places before (MPI's shift along a
// dimension, XLA's collective-permute).

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  push,
  pull,
  send,
  receive,
  shift,
};

/// Number of the kinds that records can have.
inline constexpr std::size_t kRecordedKinds = 10;

/// Kinds of tasks, but for messages.
inline constexpr std::array<CollectiveKind, 6> kCollectiveKinds{
    CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
    CollectiveKind::broadcast,  CollectiveKind::all_to_all,     CollectiveKind::shift};

constexpr std::string_view to_string(CollectiveKind kind) {
  constexpr std::array<std::string_view, kRecordedKinds> names{
      "all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all",
      "push",       "pull",           "send",       "receive",   "shift"};
  return names[static_cast<std::size_t>(kind)];
}

/// In the order of kCollectiveKinds.
inline constexpr auto kCollectiveKindNames = [] {
  std::array<std::string_view, kCollectiveKinds.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = to_string(kCollectiveKinds[i]);
  return names;
}();

/// Returns the name for messages to people: "all-reduce", …
constexpr std::string_view in_words(CollectiveKind kind) {
  constexpr std::array<std::string_view, kRecordedKinds> names{
      "all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all",
      "push",       "pull",           "send",       "receive",   "shift"};
  return names[static_cast<std::size_t>(kind)];
}

/// Returns whether the kind is that of a part on its way to a parameter server or back.
constexpr bool is_served(CollectiveKind recorded) {
  return recorded == CollectiveKind::push || recorded == CollectiveKind::pull;
}

/// Returns whether two ranks take part in it, and not all of a group.
constexpr bool is_message(CollectiveKind kind) {
  return kind == CollectiveKind::send || kind == CollectiveKind::receive;
}

/// Returns the kind of the task that a record of `recorded` belongs to.
constexpr CollectiveKind task_kind(CollectiveKind recorded) {
  return is_served(recorded) ? CollectiveKind::all_reduce : recorded;
}

/// Returns whether a record of `recorded` ends its part. A push does not: the part is pulled then.
constexpr bool ends_part(CollectiveKind recorded) {
  return recorded != CollectiveKind::push;
}

}  // namespace hocket
