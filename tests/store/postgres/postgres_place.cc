// Places of tests with PostgreSQL: schemas of one server.

#include <gtest/gtest.h>

#include "tests/store/postgres/server.h"
#include "tests/store/test_place.h"

namespace hocket {
namespace {

/// Skips every test of the program where there is no PostgreSQL.
class NeedsPostgres final : public testing::Environment {
 public:
  void SetUp() override {
    if (const auto why = PostgresServer::missing()) GTEST_SKIP() << *why;
  }
};

[[maybe_unused]] const testing::Environment* const kNeedsPostgres =
    testing::AddGlobalTestEnvironment(new NeedsPostgres);

}  // namespace

struct TestPlace::Content {};

TestPlace::TestPlace() : store_(PostgresServer::shared().new_schema()) {}

TestPlace::~TestPlace() = default;

Result<void> TestPlace::check() const {
  return {};  // the server checks what refers to what
}

}  // namespace hocket
