#pragma once

// The names of record kinds in exported timelines. Pure.

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "core/trace/trace_sink.h"

namespace hocket {

inline constexpr std::array<std::pair<TraceKind, std::string_view>, 5> kCategories{{
    {TraceKind::compute, "compute"},
    {TraceKind::communication, "communication"},
    {TraceKind::copy, "copy"},
    {TraceKind::range, "range"},
    {TraceKind::call, "call"},
}};

constexpr std::string_view category_of(TraceKind kind) {
  return kCategories[static_cast<std::size_t>(kind)].second;
}

/// Returns nothing if no kind has this name.
constexpr std::optional<TraceKind> kind_of_category(std::string_view category) {
  for (const auto& [kind, name] : kCategories) {
    if (name == category) return kind;
  }
  return std::nullopt;
}

}  // namespace hocket
