#pragma once

// How verbs get at the store. Thread-safe.

#include <memory>
#include <string>

#include "core/result.h"
#include "store/store.h"

namespace hocket {

/// `option` (of --store) when it is not empty, else the default place.
Result<std::string> store_path(const std::string& option);

/// For verbs that only read. A store that is not there means that nothing was tuned yet.
Result<std::unique_ptr<Store>> open_for_reading(const std::string& option);

/// For `tune`.
Result<std::unique_ptr<Store>> open_for_writing(const std::string& option);

}  // namespace hocket
