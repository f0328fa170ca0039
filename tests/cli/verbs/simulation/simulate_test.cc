#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/application.h"
#include "cli/base/context.h"
#include "core/base/json.h"
#include "core/tape/tape.h"
#include "tests/cli/verbs/simulation/simulate_verb.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kJittery =
    R"({"format":"hocket-step","version":1,"ranks":4,
        "layers":[{"parameter_bytes":1000000,"forward_ns":500000,"backward_ns":1000000}],
        "collective":{"alpha_ns":40000,"beta_ns_per_byte":0.2},
        "jitter":{"distribution":"normal","scale":0.1}})";

class Simulate : public SimulateVerb {};

TEST_F(Simulate, PrintsWhatItPredicts) {
  const auto answer = small({"--set", "streams=2"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_EQ(answer.err, "");
  for (const char* line : {"iteration ", "exposed communication ", "of the iteration)",
                           "computation ", "communication ", "bound T* ", "overlap efficiency η ",
                           "parts a step ", "ranks ", "partition_bytes=4194304"}) {
    EXPECT_THAT(answer.out, HasSubstr(line));
  }
  EXPECT_THAT(answer.out, Not(HasSubstr("spread")));
}

TEST_F(Simulate, PointsToWhatChoosesAConfigurationWhereThisOneIsNotChosen) {
  const std::string pointer =
      "hocket: `hocket explain " + small_ + "` chooses a configuration for these ranks\n";
  EXPECT_EQ(small().err, pointer) << "the defaults were not chosen for this step";
  EXPECT_EQ(small({"--baseline", "hocket", "--set", "partition_bytes=4KiB"}).err, pointer)
      << "it is slower";
  EXPECT_EQ(small({"--json"}).err, "");
  EXPECT_EQ(small({"--sweep", "partition_bytes=4MiB,8MiB"}).err, "");
  EXPECT_EQ(small({"--set", "order=static"}).err, "") << "it is faster";
  EXPECT_THAT(
      small({"--ranks", "64", "--link", "network=10gbit"}).err,
      HasSubstr("`hocket explain " + small_ + " --ranks 64 --link network=10gbit` chooses"));
}

TEST_F(Simulate, PrintsTheSameAsJson) {
  const auto answer = small({"--json", "--set", "partition_bytes=1MB"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto document = answer.json();
  for (const char* field : {"iteration_ns", "exposed_ns", "compute_ns", "communication_ns",
                            "bound_ns", "parts", "events", "ranks", "simulated_ranks"}) {
    EXPECT_TRUE(document.at(field).is_number_integer()) << field;
  }
  EXPECT_EQ(document.at("compute_ns"), 6'000'000);
  EXPECT_EQ(document.at("parts"), 1 + 4 + 16);
  EXPECT_GE(document.at("iteration_ns"), document.at("bound_ns"));
  EXPECT_LE(document.at("efficiency"), 1.0);
  EXPECT_EQ(document.at("config").at("partition_bytes"), 1'000'000);
  EXPECT_FALSE(document.at("iterations_ns").empty());
}

TEST_F(Simulate, ReadsStandardInput) {
  std::istringstream input(kSmallSimulatedStep);
  auto* const before = std::cin.rdbuf(input.rdbuf());
  const auto answer = simulate("-", {"--json"});
  std::cin.rdbuf(before);
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_EQ(answer.json(), small({"--json"}).json());
}

TEST_F(Simulate, TakesAConfigurationAsTextOrFileAndKnobsOverIt) {
  const std::string config =
      R"({"format":"hocket-schedule","version":1,"partition_bytes":500000,"order":"static",
          "later":1})";
  const auto as_text = small({"--json", "--config", config, "--set", "streams=2"});
  ASSERT_EQ(as_text.status, kDone) << as_text.err;
  EXPECT_THAT(as_text.err, HasSubstr("\"later\""));
  EXPECT_EQ(as_text.json().at("config").at("partition_bytes"), 500'000);
  EXPECT_EQ(as_text.json().at("config").at("order"), "static");
  EXPECT_EQ(as_text.json().at("config").at("streams"), 2);
  const auto as_file =
      small({"--json", "--config", folder_.write("config.json", config), "--set", "streams=2"});
  auto expected = as_text.json();
  expected["baseline"]["name"] = folder_.file("config.json");
  EXPECT_EQ(as_file.json(), expected);
}

TEST_F(Simulate, CostsCollectivesByRanksWhereThereAreLinks) {
  const auto without = small({"--json", "--ranks", "64"});
  ASSERT_EQ(without.status, kDone);
  EXPECT_THAT(without.err, HasSubstr("alpha and beta are kept as given"));
  EXPECT_EQ(without.json().at("ranks"), 64);
  EXPECT_EQ(without.json().at("simulated_ranks"), 1);
  EXPECT_EQ(without.json().at("iteration_ns"), iteration_ns());

  const std::vector<std::string> links = {"--link", "host=300gbit,5us", "--link",
                                          "network=10gbit,20us"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), links.begin(), links.end());
    return iteration_ns(std::move(arguments));
  };
  EXPECT_LT(with({"--ranks", "8", "--ranks-per-host", "8"}),
            with({"--ranks", "64", "--ranks-per-host", "8"}));
  EXPECT_NE(with({"--ranks", "64", "--algorithm", "ring"}),
            with({"--ranks", "64", "--algorithm", "tree"}));
  EXPECT_THAT(small({"--ranks", "64", "--link", "network=10gbit"}).err,
              Not(HasSubstr("alpha and beta")));
}

TEST_F(Simulate, MeasuredCostsOfGroupsHoldOnTheRanksThatTheyWereMeasuredOn) {
  const auto path = folder_.write(
      "groups.json",
      R"({"format":"hocket-step","version":1,"ranks":8,"ranks_per_host":4,)"
      R"("collective":{"beta_ns_per_byte":1},"collective_inside":{"beta_ns_per_byte":0.01},)"
      R"("collective_between":{"beta_ns_per_byte":2},)"
      R"("layers":[{"name":"out","parameter_bytes":1000000,"forward_ns":1000,"backward_ns":1}]})");
  const auto grouped_ns = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--set", "group_ranks=4"});
    return simulate(path, arguments).json().at("iteration_ns").get<std::int64_t>();
  };
  // A quarter of the bytes is sent between hosts at 2 ns per byte, all of them within hosts at 0.01
  // ns.
  const std::int64_t measured_ns = grouped_ns({});
  EXPECT_NEAR(static_cast<double>(measured_ns), 511'000, 1000);
  EXPECT_EQ(grouped_ns({"--ranks", "8", "--ranks-per-host", "4"}), measured_ns);
  EXPECT_GT(grouped_ns({"--ranks", "16"}), 2 * measured_ns);
}

TEST_F(Simulate, ShowsTheSpreadOfJitterAndRepeatsASeed) {
  const auto jittery = folder_.write("jittery.json", kJittery);
  EXPECT_THAT(simulate(jittery).out, AllOf(HasSubstr("spread"), HasSubstr("iterations)")));
  const auto first = simulate(jittery, {"--json", "--seed", "7", "--iterations", "9"});
  ASSERT_EQ(first.status, kDone) << first.err;
  EXPECT_EQ(first.json().at("iterations_ns").size(), 9U);
  EXPECT_EQ(simulate(jittery, {"--json", "--seed", "7", "--iterations", "9"}).out, first.out);
  EXPECT_NE(simulate(jittery, {"--json", "--seed", "8", "--iterations", "9"}).out, first.out);
}

TEST_F(Simulate, SweepsAllCombinations) {
  const std::vector<std::string> sweep = {"--sweep", "partition_bytes=1MB,16MB", "--sweep",
                                          "order=fifo,static,negotiated"};
  const auto table = small(sweep);
  ASSERT_EQ(table.status, kDone) << table.err;
  EXPECT_THAT(table.out, StartsWith("partition_bytes  order"));
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 1 + 6 + 1);
  EXPECT_THAT(table.out, HasSubstr("\nspeed-up against hocket's defaults, "));

  auto with_json = sweep;
  with_json.push_back("--json");
  const auto rows = small(with_json).json();
  ASSERT_EQ(rows.size(), 6U);
  const auto default_ns = static_cast<double>(iteration_ns());
  std::int64_t best_ns = rows[0].at("iteration_ns");
  for (const auto& row : rows)
    best_ns = std::min(best_ns, row.at("iteration_ns").get<std::int64_t>());
  int best = 0;
  for (const auto& row : rows) {
    EXPECT_EQ(
        row.at("iteration_ns"),
        iteration_ns({"--set", "order=" + row.at("config").at("order").get<std::string>(), "--set",
                      "partition_bytes=" + row.at("config").at("partition_bytes").dump()}));
    EXPECT_DOUBLE_EQ(row.at("speedup"), default_ns / row.at("iteration_ns").get<double>());
    if (!row.at("best")) continue;
    ++best;
    EXPECT_EQ(row.at("iteration_ns"), best_ns);
  }
  EXPECT_EQ(best, 1);
}

TEST_F(Simulate, BeginsWithWhatAFrameworkDoesAndSaysWhatItDoesOtherwise) {
  const auto answer = small({"--preset", "ddp", "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("note: DDP's first bucket has 1 MiB"));
  const auto document = answer.json();
  EXPECT_EQ(document.at("config").at("bucket_bytes"), 25 << 20);
  EXPECT_EQ(document.at("parts"), 1) << "one bucket holds all 21 MB";
  EXPECT_EQ(document.at("baseline").at("name"), "DDP's defaults");
  EXPECT_EQ(document.at("speedup"), 1.0);
  EXPECT_THAT(document.at("notes").dump(), HasSubstr("DDP closes a bucket"));

  const auto changed = small({"--preset", "ddp", "--set", "bucket_cap_mb=1", "--json"}).json();
  EXPECT_EQ(changed.at("config").at("bucket_bytes"), 1 << 20);
  EXPECT_EQ(changed.at("parts"), 3);
  EXPECT_EQ(changed.at("baseline").at("iteration_ns"), document.at("iteration_ns"));
  for (const char* preset : {"horovod", "fsdp", "hocket"})
    EXPECT_EQ(small({"--preset", preset}).status, kDone) << preset;
  EXPECT_EQ(small({"--preset", "hocket"}).out, small().out);
}

TEST_F(Simulate, NamesWhatTheSpeedUpIsAgainst) {
  EXPECT_THAT(small().out, Not(HasSubstr("speed-up")));
  EXPECT_THAT(small({"--set", "order=static"}).out, HasSubstr("against hocket's defaults, "));
  EXPECT_THAT(small({"--preset", "ddp", "--set", "bucket_cap_mb=1"}).out,
              HasSubstr("against DDP's defaults, "));
  EXPECT_THAT(small({"--preset", "ddp", "--baseline", "hocket"}).out,
              HasSubstr("against hocket's defaults, "));
  EXPECT_THAT(small({"--sweep", "bucket_cap_mb=1,4", "--baseline", "horovod"}).out,
              HasSubstr("\nspeed-up against Horovod's defaults, "));
  const std::string config = R"({"format":"hocket-schedule","version":1,"partition_bytes":500000})";
  const std::string path = folder_.write("config.json", config);
  EXPECT_THAT(small({"--config", path, "--set", "order=static"}).out,
              HasSubstr("against " + path + ", "));
  const auto against_file = small({"--set", "order=static", "--baseline", path, "--json"});
  ASSERT_EQ(against_file.status, kDone) << against_file.err;
  EXPECT_EQ(against_file.json().at("baseline").at("iteration_ns"),
            iteration_ns({"--config", path}));
  EXPECT_EQ(against_file.json().at("baseline").at("config").at("partition_bytes"), 500'000);
}

TEST_F(Simulate, SaysOnceWhenOneKnobHidesAnother) {
  const auto hidden = small({"--set", "bucket_bytes=64MiB", "--json"});
  ASSERT_EQ(hidden.status, kDone) << hidden.err;
  EXPECT_THAT(hidden.err, HasSubstr("note: partition_bytes=4MiB decides, not bucket_bytes=64MiB"));
  EXPECT_THAT(hidden.json().at("notes").dump(), HasSubstr("decides, not bucket_bytes=64MiB"));

  const auto sweep = small({"--sweep", "bucket_bytes=1MiB,16MiB,64MiB"});
  ASSERT_EQ(sweep.status, kDone) << sweep.err;
  const auto first = sweep.err.find("partition_bytes=4MiB decides, not bucket_bytes=16MiB");
  ASSERT_NE(first, std::string::npos) << sweep.err;
  EXPECT_EQ(sweep.err.find("decides, not", first + 30), std::string::npos) << sweep.err;
  EXPECT_THAT(sweep.err, HasSubstr("(alike in 2 of 3 rows)"));
  EXPECT_EQ(small({"--sweep", "partition_bytes=1MiB,4MiB"}).err, "");

  EXPECT_THAT(small({"--set", "comm_channels=16", "--set", "credit_bytes=64MiB"}).err,
              HasSubstr("the step decides, not comm_channels=16"));
  EXPECT_THAT(small({"--set", "step_issue=graph"}).err, HasSubstr("step_issue has no effect"));
}

TEST_F(Simulate, ScalesComputationsAlone) {
  const auto usual = small({"--json"}).json();
  const auto half = small({"--json", "--compute-scale", "0.5"}).json();
  EXPECT_EQ(half.at("compute_ns"), usual.at("compute_ns").get<std::int64_t>() / 2);
  EXPECT_LT(half.at("iteration_ns"), usual.at("iteration_ns"));
  EXPECT_GT(half.at("exposed_ns"), usual.at("exposed_ns")) << "communication takes as long";
  EXPECT_EQ(half.at("baseline").at("iteration_ns"), half.at("iteration_ns"));
  EXPECT_EQ(small({"--json", "--compute-scale", "1"}).out, small({"--json"}).out);

  const auto tasks =
      folder_.write("tasks.json",
                    R"({"format":"hocket-step","version":1,"tasks":[{"name":"a","duration_ns":9000,
          "writes":["x"],"dimensions":[{"name":"rows","extent":4,"piece_ns":1000}]}]})");
  const std::string scaled = folder_.file("scaled.json");
  ASSERT_EQ(simulate(tasks, {"--compute-scale", "3", "--step-out", scaled}).status, kDone);
  const auto written = nlohmann::json::parse(*read_file(scaled)).at("tasks").at(0);
  EXPECT_EQ(written.at("duration_ns"), 27'000);
  EXPECT_EQ(written.at("dimensions").at(0).at("piece_ns"), 3000);
}

TEST_F(Simulate, WritesATimelineWhoseLanesDoNotOverlap) {
  const std::string path = folder_.file("out.json");
  const auto answer = small({"--trace", path, "--json", "--set", "partition_bytes=100KB", "--set",
                             "comm_channels=3", "--iterations", "4"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto trace = nlohmann::json::parse(*read_file(path));
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> lanes;
  std::int64_t bytes = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const auto begin_ns = std::llround(event.at("ts").get<double>() * 1000);
    const auto end_ns = begin_ns + std::llround(event.at("dur").get<double>() * 1000);
    lanes[event.at("tid")].push_back({begin_ns, end_ns});
    if (event.at("args").at("step") == 0) bytes += event.at("args").value("bytes", 0);
  }
  EXPECT_GE(lanes.size(), 4U);
  EXPECT_EQ(bytes, 21'000'000);
  for (auto& [lane, events] : lanes) {
    std::sort(events.begin(), events.end());
    for (std::size_t i = 1; i < events.size(); ++i) {
      EXPECT_GE(events[i].first, events[i - 1].second) << "lane " << lane;
    }
  }
}

TEST_F(Simulate, RecordsATape) {
  const std::string path = folder_.file("tape");
  for (const char* order : {"fifo", "static", "negotiated"}) {
    const auto answer = small({"--record", path, "--json", "--set", std::string("order=") + order,
                               "--ranks", "4", "--rank", "2"});
    ASSERT_EQ(answer.status, kDone) << answer.err;
    const auto bytes = read_file(path);
    auto reader = TapeReader::open(*bytes);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->header().rank, 2);
    EXPECT_EQ(reader->header().ranks, 4);
    EXPECT_EQ(reader->header().name, "small");
    EXPECT_TRUE(reader->header().virtual_time);
    std::map<TapeKind, int> counts;
    std::int64_t last_ns = 0;
    for (auto record = reader->next();; record = reader->next()) {
      ASSERT_TRUE(record) << record.error().message;
      if (!*record) break;
      ++counts[(*record)->kind];
      EXPECT_GE((*record)->time_ns, last_ns);
      last_ns = (*record)->time_ns;
    }
    EXPECT_GT(last_ns, 0);
    EXPECT_GT(counts[TapeKind::launched], 0);
    EXPECT_GT(counts[TapeKind::finished_part], 0);
    EXPECT_EQ(counts[TapeKind::announced] > 0, reader->header().plan.order == PartOrder::announced)
        << order;
  }
}

TEST_F(Simulate, SaysWhenAFileCannotBeWritten) {
  for (const char* option : {"--trace", "--record"}) {
    const auto missing = small({option, folder_.file("none/out")});
    EXPECT_EQ(missing.status, kFailed);
    EXPECT_THAT(missing.err, AllOf(HasSubstr("none/out"), HasSubstr("No such file")));
    const auto full = small({option, "/dev/full"});
    EXPECT_EQ(full.status, kFailed);
    EXPECT_THAT(full.err, HasSubstr("/dev/full"));
  }
}

struct SimulateMisuse {
  std::vector<std::string> arguments;
  std::string named;
};

TEST_F(Simulate, AnswersWrongArgumentsWithTwoAndTheirName) {
  const std::vector<SimulateMisuse> misuses = {
      {{"--set", "credit=1"}, "credit_bytes"},
      {{"--preset", "dpp"}, "the nearest is ddp"},
      {{"--preset", "ddp", "--config", "{}"}, "--preset"},
      {{"--baseline", "dpp"}, "the nearest is ddp"},
      {{"--baseline", "{}"}, "--baseline"},
      {{"--set", "HOROVOD_CYCLE_TIME=1"}, "has no knob here"},
      {{"--sweep", "bucket_cap_mb=1", "--sweep", "bucket_bytes=1"}, "swept twice"},
      {{"--compute-scale", "0"}, "--compute-scale"},
      {{"--compute-scale", "-1"}, "--compute-scale"},
      {{"--compute-scale", "1001"}, "from 0.001 to 1000"},
      {{"--compute-scale", "nan"}, "--compute-scale"},
      {{"--bandwidth-scale", "-2"}, "--bandwidth-scale"},
      {{"--bandwidth-scale", "1001"}, "from 0.001 to 1000"},
      {{"--set", "streams=0"}, "from 1 to 64"},
      {{"--set", "streams"}, "--set"},
      {{"--sweep", "streams=1,x"}, "streams"},
      {{"--sweep", "streams=1", "--sweep", "streams=2"}, "swept twice"},
      {{"--sweep", "streams=1", "--trace", folder_.file("x")}, "--sweep"},
      {{"--config", "{}"}, "--config"},
      {{"--config", folder_.file("none.json")}, "none.json"},
      {{"--ranks", "0"}, "ranks"},
      {{"--ranks", "-3"}, "ranks"},
      {{"--ranks-per-host", "0"}, "ranks_per_host"},
      {{"--link", "10gbit"}, "--link"},
      {{"--link", "rack=10gbit"}, "network="},
      {{"--link", "network=fast"}, "rate"},
      {{"--link", "host=10gbit", "--ranks", "4"}, "network="},
      {{"--link", "network=10gbit", "--ranks", "4", "--ranks-per-host", "2"}, "host="},
      {{"--algorithm", "ring"}, "--link"},
      {{"--algorithm", "star"}, "--algorithm"},
      {{"--iterations", "-1"}, "--iterations"},
      {{"--offload"}, "no device_memory_bytes"},
      {{"--offload", "--sweep", "streams=1"}, "without --sweep"},
      {{"--offload", "--trace", folder_.file("x")}, "without --sweep, --trace"},
      {{"--offload", "--baseline", "ddp"}, "--baseline"},
      {{"--offload", "--iterations", "3"}, "--iterations"},
      {{"--seed", "-1"}, "--seed"},
      {{"--rank", "1"}, "--rank"},
      {{"--", "ls"}, "simulate"},
  };
  for (const auto& [arguments, named] : misuses) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const auto answer = small(arguments);
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.err, AllOf(HasSubstr("hocket: "), HasSubstr(named)));
  }
}

TEST_F(Simulate, AnswersAWrongDescriptionWithTwoItsFileAndItsField) {
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = kSmallSimulatedStep;
    text.replace(text.find(from), from.size(), to);
    const auto answer = simulate(folder_.write("bad.json", text));
    EXPECT_EQ(answer.status, kBadInput) << to;
    EXPECT_EQ(answer.out, "") << to;
    EXPECT_THAT(answer.err, HasSubstr("bad.json: ")) << to;
    return answer.err;
  };
  EXPECT_THAT(refused("\"forward_ns\":500000", "\"forward_ns\":-1"),
              HasSubstr("layers[0].forward_ns"));
  EXPECT_THAT(refused("\"forward_ns\":500000", "\"forward_ns\":NaN"), HasSubstr("JSON"));
  EXPECT_THAT(refused("\"layers\"", "\"layer\""), HasSubstr("layer"));
  EXPECT_THAT(refused("\"alpha_ns\":40000", "\"alpha_ns\":1e400"), HasSubstr("JSON"));
  EXPECT_THAT(refused("\"name\":\"small\"", "\"ranks\":0"), HasSubstr("ranks"));

  const auto missing = simulate(folder_.file("none.json"));
  EXPECT_EQ(missing.status, kBadInput);
  EXPECT_THAT(missing.err, HasSubstr("none.json"));
}

}  // namespace
}  // namespace hocket
