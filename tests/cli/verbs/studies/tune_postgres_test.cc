// Tests hocket tune on a database that starts again while a trial runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <ostream>
#include <sstream>
#include <streambuf>
#include <thread>

#include "cli/application.h"
#include "store/open.h"
#include "tests/scoped_environment.h"
#include "tests/store/postgres/server.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// Text that one thread writes and another waits for.
class AwaitedText final : public std::streambuf {
 public:
  void wait_for(const std::string& part) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_over_ || text_.find(part) != std::string::npos; });
  }
  void set_over() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  int_type overflow(int_type c) override {
    const char written = traits_type::to_char_type(c);
    xsputn(&written, 1);
    return c;
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const std::lock_guard lock(mutex_);
    text_.append(text, static_cast<std::size_t>(count));
    changed_.notify_all();
    return count;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;      ///< guarded by mutex_
  bool is_over_ = false;  ///< guarded by mutex_
};

TEST(TuneOnPostgres, ARestartOfTheDatabaseLosesNoMeasuredTrial) {
  PostgresServer server({.is_durable = true});
  const TemporaryFolder folder;
  const std::string store = server.new_schema();
  const ScopedEnvironment daemon("HOCKET_DAEMON", nullptr);
  const std::string started = folder.file("started"), go = folder.file("go");
  ASSERT_EQ(mkfifo(started.c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(go.c_str(), 0600), 0);
  AwaitedText said;
  std::ostringstream out;
  int status = -1;
  std::thread tune([&] {
    std::ostream err(&said);
    status = run_hocket({"tune", "--store", store, "--study", "s", "--param", "X=int:1..9",
                         "--trials", "1", "--confirm", "0", "--objective", "regex:t=(.*)", "--",
                         "sh", "-c", "echo > " + started + "; read go < " + go + "; echo t=$X"},
                        out, err, 0);
    said.set_over();
  });
  std::string line;
  std::getline(std::ifstream(started), line);
  server.stop();
  std::ofstream(go) << "go\n";
  said.wait_for("waits for the store");
  server.start();
  tune.join();
  EXPECT_THAT(said.text(), HasSubstr("waits for the store: store postgresql://"));
  EXPECT_EQ(status, 3) << said.text();
  const auto opened = open_store(store);
  ASSERT_TRUE(opened);
  const auto study = (*opened)->study("s");
  ASSERT_TRUE(study);
  EXPECT_EQ(study->state, StudyState::finished);
  const auto trials = (*opened)->trials(study->id, TrialDetail::summary);
  ASSERT_EQ(trials->size(), 1U);
  EXPECT_EQ(trials->front().value, 5);
}

}  // namespace
}  // namespace hocket
