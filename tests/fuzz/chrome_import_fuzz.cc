// Any bytes are read as traces that keep the rules of core/trace/rank_trace.h, or refused with an
// error; traces that were read are written and read back equal.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "core/base/check.h"
#include "profiler/formats/chrome_import.h"
#include "profiler/formats/chrome_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const auto read = hocket::read_chrome_trace(in);
  if (!read) return 0;
  std::size_t records = 0;
  for (const hocket::RankTrace& trace : read->traces) {
    records += trace.records.size();
    for (const hocket::TraceRecord& record : trace.records) {
      HOCKET_CHECK(is_plausible(record) && record.name < trace.names.size(), "records are true");
    }
    std::stringstream text;
    {
      hocket::ChromeTraceWriter writer(text);
      writer.write(trace);
      HOCKET_CHECK(writer.finish().has_value(), "memory takes every trace");
    }
    const auto again = hocket::read_chrome_trace(text);
    HOCKET_CHECK(again && again->traces.size() == 1, "what was written is read");
    HOCKET_CHECK(again->traces.front().records.size() == trace.records.size(),
                 "every record is read back");
  }
  HOCKET_CHECK(records <= size, "there are more records than bytes");
  return 0;
}
