#pragma once

// Writes a job's rank as the SQL of an export of Nsight Systems. Pure.

#include <map>
#include <string>

#include "tests/profiler/formats/dialect_job.h"
#include "tests/profiler/formats/kineto_dialect.h"

namespace hocket::dialects {

enum class Marks { profiler_step, repeated, none };

struct Nsight {
  Marks marks = Marks::none;
  bool has_target_info = false;
  /// Old versions have no processes, no correlation, one name.
  bool is_old = false;
};

inline std::string nsight_sql(const Job& job, std::int64_t rank, const Nsight& dialect) {
  std::map<std::string, int> names;
  std::string kernels, ranges;
  for (const Work& work : job.work_of(rank)) {
    const std::string name =
        work.is_collective ? kernel_name(Names::nccl_new, work.collective) : work.name;
    const int id = names.try_emplace(name, static_cast<int>(names.size()) + 1).first->second;
    const std::string times = std::to_string(work.begin_ns) + "," + std::to_string(work.end_ns),
                      stream = work.is_collective ? "20" : "7", number = std::to_string(id);
    kernels += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + times + "," + stream + "," +
               number + (dialect.is_old ? "" : ",0," + number + ",83886080") + ");";
  }
  for (std::int64_t step = 0; step < job.steps && dialect.marks != Marks::none; ++step) {
    const std::string number = std::to_string(step);
    ranges += "INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(Job::step_begin_ns(step)) + "," +
              std::to_string(Job::step_begin_ns(step + 1)) + ",'" +
              (dialect.marks == Marks::profiler_step ? "ProfilerStep#" + number : "training step") +
              "');";
  }
  std::string sql =
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, streamId INT, shortName INT" +
      std::string(dialect.is_old ? "" : ", deviceId INT, demangledName INT, globalPid INT") + ");";
  if (dialect.marks != Marks::none)
    sql += "CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, text TEXT);";
  if (dialect.has_target_info) {
    sql +=
        "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);"
        "INSERT INTO TARGET_INFO_GPU VALUES (0, 'some GPU');";
  }
  for (const auto& [name, id] : names)
    sql += "INSERT INTO StringIds VALUES (" + std::to_string(id) + ",'" + name + "');";
  return "BEGIN;" + sql + kernels + ranges + "COMMIT;";
}

}  // namespace hocket::dialects
