#include "tuner/table/csv.h"

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlanks = " \t";

}  // namespace

std::string csv_cell(std::string_view text) {
  const bool is_plain =
      text.find_first_of(",\"\r\n") == std::string_view::npos && trimmed(text) == text;
  if (is_plain) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + '"';
}

CsvReader::CsvReader(std::string_view text) : text_(text) {
  if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
}

bool CsvReader::skip_line_break() {
  const std::string_view rest = text_.substr(at_);
  const std::size_t length = rest.starts_with("\r\n")                           ? 2
                             : rest.starts_with('\n') || rest.starts_with('\r') ? 1
                                                                                : 0;
  at_ += length;
  line_ += length > 0 ? 1 : 0;
  return length > 0;
}

Result<bool> CsvReader::next(std::vector<std::string>& cells) {
  cells.clear();
  while (skip_line_break()) {
  }
  record_line_ = line_;
  if (at_ == text_.size()) return false;
  for (;;) {
    if (cells.size() == kMostCells) {
      return invalid("line " + std::to_string(record_line_) + ": it has more than " +
                     std::to_string(kMostCells) + " cells");
    }
    const auto cell = text_.find_first_not_of(kBlanks, at_);
    if (cell != std::string_view::npos && text_[cell] == '"') {
      at_ = cell + 1;
      auto quoted = quoted_cell();
      HOCKET_TRY(quoted);
      cells.push_back(std::move(*quoted));
    } else {
      cells.push_back(plain_cell());
    }
    if (at_ == text_.size() || skip_line_break()) return true;
    ++at_;  // the comma
  }
}

std::string CsvReader::plain_cell() {
  const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
  const auto cell = trimmed(text_.substr(at_, end - at_));
  at_ = end;
  return std::string(cell);
}

Result<std::string> CsvReader::quoted_cell() {
  const std::size_t opened = line_;
  std::string cell;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (c != '"') {
      cell += c;
    } else if (text_.substr(at_ + 1).starts_with('"')) {
      cell += text_[++at_];
    } else {
      at_ = std::min(text_.find_first_not_of(kBlanks, at_ + 1), text_.size());
      if (at_ == text_.size() || text_.substr(at_).find_first_of(",\r\n") == 0) return cell;
      return failure(ErrorCode::invalid_argument,
                     "line " + std::to_string(line_) +
                         ": a quoted cell is followed by more text; write \"\" for a quote in it");
    }
  }
  return failure(ErrorCode::invalid_argument,
                 "line " + std::to_string(opened) + ": the quote is never closed");
}

}  // namespace hocket
