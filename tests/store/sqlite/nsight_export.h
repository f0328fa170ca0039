#pragma once

// Creates files like those of `nsys export --type sqlite`. One thread.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace hocket {

/// Tables of a recent version, with the columns that are read and some that are not.
inline constexpr char kNsightTables[] =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,"
    " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
    " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,"
    " launchType INTEGER, gridX INTEGER, graphNodeId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,"
    " correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,"
    " correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"
    " nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,"
    " rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,"
    " endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);"
    "CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL,"
    " name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT,"
    " localTime TEXT);";

inline constexpr char kNsightStrings[] =
    "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)'),"
    " (3, 'cudaLaunchKernel_v7000'), (4, 'iteration 8'), (5, 'gemm short');";

/// Runs `script` on a new database.
inline void write_database(const std::string& path, const std::string& script) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, script.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_close(db);
}

/// Returns the SQL for three steps of 1000 ns of process `pid`, without the tables: a launch, a
/// kernel on stream 7, an all-reduce on stream 20, a copy.
inline std::string nsight_steps(std::int64_t pid) {
  const std::string global_pid = std::to_string(pid << 24),
                    global_tid = std::to_string((pid << 24) + 77);
  std::string sql;
  for (int step = 0; step < 3; ++step) {
    const auto at = [&](int ns) { return std::to_string(1000 * step + ns); };
    const std::string gemm = std::to_string(10 + step), reduce = std::to_string(20 + step);
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + at(10) + "," + at(20) + ",0," +
           global_tid + "," + gemm + ",3,0,NULL), (" + at(30) + "," + at(40) + ",0," + global_tid +
           "," + reduce + ",3,0,NULL);";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + at(100) + "," + at(500) +
           ",0,1,NULL,7," + gemm + "," + global_pid + ",1,5,NULL,0,1,NULL), (" + at(300) + "," +
           at(700) + ",0,1,NULL,20," + reduce + "," + global_pid + ",2,2,NULL,0,1,NULL);";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" + at(800) + "," + at(850) +
           ",0,1,7,0," + global_pid + ",4096,1);";
    sql += "INSERT INTO NVTX_EVENTS VALUES (" + at(0) + "," + at(995) + ",59,NULL,0,0,'iteration " +
           std::to_string(step + 7) + "'," + global_tid + "," + global_tid + ",NULL,0);";
  }
  return sql;
}

/// Returns the SQL for a whole export, of process 5 alone.
inline std::string nsight_export() {
  std::string sql = std::string(kNsightTables) + kNsightStrings + nsight_steps(5);
  sql +=
      "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0,'x','Hostname',1,'node3');"
      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000,'','');";
  return sql;
}

}  // namespace hocket
