#include "tuner/trial/outliving_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(OutlivingJob, IsSeenByWhatIsTaken) {
  const std::pair<const char*, TakenSign> cases[] = {
      {"step 1\nRuntimeError: The server socket has failed to bind to [::]:29500 (errno: 98)\n",
       {"RuntimeError: The server socket has failed to bind to [::]:29500 (errno: 98)"}},
      {"OSError: [Errno 98] Address already in use",
       {"OSError: [Errno 98] Address already in use"}},
      {"docker: Bind for 0.0.0.0:8000 failed: port is already allocated.",
       {"docker: Bind for 0.0.0.0:8000 failed: port is already allocated."}},
      {"CUDA error: all CUDA-capable devices are busy or unavailable",
       {"CUDA error: all CUDA-capable devices are busy or unavailable"}},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
       {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", true}},
      {"CUDA out of memory\naddress already in use\n", {"address already in use"}},
  };
  for (const auto& [output, sign] : cases) EXPECT_EQ(taken_sign(output), sign) << output;
  for (const char* output : {"", "t=1\n", "out of memory", "in use"})
    EXPECT_FALSE(taken_sign(output)) << output;
}

TEST(OutlivingJob, IsStartedElsewhere) {
  EXPECT_EQ(outliving_start({"docker", "exec", "-it", "box", "python", "t.py"}), "docker exec");
  EXPECT_EQ(outliving_start({"sh", "-c", "cd x && /usr/bin/ssh host 'python t.py'"}), "ssh");
  EXPECT_EQ(outliving_start({"kubectl", "-n", "ml", "exec", "pod", "--", "t"}), "kubectl exec");
  EXPECT_EQ(outliving_start({"env", "A=1", "podman", "exec", "box", "t"}), "podman exec");
  EXPECT_EQ(outliving_start({"docker", "ps"}), "");
  EXPECT_EQ(outliving_start({"python", "train.py", "--name", "ssh.py"}), "");
  EXPECT_EQ(outliving_start({"nohup", "./train"}), "") << "on this host hocket ends it";
}

TEST(OutlivingJob, IsNamedAsTheCause) {
  const char* const taken = "bind: Address already in use\n";
  const char* const memory = "CUDA out of memory\n";
  EXPECT_EQ(earlier_job_text("t=1", {.start = "ssh", .are_any = true}), "");
  EXPECT_THAT(earlier_job_text(taken, {}),
              AllOf(HasSubstr("a job that is left over"), Not(HasSubstr("--stop-command"))));
  EXPECT_THAT(earlier_job_text(taken, {.are_any = true}),
              AllOf(HasSubstr("that outlived its command"), HasSubstr("--stop-command")));
  EXPECT_THAT(earlier_job_text(memory, {.start = "ssh", .are_any = true, .was_one_ended = true}),
              AllOf(HasSubstr("`ssh`, and an earlier one was ended"), HasSubstr("--stop-command")));
  EXPECT_EQ(earlier_job_text(memory, {.are_any = true}), "") << "it may be the trial's own";
  EXPECT_EQ(earlier_job_text(memory, {.start = "ssh"}), "") << "nothing ran before";
  EXPECT_THAT(earlier_job_text(taken, {.start = "ssh", .are_any = true, .have_stop_command = true}),
              HasSubstr("the stop command has not ended it"));
}

}  // namespace
}  // namespace hocket
