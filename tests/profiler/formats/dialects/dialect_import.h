#pragma once

// Reads small traces of other tools, and sums what was read.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

#include "profiler/formats/chrome_import.h"

namespace hocket::dialects {

using nlohmann::json;

inline ChromeImport read(const json& document, const ChromeImportOptions& options = {}) {
  std::istringstream in(document.dump());
  auto read = read_chrome_trace(in, options);
  EXPECT_TRUE(read) << read.error().message;
  return read ? std::move(*read) : ChromeImport();
}

/// Returns the name of a process or, with `thread`, of a thread of it.
inline json named(const json& process, const std::string& name, const json& thread = nullptr) {
  json event = {{"ph", "M"},
                {"name", thread.is_null() ? "process_name" : "thread_name"},
                {"pid", process},
                {"args", {{"name", name}}}};
  if (!thread.is_null()) event["tid"] = thread;
  return event;
}

/// Returns how many records have this kind, and this collective if one is given.
inline std::int64_t count(const RankTrace& trace, TraceKind kind,
                          std::optional<CollectiveKind> collective = std::nullopt) {
  std::int64_t found = 0;
  for (const TraceRecord& record : trace.records)
    found += record.kind == kind && (!collective || record.collective == collective) ? 1 : 0;
  return found;
}

inline std::int64_t total_ns(const RankTrace& trace, TraceKind kind) {
  std::int64_t sum = 0;
  for (const TraceRecord& record : trace.records)
    sum += record.kind == kind ? record.end_ns - record.begin_ns : 0;
  return sum;
}

}  // namespace hocket::dialects
