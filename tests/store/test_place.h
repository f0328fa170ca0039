#pragma once

// Where the store of a test is. The same tests are built twice: store_test has them with files,
// store_postgres_test with a schema of its own for each on a server of PostgreSQL. One thread.

#include <memory>
#include <string>

#include "core/base/result.h"

namespace hocket {

class TestPlace {
 public:
  /// A new place without a store.
  TestPlace();
  ~TestPlace();
  TestPlace(const TestPlace&) = delete;
  TestPlace& operator=(const TestPlace&) = delete;

  /// Returns what open_store() is given.
  const std::string& store() const { return store_; }

  /// Checks that the store is whole.
  Result<void> check() const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
  std::string store_;
};

}  // namespace hocket
