// Tests hocket tune end to end, with arbitrary commands, and the output of the other verbs
// afterwards.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "core/step/schedule_config.h"
#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// A command whose "time" is a function of its parameter, with the minimum at X = 20.
constexpr const char* kParabola = "echo t=$(( ({X}-20)*(X-20) + 100 ))";

std::vector<std::string> tune(const std::string& script, std::vector<std::string> options = {}) {
  std::vector<std::string> arguments = {"tune", "--objective", "regex:t=([0-9.]+)"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {"--", "sh", "-c", script});
  return arguments;
}

TEST(Tune, PromotesTheClearlyBest) {
  const TemporaryFolder folder;
  const auto ended =
      hocket_run(folder, tune(kParabola, {"--param", "X=int:1..64", "--default", "X=50", "--trials",
                                          "10", "--workload", "parabola", "--json"}));
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto document = ended.json();
  EXPECT_EQ(document.at("study"), "parabola-1");
  EXPECT_EQ(document.at("default").at("params"), nlohmann::json({{"X", 50}}));
  EXPECT_EQ(document.at("default").at("value"), 1000);
  EXPECT_EQ(document.at("default").at("spread"), 0);
  EXPECT_LT(document.at("best").at("value"), 500);
  EXPECT_EQ(document.at("promoted"), true);
  EXPECT_GT(document.at("gain"), document.at("needed"));
  EXPECT_GT(document.at("gain_interval").at("low"), 0);
  EXPECT_EQ(document.at("default_sources").at("X").at("origin"), "given");
  EXPECT_EQ(document.at("emulated_link"), false);
  const auto& trials = document.at("trials");
  ASSERT_EQ(trials.size(), 14U);  // 10, and 2 pairs, which agree
  std::int64_t number = 0;
  for (const auto& trial : trials) {
    EXPECT_EQ(trial.at("number"), ++number);
    EXPECT_EQ(trial.at("state"), "complete");
    EXPECT_EQ(trial.at("phase"), number <= 10 ? "search" : "confirm");
    const std::int64_t x = trial.at("params").at("X");
    EXPECT_EQ(trial.at("value"), (x - 20) * (x - 20) + 100);
    EXPECT_EQ(trial.at("spread"), 0);
    EXPECT_EQ(trial.at("message"), "");
  }
  EXPECT_EQ(document.at("fetch"), "hocket fetch --workload parabola");
  EXPECT_THAT(ended.err, HasSubstr("trial 10/10"));
  EXPECT_THAT(ended.err, HasSubstr("confirmation 4/10"));

  const auto fetched = hocket_run(folder, {"fetch", "--workload", "parabola"});
  ASSERT_EQ(fetched.status, 0) << fetched.err;
  EXPECT_EQ(fetched.json(), document.at("best").at("params"));
  EXPECT_THAT(fetched.err, HasSubstr("study parabola-1"));
  const auto described = hocket_run(folder, {"fetch", "--json", "--workload", "parabola"}).json();
  EXPECT_EQ(described.at("config"), document.at("best").at("params"));
  EXPECT_EQ(described.at("value"), document.at("best").at("value"));
}

TEST(Tune, WhatItPrintedCanBeReadAgain) {
  const TemporaryFolder folder;
  const auto tuned =
      hocket_run(folder, tune(kParabola, {"--param", "X=int:1..64", "--trials", "6", "--json"}));
  const auto document = tuned.json();
  const auto trials = hocket_run(folder, {"trials", "sh-1", "--json"});
  ASSERT_EQ(trials.status, 0) << trials.err;
  EXPECT_EQ(trials.json().at("trials"), document.at("trials"));
  for (const auto& arguments :
       {std::vector<std::string>{"best", "--json"}, {"best", "sh-1", "--json"}}) {
    const auto best = hocket_run(folder, arguments);
    ASSERT_EQ(best.status, 0) << best.err;
    for (const char* field : {"study", "default", "best", "promoted", "gain", "needed",
                              "gain_interval", "default_sources", "reason"}) {
      EXPECT_EQ(best.json().at(field), document.at(field)) << field;
    }
  }
  const auto studies = hocket_run(folder, {"studies", "--json"}).json().at("studies");
  ASSERT_EQ(studies.size(), 1U);
  EXPECT_EQ(studies[0].at("name"), "sh-1");
  EXPECT_EQ(studies[0].at("state"), "finished");
  EXPECT_EQ(studies[0].at("trials"), document.at("trials").size());
}

TEST(Tune, PrintsATableTheDecisionAndTheLineThatFetches) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(
      folder, tune(kParabola, {"--param", "X=int:1..64", "--default", "X=50", "--trials", "8"}));
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("trial  phase    state     X "));
  EXPECT_THAT(ended.out, HasSubstr("\ndefault  1000 ± 0  X=50\n"));
  EXPECT_THAT(ended.out, HasSubstr("\ngain     "));
  EXPECT_THAT(ended.out, HasSubstr("\npromoted: "));
  EXPECT_THAT(ended.out, HasSubstr("\nfetch it with: hocket fetch --workload sh\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("emulated")));
  for (const std::string verb : {"best", "trials", "studies", "topology"}) {
    std::vector<std::string> arguments = {verb};
    if (verb == "trials") arguments.emplace_back("1");
    const auto shown = hocket_run(folder, arguments);
    EXPECT_EQ(shown.status, 0) << shown.err;
    EXPECT_THAT(shown.out, Not(::testing::IsEmpty())) << verb;
  }
}

TEST(Tune, KeepsTheDefaultWhenNothingIsBetter) {
  const TemporaryFolder folder;
  const auto ended =
      hocket_run(folder, tune("echo t=5", {"--param", "X=int:1..64", "--trials", "5", "--json"}));
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_EQ(ended.json().at("promoted"), false);
  EXPECT_EQ(ended.json().at("fetch"), nullptr);
  EXPECT_EQ(hocket_run(folder, {"fetch", "--workload", "sh"}).status, 2);
}

TEST(Tune, ASeedMakesItRepeat) {
  const TemporaryFolder folder;
  const auto params_of = [&](const std::string& seed) {
    const auto ended = hocket_run(
        folder, tune(kParabola, {"--param", "X=int:1..1000000", "--trials", "8", "--seed", seed,
                                 "--confirm", "0", "--no-transfer", "--json"}));
    EXPECT_EQ(ended.status, 3) << ended.err;
    auto params = nlohmann::json::array();
    const auto document = ended.json();
    for (const auto& trial : document.at("trials")) params.push_back(trial.at("params"));
    return params;
  };
  const auto first = params_of("7");
  EXPECT_EQ(first.size(), 8U);
  EXPECT_EQ(params_of("7"), first);
  EXPECT_NE(params_of("8"), first);
}

TEST(Tune, TunesTheKnobsOfTheSchedulerWhenNothingElseIsAsked) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(
      folder, tune("case \"$HOCKET_CONFIG\" in *'\"streams\":1'*) echo t=100;; *) echo t=10;; esac",
                   {"--trials", "8", "--workload", "knobs", "--json"}));
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto fetched = hocket_run(folder, {"fetch", "--workload", "knobs"});
  const auto config = parse_schedule_config(fetched.out);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_GT(config->streams, 1);
  EXPECT_EQ(to_json(*config).at("partition_bytes"),
            ended.json().at("best").at("params").at("partition_bytes"));
}

TEST(Tune, SearchesKnobsThatAreNamed) {
  const TemporaryFolder folder;
  const std::string job =
      "case \"$HOCKET_CONFIG\" in *'\"layer1\":{\"launch\":\"deferred\"}'*) echo t=10;; *) echo "
      "t=100;; esac";
  const auto ended =
      hocket_run(folder, tune(job, {"--trials", "6", "--workload", "regions", "--json", "--param",
                                    "streams", "--param", "regions.layer1.launch"}));
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto fetched = hocket_run(folder, {"fetch", "--workload", "regions"});
  std::vector<std::string> warnings;
  const auto config = parse_schedule_config(fetched.out, &warnings);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(warnings, testing::IsEmpty());
  EXPECT_EQ(config->regions.at("layer1").launch, CollectiveLaunch::deferred);

  const auto refused = hocket_run(folder, tune("true", {"--param", "regions.layer1.lanch"}));
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, testing::HasSubstr("the nearest is launch"));
}

/// A job over an emulated link that writes its report to HOCKET_REPORT.
constexpr const char* kReportingJob = R"(
case $X in 1) n=1000000;; *) n=2000000;; esac
it="{\"wall_ns\":$n,\"compute_ns\":1,\"communication_ns\":1,\"exposed_ns\":0}"
cat >"$HOCKET_REPORT" <<END
{"format":"hocket-report","version":1,
 "topology":{"cpu_model":"x","sockets":1,"numa_nodes":1,"cores":1,"hardware_threads":1,
  "memory_gib":1,"link":"emulated 500mbit,50us","world_size":2,"library_versions":{}},
 "workload":{"name":"reporter","tensors":[{"name":"w","bytes":8}]},
 "config":{"format":"hocket-schedule","version":1},"config_source":"default",
 "iterations":[$it,$it,$it]}
END
)";

TEST(Tune, TakesTopologyAndWorkloadFromTheReportAndSaysThatALinkIsEmulated) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder, {"tune", "--param", "X=int:1..3", "--default", "X=3", "--",
                                         "sh", "-c", kReportingJob});
  ASSERT_EQ(ended.status, 0) << ended.err << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("study sh-1: reporter on 2 ranks"));
  EXPECT_THAT(ended.out, HasSubstr("emulated link: 500mbit,50us"));
  EXPECT_THAT(ended.out, HasSubstr("1 ms ± 0 ns"));
  EXPECT_THAT(ended.err, HasSubstr("(emulated link: 500mbit,50us)"));
  EXPECT_THAT(hocket_run(folder, {"best"}).out, HasSubstr("emulated link"));
  EXPECT_THAT(hocket_run(folder, {"trials", "1"}).out, HasSubstr("emulated link"));
  EXPECT_THAT(hocket_run(folder, {"studies"}).out, HasSubstr("emulated link"));
  EXPECT_EQ(hocket_run(folder, {"best", "--json"}).json().at("emulated_link"), true);

  // Another host's hardware: only the fingerprint selects it, and the printed command contains it.
  const auto start = ended.out.find("hocket fetch ");
  ASSERT_NE(start, std::string::npos);
  EXPECT_THAT(ended.out.substr(start), HasSubstr("--topology "));
  const auto here = hocket_run(folder, {"fetch", "--workload", "reporter"});
  EXPECT_EQ(here.status, 2);
  EXPECT_THAT(here.err, HasSubstr("--topology "));
  const auto at = ended.out.find("--topology ", start) + 11;
  const auto fetched = hocket_run(
      folder, {"fetch", "--workload", "reporter", "--topology", ended.out.substr(at, 36)});
  ASSERT_EQ(fetched.status, 0) << fetched.err;
  EXPECT_EQ(fetched.json(), nlohmann::json({{"X", 1}}));
  EXPECT_THAT(fetched.err, HasSubstr("emulated link"));
}

TEST(Tune, ReadsAFileAndTheWallClockToo) {
  const TemporaryFolder folder;
  const auto file =
      hocket_run(folder, {"tune", "--param", "X=int:1..3", "--default", "X=3", "--objective",
                          "file:n.txt", "--json", "--", "sh", "-c", "echo $((X * 10)) > n.txt"});
  ASSERT_EQ(file.status, 0) << file.err;
  EXPECT_EQ(file.json().at("best").at("value"), 10);
  const auto wall = hocket_run(folder, {"tune", "--param", "X=int:1..3", "--objective", "wall",
                                        "--confirm", "0", "--json", "--", "true"});
  EXPECT_EQ(wall.status, 3) << wall.err;
  EXPECT_GT(wall.json().at("default").at("value"), 0);
  EXPECT_EQ(wall.json().at("unit"), "ns");
}

TEST(Tune, MinimisesMemory) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(
      folder, {"tune", "--param", "X=int:1..3", "--default", "X=3", "--objective", "memory",
               "--json", "--", "sh", "-c", "head -c $((X * 64))M /dev/zero | tail -n 1 | wc -c"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto document = ended.json();
  EXPECT_EQ(document.at("unit"), "bytes");
  EXPECT_EQ(document.at("best").at("params"), nlohmann::json({{"X", 1}}));
  EXPECT_GE(document.at("best").at("value"), 64 << 20);
  EXPECT_GE(document.at("default").at("value"), 192 << 20);
  for (const auto& trial : document.at("trials"))
    EXPECT_EQ(trial.at("peak_memory_bytes"), trial.at("value"));
  EXPECT_THAT(hocket_run(folder, {"best"}).out, HasSubstr(" MiB ± "));
}

TEST(Tune, ATrialOverALimitHasFailedAndTheSearchGoesOn) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(
      folder, tune("echo t=$((50 - X * 10)) m=$((X * 10))",
                   {"--param", "X=int:1..4", "--default", "X=4", "--limit", "regex:m=([0-9]+)<=20",
                    "--limit", "memory<=100G", "--keep-going", "--json"}));
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto document = ended.json();
  EXPECT_EQ(document.at("limits"), nlohmann::json({"regex:m=([0-9]+)<=20", "memory<=100 GiB"}));
  EXPECT_EQ(document.at("best").at("params"), nlohmann::json({{"X", 2}}));
  EXPECT_THAT(document.at("reason").get<std::string>(),
              HasSubstr("the default failed (regex:m=([0-9]+) 40 is over the limit of 20)"));
  for (const auto& trial : document.at("trials")) {
    EXPECT_EQ(trial.at("state"), trial.at("params").at("X") > 2 ? "failed" : "complete");
  }
  EXPECT_THAT(hocket_run(folder, {"best"}).out, HasSubstr("\nlimited to regex:m=([0-9]+)<=20, "));
}

TEST(Tune, SaysWhyItDoesWithoutAStepOfWhichNothingElseIsPredicted) {
  const TemporaryFolder folder;
  const auto step = folder.write("step.json", R"({"format":"hocket-step","version":1,
      "layers":[{"parameter_bytes":1000000,"forward_ns":500000,"backward_ns":1000000}],
      "collective":{"alpha_ns":40000,"beta_ns_per_byte":0.2},
      "prediction_withheld":"the bytes are not known; record them"})");
  const auto ended = hocket_run(folder, tune("echo t=4", {"--step", step, "--trials", "1"}));
  EXPECT_THAT(ended.err, HasSubstr("note: the search does without the step, of which no other "
                                   "configuration is predicted: the bytes are not known; record "
                                   "them\n"));
}

TEST(Tune, EndsWhenTheDefaultFailsAndShowsWhatItPrinted) {
  const TemporaryFolder folder;
  const std::string script = "echo started >&2; echo step 1: ti=$X; echo step 2: ti=$X";
  const auto ended =
      hocket_run(folder, tune(script, {"--param", "X=int:1..9", "--default", "X=4"}));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("  stdout | step 1: ti=4\n  stdout | step 2: ti=4\n"
                                   "  stderr | started\n"));
  EXPECT_THAT(ended.err, HasSubstr("hocket: the default failed: no match of t=([0-9.]+) in "));
  EXPECT_THAT(ended.err, HasSubstr("hocket tune --resume --study sh-1 --keep-going\n"));
  EXPECT_EQ(hocket_run(folder, {"trials", "sh-1", "--json"}).json().at("trials").size(), 1U);

  // The output stays, as people and as programs read it.
  const std::string out = "step 1: ti=4\nstep 2: ti=4\n";
  const auto log = hocket_run(folder, {"trials", "sh-1", "--log", "1"});
  EXPECT_EQ(log.status, 0) << log.err;
  EXPECT_EQ(log.out, out + "stderr:\nstarted\n");
  EXPECT_THAT(log.err, HasSubstr("trial 1, X=4: failed: no match of t=([0-9.]+) in 34 bytes"));
  EXPECT_THAT(hocket_run(folder, {"trials", "sh-1"}).err,
              HasSubstr("--log 1 shows what trial 1 printed\n"));
  EXPECT_EQ(
      hocket_run(folder, {"trials", "sh-1", "--log", "1", "--json"}).json(),
      nlohmann::json({{"study", "sh-1"}, {"number", 1}, {"stdout", out}, {"stderr", "started\n"}}));
  const auto none = hocket_run(folder, {"trials", "sh-1", "--log", "2"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("study sh-1 has no trial 2; it has 1"));

  // It says so again, and goes on when told to.
  const auto resumed = hocket_run(folder, {"tune", "--resume", "--study", "sh-1"});
  EXPECT_EQ(resumed.status, 2);
  EXPECT_THAT(resumed.err, HasSubstr("study sh-1 is finished: the default failed: no match"));
  EXPECT_THAT(resumed.err, HasSubstr("add --keep-going"));
  hocket_run(folder, {"tune", "--resume", "--study", "sh-1", "--keep-going"});
  EXPECT_EQ(hocket_run(folder, {"trials", "sh-1", "--json"}).json().at("trials").size(), 9U);
}

TEST(Tune, EndsAJobThatIsOverItsMemoryWhileItRuns) {
  const TemporaryFolder folder;
  // Two processes, each below the limit, that stay until they are ended.
  const std::string half = "(head -c 100M /dev/zero; exec sleep 1000) | tail -n 1";
  const auto ended = hocket_run(folder, {"tune", "--param", "X=int:1..9", "--limit", "memory<=150M",
                                         "--", "sh", "-c", half + " & " + half + " & wait"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr(" of memory, over the limit of 150 MiB, and were ended"));
}

/// A command whose rate is highest at X = 20, and whose loss falls with X.
constexpr const char* kRate = "echo rate=$(( 1000 - ({X}-20)*({X}-20)/2 )) loss=$((100 - {X}))";

TEST(Tune, MaximisesWhatItIsToldTo) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(
      folder, {"tune", "--objective", "rate[tokens/s]=regex:rate=([0-9]+)", "--maximize", "--limit",
               "loss=regex:loss=([0-9]+)>=60", "--param", "X=int:1..60", "--default", "X=55",
               "--keep-going", "--trials", "12", "--json", "--", "sh", "-c", kRate});
  ASSERT_EQ(ended.status, 0) << ended.err;
  // X = 55 has a loss of 45, so the default fails; anything that works is promoted over it.
  EXPECT_THAT(ended.json().at("reason").get<std::string>(),
              HasSubstr("loss 45 is under the limit"));
}

TEST(Tune, WhatIsMaximisedIsShownAsItIsMeasured) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(
      folder, {"tune", "--objective", "max:rate[tokens/s]=regex:rate=([0-9]+)", "--param",
               "X=int:1..60", "--default", "X=50", "--trials", "12", "--", "sh", "-c", kRate});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\nmaximises rate (tokens/s)\n"));
  EXPECT_THAT(ended.out, HasSubstr("  X   rate (tokens/s) "));
  EXPECT_THAT(ended.out, HasSubstr("\ndefault  550 ± 0 tokens/s  X=50\n"));
  EXPECT_THAT(ended.out, HasSubstr("better than the default in 2 pairs of runs"));
  const auto document = hocket_run(folder, {"best", "--json"}).json();
  const double best = document.at("best").at("value");
  EXPECT_GT(best, 900);
  EXPECT_NEAR(document.at("gain").get<double>(), best / 550 - 1, 1e-9);
  EXPECT_EQ(document.at("objectives")[0].at("direction"), "max");
  EXPECT_EQ(document.at("objectives")[0].at("name"), "rate (tokens/s)");
  EXPECT_EQ(document.at("unit"), "tokens/s");

  const auto explained = hocket_run(folder, {"explain", "1"});
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("rate (tokens/s), higher is better, "));
  EXPECT_THAT(explained.out, Not(HasSubstr(" expects -")));
  const auto expected = hocket_run(folder, {"explain", "1", "--json"}).json();
  EXPECT_GT(expected.at("recommended").at("expected"), 900);
  EXPECT_EQ(hocket_run(folder, {"plot", "1", "-o", "plots"}).status, 0);
  EXPECT_THAT(read_file(folder.file("plots/convergence.svg")).value(),
              HasSubstr(">rate (tokens/s), higher is better<"));

  // The recorded table says nothing of the direction.
  folder.write("rates.csv", hocket_run(folder, {"trials", "1", "--csv"}).out);
  const auto replayed =
      hocket_run(folder, {"replay", "rates.csv", "--maximize", "--trials", "12", "--json"});
  ASSERT_EQ(replayed.status, 0) << replayed.err;
  const std::int64_t recommended = replayed.json().at("trials").back().at("recommended").at("X");
  EXPECT_NEAR(static_cast<double>(recommended), 20, 3);
  const auto table =
      hocket_run(folder, {"explain", "--table", "rates.csv", "--maximize", "--json"});
  EXPECT_GT(table.json().at("recommended").at("expected"), 900);

  // A later study starts from it, and one that minimises the same does not.
  const auto later = hocket_run(
      folder, {"tune", "--objective", "max:regex:rate=([0-9]+)", "--param", "X=int:1..60",
               "--default", "X=50", "--trials", "3", "--confirm", "0", "--", "sh", "-c", kRate});
  EXPECT_THAT(later.err, HasSubstr("starts from study sh-1"));
  EXPECT_THAT(later.err, HasSubstr("best " + std::to_string(static_cast<int>(best))));
  const auto other =
      hocket_run(folder, {"tune", "--objective", "regex:rate=([0-9]+)", "--param", "X=int:1..60",
                          "--trials", "2", "--confirm", "0", "--", "sh", "-c", kRate});
  EXPECT_THAT(other.err, Not(HasSubstr("starts from study")));
}

TEST(Tune, MaximizeNeedsOneObjectiveThatCanBeMaximised) {
  const TemporaryFolder folder;
  const auto time =
      hocket_run(folder, {"tune", "--maximize", "--param", "X=int:1..3", "--", "true"});
  EXPECT_EQ(time.status, 2);
  EXPECT_THAT(time.err, HasSubstr("auto is a cost and is minimised; what is maximised is "));
  const auto several =
      hocket_run(folder, {"tune", "--maximize", "--objective", "file:a", "--objective", "file:b",
                          "--param", "X=int:1..3", "--", "true"});
  EXPECT_THAT(several.err, HasSubstr("--maximize: which of several objectives?"));
}

TEST(Tune, SaysWhereEachDefaultComesFrom) {
  const TemporaryFolder folder;
  folder.write("train.py",
               "import argparse\n"
               "parser = argparse.ArgumentParser()\n"
               "parser.add_argument('--bucket-mb', type=int, default=25)\n"
               "bucket = parser.parse_args().bucket_mb\n"
               "print(f't={100 + bucket}')\n");
  const auto known =
      hocket_run(folder, {"tune", "--param", "B=int:1..64", "--objective", "regex:t=([0-9]+)",
                          "--trials", "6", "--", "python3", "train.py", "--bucket-mb", "{B}"});
  ASSERT_EQ(known.status, 0) << known.err;
  EXPECT_THAT(known.err, HasSubstr(" from the default B=25 (argparse of train.py): python3 "));
  EXPECT_THAT(known.out, HasSubstr("\ndefault  125 ± 0  B=25\n"));
  EXPECT_THAT(known.out, Not(HasSubstr("assumed")));

  const auto assumed = hocket_run(
      folder, {"tune", "--param", "B=int:1..64", "--objective", "regex:t=([0-9]+)", "--trials", "6",
               "--no-transfer", "--", "sh", "-c", "echo t=$((100 + B))"});
  ASSERT_EQ(assumed.status, 0) << assumed.err;
  EXPECT_THAT(assumed.err.substr(0, assumed.err.find('\n')),
              HasSubstr(" from the default B=32 (assumed): sh -c"));
  EXPECT_THAT(assumed.out, HasSubstr("  B=32 (assumed)\n"));
  EXPECT_THAT(assumed.out, HasSubstr("better than the assumed default in 2 pairs"));
  EXPECT_THAT(assumed.out, HasSubstr("if you know it, give it: --default B=VALUE\n"));
  EXPECT_THAT(hocket_run(folder, {"best"}).out, HasSubstr("better than the assumed default"));
  EXPECT_THAT(hocket_run(folder, {"studies"}).out, HasSubstr(" % better than assumed"));
  EXPECT_EQ(hocket_run(folder, {"best", "--json"}).json().at("default_sources").at("B"),
            nlohmann::json({{"origin", "assumed"}}));

  const auto from_environment = hocket_run(
      folder,
      {"tune", "--default-from-env", "--param", "USER_OF_TEST=choice:a,b", "--json", "--", "true"},
      {{"USER_OF_TEST", "c"}});
  EXPECT_EQ(from_environment.status, 2);
  EXPECT_THAT(from_environment.err, HasSubstr("--default-from-env: default of USER_OF_TEST: "));
}

/// A command whose iterations take 1 to 5 with X = 1; with X = 2 they take 6 to 10, and a last one
/// 11.
constexpr const char* kSlowOrFast =
    "if [ $X = 1 ]; then for t in 1 2 3 4 5; do echo t=$t; done; exit; fi; "
    "for t in 6 7 8 9 10; do echo t=$t; done; ";

TEST(Tune, ATrialThatIsSlowerThanTheBestEndsEarly) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(
      folder, tune(std::string(kSlowOrFast) + "exec sleep 1000",
                   {"--param", "X=int:1..2", "--default", "X=1", "--timeout", "100", "--json"}));
  EXPECT_EQ(ended.status, 3) << ended.err;
  const auto document = ended.json();
  ASSERT_EQ(document.at("trials").size(), 2U);
  const auto& slow = document.at("trials")[1];
  EXPECT_EQ(slow.at("state"), "complete");
  EXPECT_EQ(slow.at("value"), 8);
  EXPECT_EQ(slow.at("message"),
            "ended early after 5 iterations: slower than the best so far (p = 0.004)");
  EXPECT_THAT(hocket_run(folder, {"trials", "sh-1"}).out, HasSubstr("ended early after 5"));
}

TEST(Tune, FullTrialsEndByThemselves) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(
      folder, tune(std::string(kSlowOrFast) + "sleep 0.5; echo t=11",
                   {"--param", "X=int:1..2", "--default", "X=1", "--full-trials", "--json"}));
  EXPECT_EQ(ended.status, 3) << ended.err;
  const auto document = ended.json();
  ASSERT_EQ(document.at("trials").size(), 2U);
  EXPECT_EQ(document.at("trials")[1].at("value"), 8.5);
  EXPECT_EQ(document.at("trials")[1].at("message"), "");
}

}  // namespace
}  // namespace hocket
