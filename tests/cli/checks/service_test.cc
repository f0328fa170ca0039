// Tests what `hocket doctor` says of the daemon and of what a daemon has here.

#include "cli/checks/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/reserved_port.h"
#include "tests/scoped_environment.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

TEST(DaemonCheck, SaysThatNoneIsNamed) {
  const ScopedEnvironment variable("HOCKET_DAEMON", nullptr);
  EXPECT_EQ(check_daemon().state, CheckState::note);
}

TEST(DaemonCheck, SaysThatItCannotBeReached) {
  const ReservedPort port;
  const ScopedEnvironment variable("HOCKET_DAEMON", port.url().c_str());
  const DoctorCheck check = check_daemon();
  EXPECT_EQ(check.state, CheckState::wrong);
  EXPECT_THAT(check.found, HasSubstr(std::to_string(port.port())));
  EXPECT_THAT(check.remedy, HasSubstr("hocket serve"));
}

TEST(DaemonCheck, SaysThatTheAddressIsNone) {
  const ScopedEnvironment variable("HOCKET_DAEMON", "nonsense://");
  EXPECT_EQ(check_daemon().state, CheckState::wrong);
}

TEST(OpenFiles, AreANoteBelowTheDaemonsConnections) {
  EXPECT_EQ(check_open_files(1'048'576),
            (DoctorCheck{.what = "open files", .found = "up to 1048576"}));
  EXPECT_EQ(check_open_files(RLIM_INFINITY).found, "no limit");
  const DoctorCheck few = check_open_files(4096);
  EXPECT_EQ(few.state, CheckState::note);
  EXPECT_THAT(few.found, HasSubstr("4096"));
  EXPECT_THAT(few.remedy, HasSubstr("ulimit"));
}

TEST(DaemonUnit, HasTheStateThatSystemdSays) {
  EXPECT_EQ(check_unit(std::nullopt).state, CheckState::note);
  EXPECT_EQ(check_unit("LoadState=not-found\nActiveState=inactive\nUnitFileState=\n").state,
            CheckState::missing);
  const DoctorCheck running =
      check_unit("LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n");
  EXPECT_EQ(running.state, CheckState::ok);
  EXPECT_EQ(running.found, "hocket.service is active, enabled");
  EXPECT_EQ(running.remedy, "");
  const DoctorCheck failed =
      check_unit("LoadState=loaded\nActiveState=failed\nUnitFileState=enabled\n");
  EXPECT_EQ(failed.state, CheckState::wrong);
  EXPECT_THAT(failed.remedy, HasSubstr("journalctl"));
  const DoctorCheck off =
      check_unit("LoadState=loaded\nActiveState=inactive\nUnitFileState=disabled\n");
  EXPECT_EQ(off.state, CheckState::note);
  EXPECT_THAT(off.remedy, HasSubstr("systemctl enable --now"));
}

}  // namespace
}  // namespace hocket
