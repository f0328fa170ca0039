#include "store/sqlite/trace_schema.h"

#include <string_view>
#include <utility>

namespace hocket::sqlite {
namespace {

// Columns in Nsight's order, followed by hocket's own. Unknown values are NULL: it takes no space
// and joins with nothing.
constexpr char kTables[] = R"sql(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT NOT NULL);

CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER REFERENCES StringIds (id), shortName INTEGER REFERENCES StringIds (id),
  hocketKind TEXT NOT NULL, hocketCollective TEXT, hocketStep INTEGER, hocketTask INTEGER,
  hocketBytes INTEGER, hocketGroup INTEGER REFERENCES HOCKET_GROUPS (id), hocketSequence INTEGER,
  hocketSubmitted INTEGER, hocketReady INTEGER
);

CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER,
  hocketName INTEGER REFERENCES StringIds (id), hocketStep INTEGER, hocketTask INTEGER,
  hocketSequence INTEGER, hocketSubmitted INTEGER, hocketReady INTEGER
);

CREATE TABLE NVTX_EVENTS (
  start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
  textId INTEGER REFERENCES StringIds (id), hocketStep INTEGER, hocketTask INTEGER
);

CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
  start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL REFERENCES StringIds (id), hocketStep INTEGER,
  hocketTask INTEGER
);

CREATE TABLE HOCKET_GROUPS (id INTEGER PRIMARY KEY, name TEXT NOT NULL, ranks TEXT NOT NULL);

CREATE TABLE HOCKET_STEPS (step INTEGER NOT NULL, start INTEGER NOT NULL);

CREATE TABLE HOCKET_CLOCK_SAMPLES (clock INTEGER NOT NULL, realtime INTEGER NOT NULL);

CREATE TABLE HOCKET_BLOCKS (
  id INTEGER PRIMARY KEY, start INTEGER NOT NULL, end INTEGER NOT NULL, records INTEGER NOT NULL,
  data BLOB NOT NULL
);
)sql";

}  // namespace

Result<void> create_trace_tables(Connection& db, const RankTrace& head) {
  auto transaction = Transaction::begin(db, Transaction::Kind::write);
  HOCKET_TRY(transaction);
  if (auto ok = db.execute_script(kTables); !ok) return ok;
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::string>(kRankKey, std::to_string(head.rank)),
        {kRanksKey, std::to_string(head.ranks)},
        {kHostKey, head.host},
        {kSourceKey, head.source},
        {kDroppedKey, "0"},
        {kQuarantinedKey, "0"},
        {kShortenedKey, "0"},
        {kFinishedKey, "0"}}) {
    auto ok =
        db.execute("INSERT INTO META_DATA_CAPTURE (name, value) VALUES (?1, ?2)", name, value);
    if (!ok) return ok;
  }
  const std::string mark = "PRAGMA application_id = " + std::to_string(kTraceApplicationId) +
                           "; PRAGMA user_version = " + std::to_string(kTraceVersion);
  if (auto ok = db.execute_script(mark.c_str()); !ok) return ok;
  return transaction->commit();
}

Error no_trace(const std::string& path, const std::string& why) {
  return {ErrorCode::invalid_argument, path + " is not a trace: " + why +
                                           "; expected a file that hocket wrote or that "
                                           "`nsys export --type sqlite` made"};
}

Error damaged_trace(const std::string& path, const std::string& why) {
  return {kTraceSubject.damaged, std::string(kTraceSubject.noun) + " " + path + " is damaged (" +
                                     why + "); save what is left with sqlite3's .recover command"};
}

}  // namespace hocket::sqlite
