// Any bytes are read record by record up to their end or an error; each record takes at least one
// byte. They are also replayed, up to their end, an error or a difference.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "core/sim/tape_replay.h"
#include "core/tape/tape.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto reader = hocket::TapeReader::open(bytes);
  if (!reader) return 0;
  std::size_t records = 0;
  for (auto record = reader->next(); record && *record; record = reader->next()) ++records;
  HOCKET_CHECK(records <= size, "there are more records than bytes");

  reader = hocket::TapeReader::open(bytes);
  const auto replay = hocket::replay_tape(*reader);
  HOCKET_CHECK(!replay || replay->records <= records, "a replay reads what a reader reads");
  return 0;
}
