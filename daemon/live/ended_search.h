#pragma once

// Decides whether the ended search of a key is opened again, by what it has left. Pure;
// thread-safe. daemon/live/live_search.h reads that from the store.
//
// A search ends when its model expects no more, not when nothing better exists. So it is opened
// again, within the budget of the job as any search, for one of three reasons:
//   weak          it kept nothing, and what it tried may still be faster, as far as its noise says.
//                 Another job may have less noise. After kMostWeakSearches such in a row the noise
//                 is that of the place, and no more are begun for this reason.
//   old           it ended more than kOldSearchNs ago: drivers, libraries, networks and neighbours
//                 change without the key.
//   contradicted  iterations take another time than it recorded for the setting that the job has,
//                 by more than the noise of both explains. What cannot be in the key, such as the
//                 batch or the accumulation, shows itself so.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace hocket {

inline constexpr std::int64_t kOldSearchNs = 30LL * 24 * 3600 * 1'000'000'000;
inline constexpr int kMostWeakSearches = 2;
/// Standard errors of the recorded time that a contradiction exceeds besides the job's own noise.
inline constexpr double kRecordedErrors = 3;

struct EndedSearch {
  std::string study = {};
  std::int64_t ended_at_ns = 0;     ///< of the store's clock, since 1970
  int tried = 0, kept = 0;          ///< numbers of settings
  int weak_in_a_row = 0;            ///< the latest searches that were weak; 0: this one was not
  double recorded_ns = 0;           ///< level of the iterations under the job's setting; 0: unknown
  double recorded_error_share = 0;  ///< its standard error, as a share of it

  bool operator==(const EndedSearch&) const = default;
};

/// The iterations of a job under the setting that it has.
struct PresentIterations {
  double level_ns = 0;      ///< 0: too few to know it (daemon/live/drift.h)
  double needed_share = 0;  ///< relative change that its noise does not explain
};

/// Returns why the search is opened again, for people; nothing if it stays ended.
std::optional<std::string> why_search_again(const EndedSearch& search,
                                            const PresentIterations& present,
                                            std::int64_t now_unix_ns);

/// Returns what people and jobs are told of it (docs/openapi.json, EndedSearch).
nlohmann::json to_json(const EndedSearch& search);

}  // namespace hocket
