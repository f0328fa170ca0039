#include "cli/inputs/space/script_defaults.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using Texts = std::map<std::string, std::string>;

TEST(ScriptDefaults, FindsTheOptionInFrontOfAParameter) {
  EXPECT_EQ(placed_options({"python3", "train.py", "--bucket-mb", "{B}", "--lr={LR}", "-n", "{N}"}),
            (Texts{{"B", "--bucket-mb"}, {"LR", "--lr"}, {"N", "-n"}}));
  EXPECT_EQ(placed_options({"x", "{A}", "--b", "{B}M", "--c=1{C}", "--d", "{D}{E}", "{", "--f={}"}),
            Texts());
  EXPECT_EQ(placed_options({"x", "--a", "{A}", "--b", "{A}", "--c", "{C}"}), (Texts{{"C", "--c"}}));
  EXPECT_EQ(placed_options({}), Texts());
}

TEST(ScriptDefaults, FindsTheScriptAndWhatInterpretsIt) {
  const TemporaryFolder folder;
  const std::string script = folder.write("train.py", "");
  EXPECT_EQ(python_script({"/venv/bin/python3.11", "-u", script, "--x"}),
            (PythonScript{"/venv/bin/python3.11", script}));
  EXPECT_EQ(python_script({"torchrun", "--nproc-per-node", "2", script}),
            (PythonScript{"python3", script}));
  EXPECT_EQ(python_script({script}), (PythonScript{"python3", script}));
  EXPECT_FALSE(python_script({"python3", "-m", "train"}));
  EXPECT_FALSE(python_script({"python3", folder.file("absent.py")}));
}

/// Returns the defaults that a script has of --a, --b, ….
Texts defaults_of(const std::string& body, const std::vector<std::string>& options) {
  const TemporaryFolder folder;
  const SteadyClock clock;
  return argparse_defaults({"python3", folder.write("script.py", body)}, options, clock);
}

TEST(ScriptDefaults, ReadsLiteralDefaultsOfTheArgumentParser) {
  EXPECT_EQ(defaults_of(R"(
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("-b", "--bucket-mb", type=int, default=25)
group = parser.add_argument_group("more")
group.add_argument("--bytes", default=4 * 1024 * 1024, help="size")
group.add_argument("--shifted", default=1 << 20)
group.add_argument("--rate", default=1e-3)
group.add_argument("--whole", default=64.0)
group.add_argument("--less", default=-3)
group.add_argument("--mode", default="ring")
)",
                        {"--bucket-mb", "-b", "--bytes", "--shifted", "--rate", "--whole", "--less",
                         "--mode", "--unknown"}),
            (Texts{{"--bucket-mb", "25"},
                   {"-b", "25"},
                   {"--bytes", "4194304"},
                   {"--shifted", "1048576"},
                   {"--rate", "0.001"},
                   {"--whole", "64"},
                   {"--less", "-3"},
                   {"--mode", "ring"}}));
}

TEST(ScriptDefaults, LeavesOutWhatCannotBeKnown) {
  EXPECT_EQ(defaults_of(R"(
p.add_argument("--expression", default=int(os.environ["X"]))
p.add_argument("--power", default=9 ** 9 ** 9)
p.add_argument("--none")
p.add_argument("--nothing", default=None)
p.add_argument("--truth", default=True)
p.add_argument("--twice", default=1)
p.add_argument("--twice", default=2)
p.add_argument("--set-later", default=3)
p.add_argument("--other", dest="renamed", default=4)
p.add_argument("--known", default=5)
p.set_defaults(set_later=7, renamed=8)
)",
                        {"--expression", "--power", "--none", "--nothing", "--truth", "--twice",
                         "--set-later", "--other", "--known"}),
            (Texts{{"--known", "5"}}));
  EXPECT_EQ(defaults_of("p.add_argument('--a', default=1); p.set_defaults(**more)", {"--a"}),
            Texts());
  EXPECT_EQ(defaults_of("this is not Python", {"--a"}), Texts());
  EXPECT_EQ(defaults_of(std::string(100'000, '('), {"--a"}), Texts());
  EXPECT_EQ(defaults_of(std::string("\0\xff", 2), {"--a"}), Texts());
  const SteadyClock clock;
  EXPECT_EQ(argparse_defaults({"/no/such/python", "x.py"}, {"--a"}, clock), Texts());
}

TEST(ScriptDefaults, NeverRunsTheScriptNorWhatLiesBesideIt) {
  const TemporaryFolder folder;
  const std::string mark = "open('" + folder.file("ran") + "', 'w')\n";
  folder.write("ast.py", mark);
  folder.write("sitecustomize.py", mark);
  const std::string script = folder.write("script.py", mark + "p.add_argument('--a', default=1)\n");
  const SteadyClock clock;
  EXPECT_EQ(argparse_defaults({"python3", script}, {"--a"}, clock), (Texts{{"--a", "1"}}));
  EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
}

}  // namespace
}  // namespace hocket
