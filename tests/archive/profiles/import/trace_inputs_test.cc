#include "archive/profiles/import/trace_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <utility>

#include "archive/profiles/import/import_profile.h"
#include "tests/profiler/formats/packed/packed_stream_writer.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TraceInputs : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
    write_bytes(folder_.file(name), bytes);
    return folder_.file(name);
  }

  /// Reads paths, refusing texts with "bad" in them; returns the notes.
  Result<std::vector<std::string>> read(const std::vector<std::string>& paths) {
    taken_.clear();
    return read_trace_inputs(paths, options_, [&](const TraceInput& input) -> Result<void> {
      std::string text = input.database.empty()
                             ? std::string{std::istreambuf_iterator<char>(*input.text), {}}
                             : read_bytes(input.database);
      if (text.find("bad") != std::string::npos) return invalid(input.name + ": it is bad");
      taken_.emplace_back(std::filesystem::path(input.name).filename().string(), std::move(text));
      return {};
    });
  }

  TemporaryFolder folder_;
  TraceInputOptions options_;
  std::vector<ArchivedFile> taken_;
};

const std::string kDatabase = std::string("SQLite format 3") + '\0' + std::string(100, 'x');

TEST_F(TraceInputs, PackedFilesAreUnpacked) {
  for (const char* filter : {"", "gzip", "zstd", "xz"}) {
    const auto path = write("rank0", packed(" {\"a\": 1}", filter));
    EXPECT_THAT(must(read({path})), IsEmpty());
    EXPECT_THAT(taken_, ElementsAre(ArchivedFile("rank0", " {\"a\": 1}"))) << filter;
  }
}

TEST_F(TraceInputs, ArchivesHaveARankAFileWhateverElseIsInThem) {
  const std::vector<ArchivedFile> files = {
      {"run/rank0.json", "{0}"},       {"run/rank1.json.gz", packed("{1}", "gzip")},
      {"run/README.md", "# read"},     {"run/._rank0.json", "{}"},
      {"run/rank2.sqlite", kDatabase}, {"run/rank3.json", "{bad}"}};
  for (const char* format : {"gnutar", "zip"}) {
    const auto notes = must(read({write("run.x", archived(files, format, "gzip"))}));
    EXPECT_THAT(taken_,
                ElementsAre(ArchivedFile("rank0.json", "{0}"), ArchivedFile("rank1.json.gz", "{1}"),
                            ArchivedFile("rank2.sqlite", kDatabase)));
    EXPECT_THAT(notes, Contains(HasSubstr("rank3.json: it is bad")));
    EXPECT_THAT(notes, Contains(HasSubstr("2 files that are no traces (run/README.md")));
  }
}

TEST_F(TraceInputs, FoldersAreReadInTheOrderOfNumbers) {
  for (const int i : {10, 9, 100, 1}) write("job/rank" + std::to_string(i) + ".json", "{}");
  write("job/notes.txt", "hello");
  write("job/.hidden.json", "{}");
  write("job/deeper/rank3.json", "{}");
  const auto notes = must(read({folder_.file("job")}));
  std::vector<std::string> names;
  for (const auto& file : taken_) names.push_back(file.first);
  EXPECT_THAT(names, ElementsAre("rank1.json", "rank9.json", "rank10.json", "rank100.json"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("2 files that are no traces")));
  EXPECT_THAT(message_of(read({folder_.file("job"), folder_.file("job/rank9.json")})),
              HasSubstr("given twice"));
}

TEST_F(TraceInputs, AFolderMayHaveAThousandFiles) {
  for (int i = 0; i < 1000; ++i) write("many/" + std::to_string(i) + ".json", "{}");
  EXPECT_THAT(must(read({folder_.file("many")})), IsEmpty());
  EXPECT_THAT(taken_, SizeIs(1000));
  options_.most_files = 999;
  EXPECT_THAT(message_of(read({folder_.file("many")})), HasSubstr("more than 999 files"));
}

TEST_F(TraceInputs, StandardInputIsReadOnce) {
  std::istringstream in(packed("{1}", "zstd"));
  options_.standard_input = &in;
  EXPECT_THAT(must(read({"-"})), IsEmpty());
  EXPECT_THAT(taken_, ElementsAre(ArchivedFile("standard input", "{1}")));
  std::istringstream again("{1}");
  options_.standard_input = &again;
  EXPECT_THAT(message_of(read({"-", "-"})), HasSubstr("only once"));
  std::istringstream database(kDatabase);
  options_.standard_input = &database;
  must(read({"-"}));
  EXPECT_THAT(taken_, ElementsAre(ArchivedFile("standard input", kDatabase)));
}

TEST_F(TraceInputs, WhatIsNoTraceIsRefusedWithWhatIsExpected) {
  std::filesystem::create_directories(folder_.file("empty"));
  const std::vector<std::pair<std::string, std::string>> wrongs = {
      {write("text", "no trace"), "expected JSON trace events"},
      {write("gone.gz", packed("no trace", "gzip")), "expected JSON trace events"},
      {write("report.nsys-rep", "no trace"), "nsys export --type sqlite"},
      {write("void", ""), "the file is empty"},
      {write("void.gz", packed("", "gzip")), "the file is empty"},
      {write("cut.gz", packed(std::string(9999, '{'), "gzip").substr(0, 24)), "cut.gz: it cannot"},
      {folder_.file("none"), "No such file"},
      {folder_.file("empty"), "there is nothing in it"},
      {write("texts.zip", archived({{"a", "a"}}, "zip")), "the archive has no trace"},
      {write("bad.json", "{bad}"), "bad.json: it is bad"},
  };
  for (const auto& [path, said] : wrongs) EXPECT_THAT(message_of(read({path})), HasSubstr(said));
}

TEST_F(TraceInputs, LimitsEndTheReading) {
  const std::string large = "{" + std::string(100'000, ' ') + "}";
  const auto archive = write("a.tar", archived({{"0.json", "{}"}, {"1.json", large}}, "gnutar"));
  options_.limits.most_bytes = 50'000;
  EXPECT_THAT(message_of(read({archive})),
              HasSubstr("1.json: it unpacks to more than 50000 bytes"));
  options_.limits.most_bytes = 1'000'000;
  options_.most_database_bytes = 99;
  EXPECT_THAT(message_of(read({write("db.gz", packed(kDatabase, "gzip"))})),
              HasSubstr("more than 99 bytes"));
}

TEST_F(TraceInputs, ProgressComesToTheEnd) {
  ReadingProgress last;
  options_.on_progress = [&](const ReadingProgress& progress) { last = progress; };
  const std::string bytes = packed("{" + std::string(500'000, 'x'), "gzip");
  const auto path = write("long.json.gz", bytes);
  must(read({path}));
  EXPECT_EQ(last.path, path);
  EXPECT_EQ(last.bytes, std::ssize(bytes));
  EXPECT_EQ(last.of_bytes, std::ssize(bytes));
}

TEST(NameOfTraces, SaysWhatTheFilesHaveInCommon) {
  EXPECT_EQ(name_of_traces({"runs/resnet-rank0.json.gz", "runs/resnet-rank1.json.gz"}), "resnet");
  EXPECT_EQ(name_of_traces({"dlrm.tar.gz"}), "dlrm");
  EXPECT_EQ(name_of_traces({"resnet-50.pt.trace.json"}), "resnet-50");
  EXPECT_EQ(name_of_traces({"/traces/llama_7b/"}), "llama_7b");
  EXPECT_EQ(name_of_traces({"rank0.json", "rank1.json"}), "");
  EXPECT_EQ(name_of_traces({"trace.json"}), "");
  EXPECT_EQ(name_of_traces({"-"}), "");
  EXPECT_EQ(name_of_traces({}), "");
}

}  // namespace
}  // namespace hocket
