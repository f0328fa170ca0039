#include "tuner/table/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/mutate.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Record = std::vector<std::string>;

Result<std::vector<Record>> read_all(std::string_view text) {
  CsvReader reader(text);
  std::vector<Record> records;
  Record cells;
  for (;;) {
    const auto more = reader.next(cells);
    HOCKET_TRY(more);
    if (!*more) return records;
    records.push_back(cells);
  }
}

TEST(CsvReader, ReadsWhatRfc4180Writes) {
  EXPECT_THAT(read_all("a,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n").value(),
              ElementsAre(Record{"a", "b"}, Record{"1", "x, \"y\"\nz"}));
  EXPECT_THAT(read_all("\xEF\xBB\xBF"
                       "a , b\n\n \"1\" ,\n,")
                  .value(),
              ElementsAre(Record{"a", "b"}, Record{"1", ""}, Record{"", ""}));
  EXPECT_THAT(read_all("").value(), ElementsAre());
  EXPECT_THAT(read_all("\n\r\n").value(), ElementsAre());
}

TEST(CsvReader, CountsLines) {
  CsvReader reader("a\n\n\"b\nb\"\nc");
  Record cells;
  std::vector<std::size_t> lines;
  while (reader.next(cells).value()) lines.push_back(reader.line());
  EXPECT_THAT(lines, ElementsAre(1U, 3U, 5U));
}

TEST(CsvReader, NamesTheLineOfABadQuote) {
  EXPECT_THAT(read_all("a\nb\n\"c\n").error().message, HasSubstr("line 3: "));
  EXPECT_THAT(read_all("a\n\"b\"c\n").error().message, HasSubstr("line 2: "));
}

TEST(CsvReader, ARecordHasABoundedNumberOfCells) {
  std::vector<std::string> cells;
  const std::string most(CsvReader::kMostCells - 1, ',');
  const std::string text = most + "\n" + most + ",";
  CsvReader reader(text);
  EXPECT_TRUE(reader.next(cells).value());
  EXPECT_EQ(cells.size(), CsvReader::kMostCells);
  const auto more = reader.next(cells);
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("line 2: it has more than 65536 cells"), std::string::npos);
}

TEST(CsvReader, ReadsBackWhateverWasQuoted) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(i);
    std::string text;
    std::vector<Record> records(1 + random() % 4);
    for (auto& record : records) {
      record.resize(2 + random() % 3);
      for (std::size_t k = 0; k < record.size(); ++k) {
        record[k] = mutate("ab,\" \r\n\t", random);
        text += (k == 0 ? "" : ",") + csv_cell(record[k]);
      }
      text += random() % 2 ? "\n" : "\r\n";
    }
    if (text.starts_with("\xEF\xBB\xBF")) continue;
    const auto again = read_all(text);
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(*again, records);
  }
}

}  // namespace
}  // namespace hocket
