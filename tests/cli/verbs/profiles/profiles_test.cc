// Tests the verbs on profiles, with a store of profiles from simulated jobs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "cli/application.h"
#include "cli/base/context.h"
#include "cli/output/columns.h"
#include "core/description/step_description.h"
#include "profiler/formats/chrome_import.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/cli/answer.h"
#include "tests/core/sim/random_placed_steps.h"
#include "tests/tuner/explain/well_formed.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class Profiles : public ::testing::Test {
 protected:
  Answer ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--store", job_.path});
    return ask_hocket(arguments);
  }
  Answer profiles(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "profiles");
    return ask(std::move(arguments));
  }
  std::string file(const std::string& name) const { return job_.folder.file(name); }

  ProfiledJob job_;
  const ProfileRow row_ = job_.add();
  const std::string name_ = row_.name;
};

TEST_F(Profiles, ListShowsEach) {
  job_.add();
  const auto text = profiles({"list"});
  ASSERT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr(name_), HasSubstr("simulator"), HasSubstr(" 7 ")));
  const auto json = profiles({"list", "--json"}).json();
  ASSERT_EQ(json["profiles"].size(), 2U);
  EXPECT_EQ(json["profiles"][0]["profile"], name_);
}

TEST_F(Profiles, ShowSaysWhatIsThereAndWhatIsMissing) {
  auto traces = ProfiledJob::traces();
  traces.pop_back();
  ProfileToSave save{.folder = must(create_profile_folder(*job_.store, job_.path, "half")),
                     .ranks = {{traces[0].trace}},
                     .missing = {{1, "its host does not see the folder"}},
                     .overhead = ProfileOverhead{1010, 1000, 5, 5, 10}};
  const auto half = must(save_profile(*job_.store, job_.path, std::move(save)));
  const auto text = profiles({"show", half.name});
  ASSERT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(
      text.out,
      AllOf(HasSubstr("missing"), HasSubstr("note: rank 1 has no trace: its host"),
            HasSubstr("overhead       1.0 % ± 2.0 %"), HasSubstr("nothing can be predicted")));
  EXPECT_THAT(profiles({"metrics", half.name}).out,
              HasSubstr("note: rank 1 has no trace: its host"));
  EXPECT_EQ(profiles({"metrics", half.name, "--json"}).json()["notes"],
            profiles({"show", half.name, "--json"}).json()["notes"]);
  EXPECT_THAT(profiles({"list"}).out, ContainsRegex(half.name + " .* [0-9]+ notes\n"));
  EXPECT_THAT(profiles({"metrics", name_}).out, Not(HasSubstr("note: ")));
  EXPECT_THAT(profiles({"show", name_}).out,
              AllOf(HasSubstr("partition_bytes=1048576"), HasSubstr("the reference"),
                    HasSubstr(row_.ranks[1].trace_path), Not(HasSubstr("overhead"))));
  EXPECT_EQ(profiles({"show", std::to_string(row_.id), "--json"}).json()["profile"], name_);
}

TEST_F(Profiles, ShowSumsUpManyMissingRanksAndNotesOfOneKind) {
  auto traces = ProfiledJob::traces();
  traces.pop_back();
  ProfileToSave save{.folder = must(create_profile_folder(*job_.store, job_.path, "few")),
                     .ranks = {{traces[0].trace}}};
  for (std::int64_t rank = 1; rank < 127; ++rank) {
    const std::string reason =
        rank < 100 ? "no file of it was imported" : "it is cut off in byte " + std::to_string(rank);
    save.missing.push_back({rank, reason});
  }
  const auto few = must(save_profile(*job_.store, job_.path, std::move(save)));
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  const auto text = profiles({"show", few.name});
  ASSERT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("\n126 of 127 ranks have no trace, and the notes say which and why; "
                              "--all has a line for each\n"),
                    HasSubstr("note: ranks 1 to 99 have no trace: no file of it was imported\n"),
                    HasSubstr("note: rank 100 has no trace: it is cut off in byte 100\n"
                              "note: rank 101 has no trace: it is cut off in byte 101\n"
                              "note: 25 more like the last one; --all prints them\n")));
  EXPECT_LT(lines(text.out), 24);
  const auto all = profiles({"show", few.name, "--all"});
  EXPECT_THAT(all.out,
              AllOf(ContainsRegex("\n126 +0 +0 .* missing\n"),
                    HasSubstr("note: rank 126 has no trace"), Not(HasSubstr("more like"))));
  EXPECT_GT(lines(all.out), 126 + 27);
}

TEST_F(Profiles, MetricsHasAColumnARank) {
  const auto text = profiles({"metrics", name_});
  ASSERT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("rank 1"), HasSubstr("iteration_ns"), HasSubstr(" ms"),
                              HasSubstr("GB/s"), HasSubstr(" %")));
  EXPECT_THAT(profiles({"metrics", name_, "--rank", "1"}).out, Not(HasSubstr("rank 0")));
  EXPECT_FALSE(profiles({"metrics", name_, "--json"}).json()["metrics"].empty());
  EXPECT_THAT(profiles({"metrics", name_, "--rank", "5"}).err, HasSubstr("no rank 5"));
  StepDescription many = small_step();
  many.ranks = 6;
  EXPECT_THAT(profiles({"metrics", job_.add(many).name}).out, HasSubstr("lowest rank's  median"));
  must(job_.store->add_profile({.name = "bare"}));
  EXPECT_THAT(profiles({"metrics", "bare"}).out, HasSubstr("no figures"));
}

TEST_F(Profiles, DiffNamesWhatChanged) {
  StepDescription slow = small_step();
  slow.layers[1].backward_ns += 700'000;
  const auto other = job_.add(slow).name;
  const auto text = profiles({"diff", name_, other});
  ASSERT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("beyond the noise"), HasSubstr("backward 1 out"),
                              HasSubstr("+700 us")));
  EXPECT_THAT(profiles({"diff", name_, other, "--tasks", "1"}).out, HasSubstr("further tasks"));
  const auto same = profiles({"diff", name_, name_});
  EXPECT_THAT(same.out, AllOf(HasSubstr("within the noise"), Not(HasSubstr("beyond"))));
  EXPECT_EQ(profiles({"diff", name_, other, "--json"}).json()["tasks"][0]["change_ns"], 700'000);
}

TEST_F(Profiles, DiffHasNoPercentageThatSaysNothing) {
  const auto add = [&](const char* name, double skew, double wait, double idle) {
    must(job_.store->add_profile({.name = name,
                                  .metrics = {{.name = "a_ns", .value = skew},
                                              {.name = "b_ns", .value = wait},
                                              {.name = "c_ns", .value = idle}}}));
  };
  add("before", 2'000, 1'000, 1'000);
  add("after", -25'156'646, 12'500, 1'500);
  const auto text = profiles({"diff", "before", "after"});
  ASSERT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, Not(HasSubstr("12578")));
  EXPECT_THAT(text.out, HasSubstr("× 12.5"));
  EXPECT_THAT(text.out, HasSubstr("+50.0 %"));
}

TEST_F(Profiles, ExportWritesTimelinesAndTheStep) {
  const auto path = file("out.json");
  const auto chrome = profiles({"export", name_, "--format", "chrome", "-o", path});
  ASSERT_EQ(chrome.status, kDone) << chrome.err;
  EXPECT_THAT(chrome.out, HasSubstr(path));
  std::ifstream in(path);
  EXPECT_EQ(must(read_chrome_trace(in)).traces.size(), 2U);

  const auto one = profiles({"export", name_, "--format", "chrome", "--rank", "1", "-o", "-"});
  std::istringstream piped(one.out);
  const auto read = must(read_chrome_trace(piped));
  ASSERT_EQ(read.traces.size(), 1U);
  EXPECT_EQ(read.traces[0].rank, 1);

  EXPECT_EQ(profiles({"export", name_, "-o", file("out.pftrace"), "--json"}).json()["file"],
            file("out.pftrace"));
  EXPECT_GT(std::filesystem::file_size(file("out.pftrace")), 1000U);

  const auto step = profiles({"export", name_, "--step", "-o", "-"});
  ASSERT_EQ(step.status, kDone) << step.err;
  EXPECT_EQ(must(parse_step_description(step.out)).ranks, 2);
}

TEST_F(Profiles, ExportThatCannotBeWrittenSaysWhy) {
  for (const char* format : {"chrome", "perfetto"}) {
    const auto full = profiles({"export", name_, "--format", format, "-o", "/dev/full"});
    EXPECT_EQ(full.status, kFailed);
    EXPECT_THAT(full.err, HasSubstr("/dev/full: No space left"));
    const auto nowhere = profiles({"export", name_, "-o", file("none/x")});
    EXPECT_EQ(nowhere.status, kFailed);
    EXPECT_THAT(nowhere.err, HasSubstr("No such file"));
  }
  EXPECT_THAT(profiles({"export", name_, "--format", "otf2"}).err,
              AllOf(HasSubstr("--format"), HasSubstr("perfetto or chrome")));
  EXPECT_EQ(profiles({"export", name_, "--step", "-o", "/dev/full"}).status, kFailed);
}

TEST_F(Profiles, ImportShowsWhatItMade) {
  const auto path = file("trace.json");
  ASSERT_EQ(profiles({"export", name_, "--format", "chrome", "-o", path}).status, kDone);
  const auto first = profiles({"import", path, "--name", "mine", "--json"});
  ASSERT_EQ(first.status, kDone) << first.err;
  EXPECT_EQ(first.json()["ranks"].size(), 2U);
  EXPECT_EQ(first.json()["iterations"], 7);
  const auto again = profiles({"import", path, "--name", "mine"});
  ASSERT_EQ(again.status, kDone) << again.err;
  EXPECT_THAT(again.out, ContainsRegex("profile +mine-2"));
  EXPECT_THAT(again.err, HasSubstr("the profile is called mine-2"));
  EXPECT_EQ(first.json()["profile"], "mine");
  const auto wrong = profiles({"import", file("none.json")});
  EXPECT_EQ(wrong.status, kBadInput);
  EXPECT_THAT(wrong.err, HasSubstr("none.json"));
  const auto trace = row_.ranks[0].trace_path;
  EXPECT_THAT(profiles({"import", trace, "--with", name_}).err, HasSubstr("rank 0, and so is"));
  EXPECT_EQ(profiles({"import", path, "--all"}).status, kDone);
}

TEST_F(Profiles, ReportNeedsNoStoreAndMakesNone) {
  const auto path = file("trace.json"), store = file("no/such/store.db");
  ASSERT_EQ(profiles({"export", name_, "--format", "chrome", "-o", path}).status, kDone);
  const auto page = ask_hocket({"profiles", "import", path, "--report", "--store", store});
  ASSERT_EQ(page.status, kDone) << page.err;
  for (const char* said : {"2 ranks", "iterations  7", "exposed", "all_reduce", "what to try"})
    EXPECT_THAT(page.out, HasSubstr(said));
  EXPECT_FALSE(std::filesystem::exists(file("no")));
  const auto json = ask_hocket({"profiles", "import", path, "--report", "--json"});
  ASSERT_EQ(json.status, kDone) << json.err;
  EXPECT_EQ(json.json()["ranks"].size(), 2U);
  EXPECT_EQ(ask_hocket({"profiles", "import", path, "--report", "--name", "x"}).status, kBadInput);
  EXPECT_EQ(must(job_.store->profiles()).size(), 1U);
}

TEST_F(Profiles, RmRemovesTheNamedOnesWithTheirTraces) {
  const ProfileRow second = job_.add();
  const auto third = job_.add().name;
  const auto dry = profiles({"rm", name_, second.name, "--dry-run"});
  EXPECT_EQ(dry.status, kDone) << dry.err;
  EXPECT_THAT(dry.out, AllOf(HasSubstr("would go"), HasSubstr(name_), HasSubstr(second.name)));
  EXPECT_EQ(must(job_.store->profiles()).size(), 3U);
  const auto done = profiles({"rm", name_, std::to_string(second.id), second.name, "--json"});
  EXPECT_EQ(done.status, kDone) << done.err;
  EXPECT_EQ(done.json()["removed"].size(), 2U) << "each once";
  EXPECT_GT(done.json()["freed_bytes"], 1000);
  ASSERT_EQ(must(job_.store->profiles()).size(), 1U);
  EXPECT_EQ(must(job_.store->profiles())[0].name, third);
  EXPECT_FALSE(std::filesystem::exists(row_.ranks[0].trace_path));
  EXPECT_FALSE(std::filesystem::exists(second.ranks[1].trace_path));
  EXPECT_TRUE(std::filesystem::exists(must(job_.store->profile(third)).ranks[0].trace_path));
}

TEST_F(Profiles, RmRefusesKeptAndUnknownOnesAndRemovesNothing) {
  const auto second = job_.add().name;
  profiles({"keep", name_});
  for (const auto& [names, message] :
       {std::pair(std::vector{second, name_}, "is kept, so it is not removed"),
        std::pair(std::vector{second, std::string("none")}, "`hocket profiles list --store ")}) {
    std::vector<std::string> arguments = {"rm"};
    arguments.insert(arguments.end(), names.begin(), names.end());
    const auto refused = profiles(arguments);
    EXPECT_EQ(refused.status, kBadInput);
    EXPECT_THAT(refused.err, HasSubstr(message));
    EXPECT_EQ(must(job_.store->profiles()).size(), 2U);
  }
  const auto forced = profiles({"rm", name_, "--force"});
  EXPECT_EQ(forced.status, kDone) << forced.err;
  EXPECT_FALSE(std::filesystem::exists(row_.ranks[0].trace_path));
  EXPECT_EQ(must(job_.store->profiles()).size(), 1U);
  EXPECT_EQ(profiles({"rm"}).status, kBadInput);
}

TEST_F(Profiles, PruneKeepsTheNewestAndWhatIsMarked) {
  const auto second = job_.add().name, third = job_.add().name;
  EXPECT_THAT(profiles({"keep", name_}).out, HasSubstr("kept"));
  const auto dry = profiles({"prune", "--keep", "1", "--dry-run"});
  EXPECT_THAT(dry.out, AllOf(HasSubstr("would go"), HasSubstr(second), Not(HasSubstr(third))));
  EXPECT_EQ(profiles({"list", "--json"}).json()["profiles"].size(), 3U);
  const auto pruned = profiles({"prune", "--keep", "1"});
  ASSERT_EQ(pruned.status, kDone) << pruned.err;
  EXPECT_THAT(pruned.out, HasSubstr(second));
  const auto left = profiles({"list", "--json"}).json()["profiles"];
  ASSERT_EQ(left.size(), 2U);
  EXPECT_TRUE(left[0]["kept"]);
  EXPECT_EQ(left[1]["profile"], third);
  EXPECT_THAT(profiles({"prune", "--keep", "1"}).out, HasSubstr("nothing to remove"));
  EXPECT_THAT(profiles({"keep", name_, "--release"}).out, HasSubstr("may be pruned"));
  EXPECT_EQ(profiles({"prune", "--max-size", "0", "--json"}).json()["removed"].size(), 2U);
  EXPECT_EQ(profiles({"prune", "--keep", "0"}).status, kDone) << "of nothing";
}

TEST_F(Profiles, WrongArgumentsAreNamed) {
  struct Misuse {
    std::vector<std::string> arguments;
    std::string said;
  };
  const std::vector<Misuse> misuses = {
      {{"show", "none"}, "hocket profiles list"},
      {{"metrics", "none"}, "hocket profiles list"},
      {{"diff", name_, "none"}, "none"},
      {{"export", "none"}, "none"},
      {{"keep", "none"}, "none"},
      {{"prune"}, "--keep"},
      {{"prune", "--keep", "-1"}, "--keep"},
      {{"prune", "--older-than", "-1"}, "--older-than"},
      {{"prune", "--older-than", "nan"}, "--older-than"},
      {{"prune", "--max-size", "big"}, "--max-size"},
      {{"frobnicate"}, "hocket profiles has no verb \"frobnicate\""},
      {{"import"}, "FILE"},
  };
  for (const auto& [arguments, said] : misuses) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const auto answer = profiles(arguments);
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.err, HasSubstr(said));
  }
}

TEST_F(Profiles, AreNamedByABeginningThatOnlyOneHas) {
  ProfileToSave save{.folder = must(create_profile_folder(*job_.store, job_.path, "resnet")),
                     .ranks = {{ProfiledJob::traces()[0].trace}}};
  const auto resnet = must(save_profile(*job_.store, job_.path, std::move(save))).name;
  ASSERT_NE(name_[0], 'r');
  EXPECT_THAT(profiles({"show", "resn"}).out, HasSubstr(resnet));
  EXPECT_EQ(profiles({"show", "r", "--json"}).json()["profile"], resnet);
  EXPECT_EQ(profiles({"show", "resent"}).err,
            "hocket: the store has no profile \"resent\"; `hocket profiles list --store " +
                job_.path + "` lists them; the nearest is \"" + resnet + "\"\n");
  const std::string second = job_.add().name, common = name_.substr(0, name_.size() - 1);
  ASSERT_TRUE(second.starts_with(common));
  const auto several = profiles({"show", common});
  EXPECT_EQ(several.status, kBadInput);
  EXPECT_THAT(several.err, HasSubstr("several profiles begin with \"" + common + "\": " + name_ +
                                     ", " + second));
  EXPECT_EQ(profiles({"show", ""}).status, kBadInput);
  const auto removed = profiles({"rm", "resn"});
  EXPECT_EQ(removed.status, kBadInput) << "what cannot be undone needs the whole name";
  EXPECT_THAT(removed.err, HasSubstr("the nearest is \"" + resnet + "\""));
  EXPECT_EQ(profiles({"show", resnet}).status, kDone);
}

TEST_F(Profiles, AStoreThatIsNotThereMeansThatNothingWasProfiled) {
  for (const char* verb : {"list", "prune"}) {
    std::vector<std::string> arguments = {"profiles", verb, "--store", file("other.db")};
    if (verb == std::string("prune")) arguments.insert(arguments.begin() + 2, {"--keep", "1"});
    std::ostringstream out, err;
    EXPECT_EQ(run_hocket(arguments, out, err, 0), kBadInput);
    EXPECT_THAT(err.str(), HasSubstr("nothing is profiled yet"));
    EXPECT_FALSE(std::filesystem::exists(file("other.db")));
  }
}

TEST_F(Profiles, TracesShowDrawsAnIteration) {
  const auto text = ask({"traces", "show", name_, "--iteration", "3", "--width", "80"});
  ASSERT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr(name_ + ", iteration 3"), HasSubstr("rank 0 on b7"),
                              HasSubstr("rank 1 on b7"), HasSubstr("stream 0"),
                              HasSubstr("channel 0"), HasSubstr("|0 ns"), HasSubstr("[backward"),
                              HasSubstr("# compute   = communication")));
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 80U);
  const auto one = ask({"traces", "show", name_, "--rank", "1", "--json"});
  ASSERT_EQ(one.status, kDone) << one.err;
  EXPECT_EQ(one.json()["ranks"].size(), 1U);
  EXPECT_FALSE(one.json()["ranks"][0]["records"].empty());
  EXPECT_TRUE(one.json()["iteration"].is_number_integer());
}

TEST_F(Profiles, TracesShowWritesATimelineOfSeveralProfiles) {
  SimulationOptions options = small_options();
  options.config.partition_bytes = 4 << 20;
  const auto other = job_.add(small_step(), options).name;
  const auto path = file("step.svg");
  const auto wrote = ask({"traces", "show", name_, other, "--iteration", "3", "--output", path});
  ASSERT_EQ(wrote.status, kDone) << wrote.err;
  EXPECT_EQ(wrote.out, "wrote " + path + "\n");
  std::ifstream in(path);
  const std::string svg(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(xml_complaint(svg), "");
  EXPECT_THAT(svg, AllOf(HasSubstr(name_ + ": "), HasSubstr(other + ": "),
                         HasSubstr("iteration 3 of rank 0"), HasSubstr("partition_bytes=1048576"),
                         HasSubstr("partition_bytes=4194304"), HasSubstr(">backward<")));

  const auto piped = ask({"traces", "show", name_, "--rank", "1", "--output", "-"});
  EXPECT_EQ(xml_complaint(piped.out), "") << piped.err;
  EXPECT_THAT(piped.out, HasSubstr(" of rank 1"));
  const auto json = ask({"traces", "show", name_, other, "-o", path, "--json"}).json();
  EXPECT_EQ(json["file"], path);
  EXPECT_EQ(json["drawn"].size(), 2U);
  EXPECT_EQ(json["drawn"][1]["profile"], other);

  const auto titled = ask(
      {"traces", "show", name_, other, "--title", "before", "--title", "after", "--output", "-"});
  EXPECT_THAT(titled.out, AllOf(HasSubstr(">before: "), HasSubstr(">after: ")));
  EXPECT_THAT(ask({"traces", "show", name_, other, "--title", "before", "-o", path}).err,
              HasSubstr("--title: expected one for each of the 2 profiles, found 1"));

  EXPECT_THAT(ask({"traces", "show", name_, other}).err, HasSubstr("--output"));
  const auto picture = ask({"traces", "show", name_, "--output", file("boss.PNG")});
  EXPECT_EQ(picture.status, kBadInput);
  EXPECT_THAT(picture.err, HasSubstr("boss.svg"));
  EXPECT_FALSE(std::filesystem::exists(file("boss.PNG")));
  EXPECT_EQ(ask({"traces", "show", name_, "-o", path, "--calls"}).status, kBadInput);
  const auto full = ask({"traces", "show", name_, "-o", "/dev/full"});
  EXPECT_EQ(full.status, kFailed);
  EXPECT_THAT(full.err, HasSubstr("/dev/full: No space left"));
  EXPECT_THAT(ask({"traces", "show", name_, "none", "-o", path}).err,
              HasSubstr("hocket profiles list"));
}

TEST_F(Profiles, TracesShowSaysWhatItCannotDraw) {
  EXPECT_THAT(ask({"traces", "show", name_, "--iteration", "99"}).err,
              AllOf(HasSubstr("no iteration 99"), HasSubstr("0 to 6")));
  EXPECT_THAT(ask({"traces", "show", name_, "--width", "39"}).err, HasSubstr("from 40 to 300"));
  EXPECT_THAT(ask({"traces", "show", name_, "--rank", "2"}).err, HasSubstr("no rank 2"));
  EXPECT_THAT(ask({"traces", "show", "none"}).err, HasSubstr("hocket profiles list"));
  std::filesystem::resize_file(row_.ranks[1].trace_path, 100);
  const auto half = ask({"traces", "show", name_, "--iteration", "3"});
  EXPECT_EQ(half.status, kDone);
  EXPECT_THAT(half.out, Not(HasSubstr("rank 1")));
  EXPECT_THAT(half.err, HasSubstr("rank 1 is left out"));
  std::filesystem::remove(row_.ranks[0].trace_path);
  EXPECT_EQ(ask({"traces", "show", name_, "--iteration", "3"}).status, kBadInput);
}

TEST_F(Profiles, OfAPlacedStepShowsHowIdleItsLanesAre) {
  std::mt19937_64 random(3);
  StepDescription step = described(step_of({.layers = 2}), random, false);
  for (StepTask& task : step.tasks) task.duration_ns = 20'000;
  const auto placed = job_.add(step, {.config = {}, .iterations = 30});
  const auto text = profiles({"show", placed.name});
  ASSERT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, HasSubstr("copies to the device  copies to the host\nmedian  "));
  EXPECT_THAT(text.out, HasSubstr("\nstep 5 "));
  EXPECT_THAT(text.out, HasSubstr("10 further iterations; --json has more"));
  EXPECT_EQ(profiles({"show", placed.name, "--json"}).json()["idle"].size(), 30U);
  EXPECT_THAT(profiles({"metrics", placed.name}).out, HasSubstr("to_host_idle_share"));
  EXPECT_THAT(profiles({"show", name_}).out, Not(HasSubstr("idle")));
  // It is predicted as a placed step.
  const auto simulated = ask({"simulate", "--profile", placed.name, "--offload"});
  ASSERT_EQ(simulated.status, kDone) << simulated.err;
  EXPECT_THAT(simulated.out, HasSubstr("CoTrain's rule gives"));
  const auto other = ask({"simulate", "--profile", placed.name, "--set", "offload_k=1", "--json"});
  ASSERT_EQ(other.status, kDone) << other.err;
  EXPECT_EQ(other.json()["placement"]["device_memory_bytes"], step.device_memory_bytes);
}

}  // namespace
}  // namespace hocket
