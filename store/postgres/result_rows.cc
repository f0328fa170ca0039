#include "store/postgres/result_rows.h"

#include <bit>
#include <cstdint>
#include <utility>

namespace hocket::postgres {
namespace {

/// Columns of the current row of a result.
class ResultRows : public sql::Rows {
 public:
  explicit ResultRows(const Libpq& libpq) : libpq_(libpq) {}

  bool is_null(int column) const override {
    return libpq_.PQgetisnull(result_.get(), row_, column) != 0;
  }
  /// Integers of 1, 2, 4 and 8 bytes, with a sign.
  std::int64_t integer(int column) const override {
    if (is_null(column)) return 0;
    const std::string bytes = text(column);
    std::uint64_t bits = 0;
    for (const char byte : bytes) bits = bits << 8 | static_cast<unsigned char>(byte);
    const std::size_t unused_bits = 64 - 8 * bytes.size();
    if (bytes.empty() || bytes.size() > 8) return 0;
    return static_cast<std::int64_t>(bits << unused_bits) >> unused_bits;
  }
  double real(int column) const override {
    return std::bit_cast<double>(static_cast<std::uint64_t>(integer(column)));
  }
  std::string text(int column) const override {
    return {libpq_.PQgetvalue(result_.get(), row_, column),
            static_cast<std::size_t>(libpq_.PQgetlength(result_.get(), row_, column))};
  }

 protected:
  const Libpq& libpq_;
  PqResult result_{nullptr, {libpq_.PQclear}};
  int row_ = -1;
};

class WholeResult final : public ResultRows {
 public:
  WholeResult(const Libpq& libpq, PqResult result) : ResultRows(libpq) {
    result_ = std::move(result);
  }

  Result<bool> next() override { return ++row_ < libpq_.PQntuples(result_.get()); }
};

class Stream final : public ResultRows {
 public:
  explicit Stream(Session& session) : ResultRows(session.target().libpq), session_(session) {}
  ~Stream() override {
    if (!is_over_) session_.give_up();
  }

  Result<bool> next() override {
    auto result = session_.next_streamed();
    is_over_ = !result || !*result;
    HOCKET_TRY(result);
    result_ = std::move(*result);
    row_ = 0;
    return !is_over_;
  }

 private:
  Session& session_;
  bool is_over_ = false;
};

}  // namespace

std::unique_ptr<sql::Rows> make_rows(const Libpq& libpq, PqResult result) {
  return std::make_unique<WholeResult>(libpq, std::move(result));
}

std::unique_ptr<sql::Rows> make_stream(Session& session) {
  return std::make_unique<Stream>(session);
}

}  // namespace hocket::postgres
