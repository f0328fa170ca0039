#include "tuner/command/command_program.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/rounds.h"
#include "tuner/command/shell_commands.h"

namespace hocket {
namespace {

using Kind = CommandProgram::Kind;

struct Case {
  const char* line;  ///< as a shell reads it
  Kind kind;
  const char* text;
  const char* folder = "";
};

/// Splits a line without operators.
std::vector<std::string> words_of(const std::string& line) {
  const auto commands = shell_commands(line);
  EXPECT_TRUE(commands && commands->size() == 1) << line;
  return commands ? commands->front() : std::vector<std::string>();
}

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.line;
}

constexpr auto kProgram = Kind::program, kScript = Kind::script, kModule = Kind::module,
               kCode = Kind::code, kUnknown = Kind::unknown;

const Case kCases[] = {
    // Programs.
    {"./work --threads 4", kProgram, "./work"},
    {"gpt2", kProgram, "gpt2"},
    {"/opt/bin/train -c 3", kProgram, "/opt/bin/train"},
    {"java -jar a.jar", kProgram, "java"},
    // Interpreters.
    {"python3 train.py", kScript, "train.py"},
    {"python train.py --lr 3", kScript, "train.py"},
    {"/usr/bin/python3.11 -u src/train.py", kScript, "src/train.py"},
    {"python -W ignore -X dev -O train.py", kScript, "train.py"},
    {"python -Wignore train.py -m x", kScript, "train.py"},
    {"python3 -m pkg.train --epochs 3", kModule, "pkg.train"},
    {"python3 -um pkg.train", kModule, "pkg.train"},
    {"python3 -mpkg.train", kModule, "pkg.train"},
    {"python3 -c 'import x; x.run()'", kCode, "import x; x.run()"},
    {"python -- train.py", kScript, "train.py"},
    {"python", kUnknown, ""},
    {"python -m", kUnknown, ""},
    {"pypy3 a.py", kScript, "a.py"},
    {"node --max-old-space-size=4096 train.js", kScript, "train.js"},
    {"node -r ts-node/register train.ts", kScript, "train.ts"},
    {"node --require dotenv/config train.js", kScript, "train.js"},
    {"node -e 'run()'", kCode, "run()"},
    {"node --eval=run()", kUnknown, nullptr},  // brackets need quotes: see below
    {"perl -w -I lib train.pl", kScript, "train.pl"},
    {"perl -ne 'print' data", kCode, "print"},
    {"ruby -r json train.rb", kScript, "train.rb"},
    {"Rscript --vanilla fit.R 3", kScript, "fit.R"},
    {"julia -t 8 --project=. train.jl", kScript, "train.jl"},
    {"julia --project . train.jl", kScript, "train.jl"},
    {"php -d memory_limit=1G train.php", kScript, "train.php"},
    {"lua5.4 train.lua", kScript, "train.lua"},
    // Shells.
    {"bash run.sh a b", kScript, "run.sh"},
    {"sh -eux ./run.sh", kScript, "./run.sh"},
    {"bash -eo pipefail run.sh", kScript, "run.sh"},
    {"bash --norc --rcfile x run.sh", kScript, "run.sh"},
    {"bash -c 'python train.py --b 3'", kScript, "train.py"},
    {"bash -lc 'python train.py'", kScript, "train.py"},
    {"bash -euo pipefail -c 'python train.py'", kScript, "train.py"},
    {"bash -c 'cd /data/gpt && exec torchrun --nproc-per-node 2 train.py'", kScript, "train.py",
     "/data/gpt"},
    {"bash -c 'cd sub; OMP_NUM_THREADS=2 ./job $X'", kProgram, "./job", "sub"},
    {"bash -c 'source venv/bin/activate && python train.py 2>&1 | tee log.txt'", kScript,
     "train.py"},
    {"sh -c 'export A=1; ulimit -n 9; python a.py > out 2> err &'", kScript, "a.py"},
    {"sh -c \"bash -c 'python a.py'\"", kScript, "a.py"},
    {"sh -c 'python a.py; python b.py'", kCode, "python a.py; python b.py"},
    {"sh -c 'python a.py || python b.py'", kCode, "python a.py || python b.py"},
    {"sh -c 'python a.py | python b.py'", kCode, "python a.py | python b.py"},
    {"sh -c 'for i in 1 2; do python a.py; done'", kCode, "for i in 1 2; do python a.py; done"},
    {"sh -c 'python $SCRIPT'", kCode, "python $SCRIPT"},
    {"sh -c 'cd $HOME/x; python a.py'", kCode, "cd $HOME/x; python a.py"},
    {"sh -c 'python *.py'", kCode, "python *.py"},
    {"sh -c 'echo $((X * 10)) > n.txt'", kCode, "echo $((X * 10)) > n.txt"},
    {"sh -c 'sleep 1'", kCode, "sleep 1"},
    {"sh -c", kUnknown, ""},
    // Launchers of ranks.
    {"torchrun train.py", kScript, "train.py"},
    {"torchrun --nproc-per-node 2 train.py --bucket-mb {BUCKET}", kScript, "train.py"},
    {"torchrun --nproc_per_node=2 --standalone train.py", kScript, "train.py"},
    {"torchrun --nnodes 2 --nproc_per_node 8 --rdzv_endpoint h:1 -m pkg.train", kModule,
     "pkg.train"},
    {"torchrun -m --nnodes 2 pkg.train", kModule, "pkg.train"},
    {"torchrun --nproc-per-node 2 --no-python ./job", kProgram, "./job"},
    {"python -m torch.distributed.run --nproc_per_node 2 train.py", kScript, "train.py"},
    {"python3 -m torch.distributed.launch --use-env --nproc_per_node 2 train.py", kScript,
     "train.py"},
    {"python -m torch.distributed.run", kUnknown, ""},
    {"accelerate launch --num_processes 2 --mixed_precision bf16 train.py", kScript, "train.py"},
    {"accelerate launch --multi_gpu -m pkg.train", kModule, "pkg.train"},
    {"python -m accelerate.commands.launch --num_processes=2 train.py", kScript, "train.py"},
    {"accelerate config", kProgram, "accelerate"},
    {"deepspeed --num_gpus 8 --master_port 29501 train.py --deepspeed ds.json", kScript,
     "train.py"},
    {"deepspeed --module pkg.train", kModule, "pkg.train"},
    {"horovodrun -np 4 -H localhost:4 python train.py", kScript, "train.py"},
    {"mpirun -np 4 -x LD_LIBRARY_PATH --bind-to core ./job", kProgram, "./job"},
    {"mpirun -n 4 --mca btl tcp,self python -m pkg.train", kModule, "pkg.train"},
    {"mpiexec -n 2 -genv OMP_NUM_THREADS 4 ./job", kProgram, "./job"},
    {"mpirun --wdir /scratch -n 2 python a.py", kScript, "a.py", "/scratch"},
    {"srun -n 4 --mpi=pmix python train.py", kScript, "train.py"},
    {"srun -N2 --ntasks-per-node=4 -p gpu ./job", kProgram, "./job"},
    {"srun --chdir=/data torchrun --nproc-per-node 4 train.py", kScript, "train.py", "/data"},
    {"python -m mpi4py train.py", kScript, "train.py"},
    {"hocket run --ranks 2 -- ./gpt2 --link 500mbit", kProgram, "./gpt2"},
    {"bin/hocket run --ranks 2 -- python train.py", kScript, "train.py"},
    {"hocket with --workload x -- python train.py", kScript, "train.py"},
    {"hocket torch --explore 3% -- python train.py", kScript, "train.py"},
    {"hocket torch --store runs.db ./train", kProgram, "./train"},
    {"hocket topology", kProgram, "hocket"},
    {"hocket run --", kUnknown, ""},
    // Wrappers.
    {"env A=B python train.py", kScript, "train.py"},
    {"env -i -u HOME A=B C=D ./job", kProgram, "./job"},
    {"env -C /data python train.py", kScript, "train.py", "/data"},
    {"/usr/bin/env python3 train.py", kScript, "train.py"},
    {"A=B python train.py", kScript, "train.py"},
    {"nice python train.py", kScript, "train.py"},
    {"nice -n 10 python train.py", kScript, "train.py"},
    {"nice -10 python train.py", kScript, "train.py"},
    {"ionice -c 2 -n 7 ./job", kProgram, "./job"},
    {"time -p ./job", kProgram, "./job"},
    {"/usr/bin/time -f %e -o t.txt ./job", kProgram, "./job"},
    {"timeout -s KILL 10m python a.py", kScript, "a.py"},
    {"numactl --cpunodebind=0 --membind=0 ./job", kProgram, "./job"},
    {"numactl -N 0 -m 0 python a.py", kScript, "a.py"},
    {"taskset -c 0-3 python a.py", kScript, "a.py"},
    {"taskset 0xf ./job", kProgram, "./job"},
    {"chrt -f 10 ./job", kProgram, "./job"},
    {"nohup setsid stdbuf -oL python -u a.py", kScript, "a.py"},
    {"sudo -u ada nice env A=1 python a.py", kScript, "a.py"},
    {"perf stat -e cycles -r 3 ./job", kProgram, "./job"},
    {"nsys profile -o out --trace cuda,nvtx python a.py", kScript, "a.py"},
    {"uv run --with numpy train.py", kProgram, "train.py"},
    {"uv run python train.py", kScript, "train.py"},
    {"poetry run python -m pkg.train", kModule, "pkg.train"},
    {"conda run -n ml --no-capture-output python a.py", kScript, "a.py"},
    {"apptainer exec --nv -B /data image.sif python a.py", kScript, "a.py"},
    {"python -m cProfile -o out a.py", kScript, "a.py"},
    {"coverage run --source pkg a.py", kScript, "a.py"},
    {"env", kUnknown, ""},
    {"nice -n", kUnknown, ""},
};

class CommandProgramTest : public ::testing::TestWithParam<Case> {};

TEST_P(CommandProgramTest, IsWhatTheCommandRuns) {
  if (GetParam().text == nullptr) {
    const auto program = read_command(std::vector<std::string>{"node", "--eval=run()"});
    EXPECT_EQ(program.kind, kCode);
    EXPECT_EQ(program.text, "run()");
    return;
  }
  const auto program = read_command(words_of(GetParam().line));
  EXPECT_EQ(program.kind, GetParam().kind);
  EXPECT_EQ(program.text, GetParam().text);
  EXPECT_EQ(program.folder, GetParam().folder);
}

INSTANTIATE_TEST_SUITE_P(All, CommandProgramTest, ::testing::ValuesIn(kCases));

TEST(CommandProgram, HasAShortName) {
  const auto name = [](const char* line) { return short_name(read_command(words_of(line))); };
  EXPECT_EQ(name("python3 src/train.py"), "train.py");
  EXPECT_EQ(name("/opt/bin/job -x"), "job");
  EXPECT_EQ(name("torchrun -m pkg.train"), "pkg.train");
  EXPECT_EQ(name("/bin/sh -c 'a; b'"), "sh");
  EXPECT_EQ(name("bash -c 'nice python3 -c 1'"), "python3");
  EXPECT_EQ(name("nice"), "nice");
}

TEST(CommandProgram, HasTheRanksThatItsLauncherSays) {
  const auto ranks = [](const char* line) { return read_command(words_of(line)).ranks; };
  EXPECT_EQ(ranks("torchrun --nproc-per-node 2 train.py"), 2);
  EXPECT_EQ(ranks("torchrun --nproc_per_node=4 --nnodes 2 train.py"), 8);
  EXPECT_EQ(ranks("python -m torch.distributed.run --nproc-per-node 3 train.py"), 3);
  EXPECT_EQ(ranks("accelerate launch --num_processes 2 train.py"), 2);
  EXPECT_EQ(ranks("nice -n 5 mpirun -np 4 ./job"), 4);
  EXPECT_EQ(ranks("hocket run --ranks 2 -- ./job"), 2);
  EXPECT_EQ(ranks("bash -c 'cd /x && torchrun --nproc-per-node 2 train.py'"), 2);
  EXPECT_EQ(ranks("srun -n 2 torchrun --nnodes 2 --nproc-per-node 4 train.py"), 8)
      << "torchrun counts those of all nodes";
  EXPECT_EQ(ranks("srun -n 2 python train.py"), 2);
  for (const char* unknown :
       {"torchrun train.py", "torchrun --nproc-per-node gpu train.py", "nice -n 5 ./job",
        "torchrun --nnodes 1:4 --nproc-per-node 2 train.py", "torchrun --nproc-per-node", "./job",
        "torchrun --nproc-per-node -3 train.py",
        "torchrun --nnodes 9999999 --nproc-per-node 9999999 train.py"}) {
    EXPECT_EQ(ranks(unknown), 0) << unknown;
  }
}

TEST(CommandProgram, KeepsTheWordsBehindAProgram) {
  EXPECT_EQ(read_command(words_of("nice runner -v a.cfg")).arguments,
            (std::vector<std::string>{"-v", "a.cfg"}));
}

/// Wrapping a command never changes what it runs.
TEST(CommandProgram, IsTheSameUnderAnyWrappers) {
  const std::vector<std::vector<std::string>> wrappers = {{"env", "A=B"},
                                                          {"nice", "-n", "3"},
                                                          {"time"},
                                                          {"taskset", "-c", "0"},
                                                          {"srun", "-n", "2"},
                                                          {"mpirun", "-np", "2"},
                                                          {"hocket", "run", "--ranks", "2", "--"},
                                                          {"timeout", "5"},
                                                          {"numactl", "-N", "0"},
                                                          {"nohup"}};
  const std::vector<std::string> commands[] = {
      {"python", "train.py"}, {"./job", "-x"}, {"python", "-m", "pkg"}, {"sh", "-c", "a; b"}};
  for (std::uint64_t seed = 0; seed < rounds(400); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto& plain = commands[random() % std::size(commands)];
    std::vector<std::string> wrapped;
    for (auto count = random() % 6; count > 0; --count) {
      const auto& wrapper = wrappers[random() % wrappers.size()];
      wrapped.insert(wrapped.end(), wrapper.begin(), wrapper.end());
    }
    wrapped.insert(wrapped.end(), plain.begin(), plain.end());
    CommandProgram found = read_command(wrapped);
    found.ranks = 0;  // only launchers say how many
    ASSERT_EQ(found, read_command(plain));
  }
}

TEST(CommandProgram, ReadsAnyWords) {
  const char* pieces[] = {"python", "-m",  "sh",   "-c", "torchrun", "--", "",   "-",      "env",
                          "A=B",    "cd",  "'",    "$(", "nice",     "-n", "&&", "a.py",   "mpirun",
                          "--mca",  "-np", "sudo", "=",  "\\",       "\"", "|",  "hocket", "run"};
  for (std::uint64_t seed = 0; seed < rounds(4000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    std::vector<std::string> words;
    for (auto count = 1 + random() % 8; count > 0; --count) {
      std::string word = pieces[random() % std::size(pieces)];
      if (random() % 3 == 0) word += std::string(" ") + pieces[random() % std::size(pieces)];
      words.push_back(std::move(word));
    }
    const auto program = read_command(words);
    ASSERT_EQ(program.text.empty(), program.kind == kUnknown) << short_name(program);
  }
}

TEST(CommandProgram, WrappersWithoutEndAreNotFollowed) {
  std::vector<std::string> words(1000, "nice");
  words.emplace_back("job");
  EXPECT_EQ(read_command(words).kind, kProgram);
}

}  // namespace
}  // namespace hocket
