#include "archive/studies/study_job.h"

#include <algorithm>
#include <string>

namespace hocket {
namespace {

/// Reads the description in the row with this id.
template <class Rows, class Read>
auto read_description(const Rows& rows, std::optional<std::int64_t> id, const char* what,
                      Read&& read) -> decltype(read(rows->front().document)) {
  HOCKET_TRY(rows);
  const auto row =
      std::find_if(rows->begin(), rows->end(), [&](const auto& each) { return each.id == id; });
  if (row == rows->end()) {
    if (id) {
      return failure(ErrorCode::not_found, std::string("its ") + what + ", row " +
                                               std::to_string(*id) +
                                               " of the store, is not there or cannot be read");
    }
    return failure(ErrorCode::not_found,
                   std::string("the study has no ") + what + "; it was not made by `hocket tune`");
  }
  return read(row->document);
}

}  // namespace

Result<Topology> topology_of(Store& store, const StudyRow& study) {
  UnreadRows unread;
  return read_description(store.topologies(&unread), study.topology_id, "topology",
                          topology_from_json);
}

Result<Workload> workload_of(Store& store, const StudyRow& study) {
  UnreadRows unread;
  return read_description(store.workloads("", &unread), study.workload_id, "workload",
                          workload_from_json);
}

Error as_bad_input(Error error) {
  if (error.code == ErrorCode::unavailable) error.code = ErrorCode::invalid_argument;
  return error;
}

}  // namespace hocket
