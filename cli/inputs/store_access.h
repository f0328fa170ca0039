#pragma once

// Access to the store for verbs. Thread-safe.

#include <memory>
#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Returns `option` (of --store), or the default path if it is empty.
Result<std::string> store_path(const std::string& option);

/// Opens a store for verbs that only read. The error for a missing store says that nothing was
/// tuned yet.
Result<std::unique_ptr<Store>> open_for_reading(const std::string& option);

/// Opens the store for `tune`.
Result<std::unique_ptr<Store>> open_for_writing(const std::string& option);

/// Returns `error` as bad input. A store that cannot be used is bad input for any reason, because
/// the user named it.
Error as_bad_input(Error error);

/// Return the topology and workload of a study. Require that it has both.
Result<Topology> topology_of(Store& store, const StudyRow& study);
Result<Workload> workload_of(Store& store, const StudyRow& study);

/// Returns the topology's name, including "emulated link" if it has one.
std::string place_text(const Topology& topology);

}  // namespace hocket
