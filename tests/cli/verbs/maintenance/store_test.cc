// Tests `hocket store`, and the other verbs' names of stores.

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cli/base/context.h"
#include "store/open.h"
#include "tests/cli/answer.h"
#include "tests/scoped_environment.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class StoreVerb : public testing::Test {
 protected:
  StoreVerb() {
    const auto store = must(open_store(from_));
    must(store->create_study(sample_study("kept")));
    must(store->record_audit({"ada", "a", "s"}));
  }

  const TemporaryFolder folder_;
  const std::string from_ = folder_.file("from.db"), to_ = folder_.file("to.db");
};

TEST_F(StoreVerb, CopiesAndSaysHowMuch) {
  const auto answer = ask_hocket({"store", "copy", from_, to_});
  EXPECT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("studies"), HasSubstr("2 rows copied and compared")));
  EXPECT_THAT(answer.err, IsEmpty());
  EXPECT_EQ(must(must(open_store(to_))->study("kept")).name, "kept");

  const auto again = ask_hocket({"store", "copy", from_, to_});
  EXPECT_EQ(again.status, kBadInput);
  EXPECT_THAT(again.err, HasSubstr("is not empty: studies has 1 row"));
  EXPECT_THAT(again.out, IsEmpty());
}

TEST_F(StoreVerb, AnswersInJsonAndMentionsTraces) {
  must(must(open_store(from_))->add_profile({.source = "host", .ranks = {{.rank = 0}}}));
  const auto answer = ask_hocket({"store", "copy", "--json", from_, to_});
  EXPECT_EQ(answer.status, kDone);
  EXPECT_EQ(answer.json().at("from"), from_);
  EXPECT_EQ(answer.json().at("to"), to_);
  EXPECT_EQ(answer.json().at("rows"), 4);
  EXPECT_EQ(answer.json().at("tables").size(), 17u);
  EXPECT_EQ(answer.json().at("tables").at(0),
            nlohmann::json({{"table", "topologies"}, {"rows", 0}}));
  EXPECT_THAT(answer.err, HasSubstr("trace files stay where they are"));
}

TEST_F(StoreVerb, RefusesWhatItCannotCopy) {
  EXPECT_EQ(ask_hocket({"store", "copy", folder_.file("none.db"), to_}).status, kBadInput);
  EXPECT_EQ(ask_hocket({"store", "copy", from_}).status, kBadInput);
  EXPECT_EQ(ask_hocket({"store", "move", from_, to_}).status, kBadInput);
  EXPECT_EQ(ask_hocket({"store"}).status, kBadInput);
}

TEST_F(StoreVerb, APasswordIsNotShown) {
  const std::string uri = "postgresql://ada:GEHEIM@/x?host=/nowhere";
  const auto hidden = AllOf(HasSubstr("postgresql://ada:***@/x"), Not(HasSubstr("GEHEIM")));
  const ScopedEnvironment variable("HOCKET_STORE", uri.c_str()), daemon("HOCKET_DAEMON", nullptr),
      state("XDG_STATE_HOME", folder_.file("state").c_str());
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"studies"},
                                                    {"studies", "--store", uri},
                                                    {"store", "copy", from_, uri},
                                                    {"store", "copy", uri, to_},
                                                    {"profiles", "list"},
                                                    {"fetch", "--workload", "x", "--store", uri},
                                                    {"tune", "--resume", "--store", uri}}) {
    const auto answer = ask_hocket(arguments);
    EXPECT_NE(answer.status, kDone);
    EXPECT_THAT(answer.out + answer.err, hidden) << arguments.front();
  }
  const auto doctor = ask_hocket({"doctor", "--no-start"});
  EXPECT_EQ(doctor.status, kFailed);
  EXPECT_THAT(doctor.out, AllOf(hidden, HasSubstr("unusable"), HasSubstr("cannot be reached"),
                                HasSubstr(folder_.file("state") + "/hocket/profiles/NAME")));
}

}  // namespace
}  // namespace hocket
