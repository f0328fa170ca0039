// Places of tests with SQLite: files.

#include "tests/store/check_store.h"
#include "tests/store/test_place.h"
#include "tests/temporary_folder.h"

namespace hocket {

struct TestPlace::Content {
  TemporaryFolder folder;
};

TestPlace::TestPlace()
    : content_(std::make_unique<Content>()), store_(content_->folder.file("store.db")) {}

TestPlace::~TestPlace() = default;

Result<void> TestPlace::check() const {
  return check_store(store_);
}

}  // namespace hocket
