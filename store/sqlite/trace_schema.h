#pragma once

// The tables of a trace file (docs/formats/trace_file.md) and the setup of its connections. Not
// thread-safe.

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "store/sqlite/connection.h"

namespace hocket::sqlite {

/// PRAGMA application_id of a trace file: "hctr".
inline constexpr std::int64_t kTraceApplicationId = 0x68637472;
inline constexpr std::int64_t kTraceVersion = 2;
/// Version without HOCKET_GROUPS: all its records are of kAllRanks.
inline constexpr std::int64_t kTraceVersionWithoutGroups = 1;

inline constexpr int kTraceBusyTimeoutMs = 5000;

inline constexpr Subject kTraceSubject = {
    .noun = "trace file", .advice = "name another trace", .damaged = ErrorCode::invalid_argument};

/// Records in a block of HOCKET_BLOCKS, except the last one of each append.
inline constexpr std::int64_t kRecordsPerBlock = 512;
/// Most that a reader takes.
inline constexpr std::int64_t kMostRecordsInBlock = 4096;

/// Streams share one number range in Nsight: computation below this number, communication from it
/// on.
inline constexpr std::int64_t kFirstChannelStream = 1'000'000;

/// Bits of the thread in Nsight's `globalPid` and `globalTid`, below 24 bits of a process. A rank
/// is stored as a process, and its host thread as the thread.
inline constexpr std::int64_t kThreadBits = 24;
inline constexpr std::int64_t kMaxRanks = std::int64_t{1} << 24;

// Names in META_DATA_CAPTURE.
inline constexpr char kRankKey[] = "HOCKET_RANK";
inline constexpr char kRanksKey[] = "HOCKET_RANKS";
inline constexpr char kHostKey[] = "HOCKET_HOST";
inline constexpr char kSourceKey[] = "HOCKET_SOURCE";
inline constexpr char kDroppedKey[] = "HOCKET_DROPPED";
inline constexpr char kQuarantinedKey[] = "HOCKET_QUARANTINED";
inline constexpr char kShortenedKey[] = "HOCKET_SHORTENED";
inline constexpr char kFinishedKey[] = "HOCKET_FINISHED";

/// Creates the tables in an empty file and marks it as a trace file, for the trace of `head`.
Result<void> create_trace_tables(Connection& db, const RankTrace& head);

/// Returns the error for a file at `path` that holds no trace, or that cannot be read; `why` is the
/// reason.
Error no_trace(const std::string& path, const std::string& why);
Error damaged_trace(const std::string& path, const std::string& why);

}  // namespace hocket::sqlite
