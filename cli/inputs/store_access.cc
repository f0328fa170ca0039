#include "cli/inputs/store_access.h"

#include <algorithm>
#include <utility>

#include "cli/output/value_text.h"
#include "store/open.h"

namespace hocket {
namespace {

Result<std::unique_ptr<Store>> open(const std::string& option, bool read_only) {
  const auto path = store_path(option);
  if (!path) return failure(path.error());
  auto store = open_store(*path, {.read_only = read_only});
  if (!store) return failure(as_bad_input(store.error()));
  return store;
}

/// Returns the description in the row with this id.
template <class Rows, class Read>
auto read_description(const Rows& rows, std::optional<std::int64_t> id, const char* what,
                      Read&& read) -> decltype(read(rows->front().document)) {
  if (!rows) return failure(rows.error());
  const auto row =
      std::find_if(rows->begin(), rows->end(), [&](const auto& each) { return each.id == id; });
  if (row == rows->end()) {
    return failure(ErrorCode::not_found,
                   std::string("the study has no ") + what + "; it was not made by `hocket tune`");
  }
  return read(row->document);
}

}  // namespace

Result<std::string> store_path(const std::string& option) {
  if (!option.empty()) return option;
  return default_store_path();
}

Result<std::unique_ptr<Store>> open_for_reading(const std::string& option) {
  auto store = open(option, true);
  if (!store && store.error().code == ErrorCode::not_found) {
    return failure(store.error().in("nothing is tuned yet"));
  }
  return store;
}

Result<std::unique_ptr<Store>> open_for_writing(const std::string& option) {
  return open(option, false);
}

Error as_bad_input(Error error) {
  if (error.code == ErrorCode::unavailable) error.code = ErrorCode::invalid_argument;
  return error;
}

Result<Topology> topology_of(Store& store, const StudyRow& study) {
  return read_description(store.topologies(), study.topology_id, "topology", topology_from_json);
}

Result<Workload> workload_of(Store& store, const StudyRow& study) {
  return read_description(store.workloads(""), study.workload_id, "workload", workload_from_json);
}

std::string place_text(const Topology& topology) {
  const auto note = emulation_note(topology);
  return readable_name(topology) + (note.empty() ? "" : " (" + note + ")");
}

}  // namespace hocket
