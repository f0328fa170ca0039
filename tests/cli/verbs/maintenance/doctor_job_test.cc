// Tests that `hocket doctor`, as a program, says what processes have loaded: its own, and those of
// a job. The NCCL of these jobs is a program that calls the plugin as NCCL does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/fault/child.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

class DoctorsJob : public ::testing::Test {
 protected:
  /// Runs `hocket doctor --json ARGUMENTS`; returns the exit status and sets `checks_`.
  int run(const Words& arguments, std::map<std::string, std::string> variables = {}) {
    ChildOptions child{.argv = {HOCKET_PROGRAM, "doctor", "--json"},
                       .environment = std::move(variables)};
    child.argv.insert(child.argv.end(), arguments.begin(), arguments.end());
    for (const char* name : {"HOCKET_STORE", "XDG_STATE_HOME", "XDG_CACHE_HOME"})
      child.environment[name] = folder_.file(name);
    child.environment["TMPDIR"] = folder_.path().string();
    child.environment["HOCKET_DAEMON"] = "";
    child.out_path = folder_.file("out");
    child.err_path = folder_.file("err");
    Child process(child);
    const int status = process.wait(std::chrono::minutes(2)).value_or(-1);
    const auto answer = nlohmann::json::parse(text_of("out"), nullptr, false);
    checks_ = answer.is_object() ? answer.at("checks") : nlohmann::json::array();
    return status;
  }
  int run_job(const Words& command, const std::string& timeout = "60s") {
    Words words = {"--job", "--timeout", timeout, "--"};
    words.insert(words.end(), command.begin(), command.end());
    return run(words);
  }

  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_.file(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Returns "STATE: what was found: what is to do" of the check that begins with `what`.
  std::string said(const std::string& what) const {
    for (const auto& check : checks_) {
      if (check.at("what").get<std::string>().starts_with(what)) {
        return check.at("state").get<std::string>() + ": " + check.at("found").get<std::string>() +
               ": " + check.at("remedy").get<std::string>();
      }
    }
    return "no " + what + " in " + checks_.dump() + text_of("err");
  }

  const TemporaryFolder folder_;
  nlohmann::json checks_;
};

TEST_F(DoctorsJob, ItsOwnProcessLoadsWhatAJobWould) {
  // A PyTorch that is imported at once, and that hocket does not know.
  std::filesystem::create_directory(folder_.file("torch"));
  folder_.write("torch/__init__.py", "__version__ = '99.1'\nclass version:\n    cuda = None\n");
  EXPECT_EQ(run({}, {{"PYTHONPATH", folder_.path().string()}}), 0) << checks_.dump(1);
  EXPECT_THAT(said("Python, started"), AllOf(StartsWith("ok: /"), HasSubstr("python")));
  EXPECT_THAT(said("client library, loaded"),
              AllOf(StartsWith("ok: "), HasSubstr(HOCKET_NCCL_PLUGIN_FOLDER "/libhocket_client")));
  EXPECT_THAT(said("PyTorch, loaded"), StartsWith("ok: 99.1"));
  EXPECT_THAT(said("hocket.torch"), AllOf(StartsWith("note: "), HasSubstr("pip install")));
  EXPECT_THAT(said("plugin for NCCL"),
              HasSubstr(HOCKET_NCCL_PLUGIN_FOLDER "/libnccl-tuner-hocket.so"));
  EXPECT_EQ(run({"--no-start"}), 0);
  EXPECT_THAT(said("Python, started"), StartsWith("no "));
}

TEST_F(DoctorsJob, AClientLibraryThatIsNoneIsAnError) {
  EXPECT_EQ(run({}, {{"HOCKET_CLIENT_LIBRARY", folder_.write("none.so", "")}}), 1);
  EXPECT_THAT(said("client library, loaded"), AllOf(StartsWith("wrong: "), HasSubstr("none.so"),
                                                    HasSubstr(": pip install hocket")));
}

/// NCCL and the driver are models here, which make a communicator without a GPU.
TEST_F(DoctorsJob, OnAGpuNcclTakesThePluginOrThatIsAnError) {
  const std::map<std::string, std::string> gpu = {{"LD_LIBRARY_PATH", HOCKET_FAKE_NCCL_FOLDER}};
  const auto with = [&](const std::string& name, const std::string& value) {
    auto variables = gpu;
    variables[name] = value;
    return variables;
  };
  EXPECT_EQ(run({}, gpu), 0) << checks_.dump(1);
  EXPECT_THAT(said("NCCL, loaded"), StartsWith("ok: 2.28.9, " HOCKET_FAKE_NCCL_FOLDER));
  EXPECT_THAT(said("plugin for NCCL"),
              AllOf(StartsWith("ok: NCCL 2.28.9 has opened it: tuner 5, profiler 5, "),
                    HasSubstr(HOCKET_NCCL_PLUGIN_FOLDER)));
  EXPECT_EQ(run({}, with("FAKE_NCCL", "deaf")), 1);
  EXPECT_THAT(said("plugin for NCCL"),
              AllOf(StartsWith("wrong: NCCL 2.28.9 has made a communicator without it"),
                    HasSubstr("hocket nccl --install")));
  EXPECT_EQ(run({}, with("FAKE_NCCL", "broken")), 0);
  EXPECT_THAT(said("plugin for NCCL"),
              AllOf(StartsWith("note: "), HasSubstr("looks for it: tuner 5, profiler 5"),
                    HasSubstr("unhandled cuda error"), HasSubstr("is not known")));
}

TEST_F(DoctorsJob, RanksThatHaveLoadedThePluginSaySoAndAreEnded) {
  EXPECT_EQ(run_job({HOCKET_NCCL_HOST, "--ranks", "2", "--iterations", "100000000"}), 0)
      << checks_.dump(1) << text_of("err");
  EXPECT_THAT(checks_, SizeIs(3));
  EXPECT_THAT(said("launched job"), StartsWith("ok: 2 ranks have reported"));
  for (const char* rank : {"rank 0", "rank 1"}) {
    EXPECT_THAT(said(rank), AllOf(StartsWith("ok: "), HasSubstr("tuner 5, profiler 5"),
                                  HasSubstr("asks it for collectives")));
  }
}

TEST_F(DoctorsJob, APluginOfWhichNcclTakesOneHalfIsAnError) {
  EXPECT_EQ(run_job({HOCKET_NCCL_HOST, "--iterations", "10", "--profiler", "none"}), 1);
  EXPECT_THAT(said("process"), AllOf(StartsWith("wrong: "), HasSubstr("tuner 5 alone"),
                                     HasSubstr("NCCL_PROFILER_PLUGIN=hocket")));
}

TEST_F(DoctorsJob, NcclWithoutThePluginIsAnError) {
  // A GPU is needed for NCCL's communicator, so the program says that it has one.
  const std::string program =
      folder_.write("train.py",
                    "from hocket.load_report import report\n"
                    "place = dict(rank=0, ranks=1, backend='nccl', nccl='2.28.9')\n"
                    "report('group', **place)\n"
                    "report('step', uses_nccl=True, **place)\n"
                    "while True: pass\n");
  EXPECT_EQ(run_job({"python3", program}), 1) << checks_.dump(1) << text_of("err");
  EXPECT_THAT(said("rank 0"),
              AllOf(StartsWith("wrong: "), HasSubstr("NCCL 2.28.9 has made a communicator without"),
                    HasSubstr("hocket nccl --install")));
}

TEST_F(DoctorsJob, RanksOnOtherHostsReportInASharedFolder) {
  const std::string program = folder_.write(
      "train.py",
      "import socket, sys\n"
      "socket.gethostname = lambda: 'host-' + sys.argv[1]\n"
      "from hocket.load_report import report\n"
      "place = dict(rank=int(sys.argv[1]), ranks=2, ranks_on_host=1, backend='gloo')\n"
      "report('group', **place)\n"
      "report('step', **place)\n"
      "while True: pass\n");
  const std::string launch = "python3 " + program + " 0 & exec python3 " + program + " 1";
  const std::string shared = folder_.file("shared");
  std::filesystem::create_directory(shared);
  EXPECT_EQ(run({"--job", "--shared", shared, "--", "sh", "-c", launch}), 0)
      << checks_.dump(1) << text_of("err");
  EXPECT_THAT(said("launched job"), StartsWith("ok: 2 ranks have reported"));
  EXPECT_THAT(said("rank 0, host-0"), HasSubstr("backend gloo"));
  EXPECT_THAT(said("rank 1, host-1"), HasSubstr("backend gloo"));
  EXPECT_TRUE(std::filesystem::is_empty(shared));
  EXPECT_EQ(run({"--job", "--shared", folder_.file("none"), "--", "true"}), 2);
  EXPECT_THAT(text_of("err"), HasSubstr("--shared: "));
}

TEST_F(DoctorsJob, AJobThatHangsWithoutTheEnvironmentIsEnded) {
  const std::string pid = folder_.file("pid");
  EXPECT_EQ(run_job({"env", "-i", "/bin/sh", "-c", "echo $$ >" + pid + "; exec /bin/sleep 1000"},
                    "500ms"),
            1);
  EXPECT_THAT(said("launched job"),
              AllOf(StartsWith("wrong: no process has reported in 500 ms"),
                    HasSubstr("does not pass the environment on"),
                    HasSubstr("-x NCCL_TUNER_PLUGIN"), HasSubstr("-x HOCKET_DOCTOR_FILE")));
  errno = 0;
  EXPECT_EQ(::kill(std::stoi(text_of("pid")), 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(DoctorsJob, ACommandThatFailsOrDoesNotStartSaysWhy) {
  EXPECT_EQ(run_job({"sh", "-c", "echo out of luck >&2; exit 3"}), 1);
  EXPECT_THAT(said("launched job"),
              AllOf(StartsWith("wrong: "), HasSubstr("exit status 3"), HasSubstr("out of luck")));
  EXPECT_EQ(run_job({"/nowhere/program"}), 2);
  EXPECT_THAT(text_of("err"), HasSubstr("cannot start /nowhere/program"));
}

TEST_F(DoctorsJob, WhatAJobWritesIntoTheFileIsReadAsThatOfAStranger) {
  const std::string escape = "\\033[2J";
  EXPECT_EQ(run_job({"sh", "-c", "printf '" + escape + "\\n{}\\n' >>$HOCKET_DOCTOR_FILE"}), 1);
  EXPECT_THAT(said("reports"), StartsWith("note: 2 lines are none"));
  // A job that takes the file away, or puts something else there, does not keep the doctor.
  for (const char* puts :
       {"rm $HOCKET_DOCTOR_FILE", "rm $HOCKET_DOCTOR_FILE; mkfifo $HOCKET_DOCTOR_FILE",
        "ln -sf /dev/zero $HOCKET_DOCTOR_FILE"}) {
    EXPECT_EQ(run_job({"sh", "-c", puts}), 1) << puts;
    EXPECT_THAT(said("launched job"), StartsWith("wrong: no process has reported")) << puts;
  }
}

TEST_F(DoctorsJob, ThePluginWritesIntoNoFileButTheDoctors) {
  // Whatever the variable names, the ranks train.
  const std::string own = folder_.write("own", "mine\n");
  std::filesystem::create_symlink(own, folder_.file("link"));
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder_.file("link"), folder_.file("pipe"),
                                  folder_.file("nowhere"), folder_.path().string()}) {
    ChildOptions child{.argv = {HOCKET_NCCL_HOST, "--iterations", "3"}};
    child.environment = {{"LD_LIBRARY_PATH", HOCKET_NCCL_PLUGIN_FOLDER},
                         {"NCCL_TUNER_PLUGIN", "hocket"},
                         {"NCCL_PROFILER_PLUGIN", "hocket"},
                         {"HOCKET_STORE", folder_.file("store")},
                         {"HOCKET_DOCTOR_FILE", path}};
    child.out_path = folder_.file("out");
    child.err_path = folder_.file("err");
    EXPECT_EQ(Child(child).wait(std::chrono::minutes(1)), 0) << path << text_of("err");
    EXPECT_FALSE(std::filesystem::exists(folder_.file("nowhere")));
    EXPECT_EQ(text_of("own"), "mine\n") << path;
  }
}

}  // namespace
}  // namespace hocket
