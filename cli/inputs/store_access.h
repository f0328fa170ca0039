#pragma once

// How verbs get at the store. Thread-safe.

#include <memory>
#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// `option` (of --store) when it is not empty, else the default place.
Result<std::string> store_path(const std::string& option);

/// For verbs that only read. A store that is not there means that nothing was tuned yet.
Result<std::unique_ptr<Store>> open_for_reading(const std::string& option);

/// For `tune`.
Result<std::unique_ptr<Store>> open_for_writing(const std::string& option);

/// A store that cannot be used is bad input, whatever the reason: somebody named it.
Error as_bad_input(Error error);

/// What a study ran on, and what it ran. Requires a study that has both.
Result<Topology> topology_of(Store& store, const StudyRow& study);
Result<Workload> workload_of(Store& store, const StudyRow& study);

/// The topology's name, with "emulated link" in it where it has one.
std::string place_text(const Topology& topology);

}  // namespace hocket
