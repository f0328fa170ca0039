#pragma once

// Names of kernels that communicate, as a user knows them beside those that hocket knows
// (core/trace/collective_name.h). Not thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"

namespace hocket {

class CommunicationPatterns {
 public:
  /// Compiles patterns in RE2's syntax. invalid_argument names the first that is wrong, empty or
  /// too large, and tells if there are too many.
  static Result<CommunicationPatterns> compile(const std::vector<std::string>& patterns);
  CommunicationPatterns(CommunicationPatterns&&) noexcept;
  CommunicationPatterns& operator=(CommunicationPatterns&&) noexcept;
  ~CommunicationPatterns();

  /// Makes communication of the computation whose name matches a pattern anywhere, on channels of
  /// its own. A name that spells a collective is of that kind; these are numbered by step and place
  /// in it, in a group of their own. Returns how many records each pattern matched.
  std::vector<std::int64_t> mark(RankTrace& trace) const;

 private:
  struct Compiled;
  explicit CommunicationPatterns(std::vector<std::unique_ptr<Compiled>> patterns);

  std::vector<std::unique_ptr<Compiled>> patterns_;
};

}  // namespace hocket
