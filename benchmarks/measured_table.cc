#include "benchmarks/measured_table.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace hocket {
namespace {

std::string line(const nlohmann::json& object) {
  return object.dump() + "\n";
}

}  // namespace

MeasuredTable::MeasuredTable(std::string table, std::vector<std::string> labels,
                             std::optional<MeasuredPeer> peer) {
  nlohmann::json head = {{"table", std::move(table)}, {"labels", std::move(labels)}};
  if (peer) {
    head["peer"] = {{"label", peer->label},
                    {"column", peer->column},
                    {"title", peer->title},
                    {"is_speed", peer->is_speed}};
  }
  text_ = line(head);
}

void MeasuredTable::add(std::vector<std::string> row, std::string column,
                        std::vector<double> values) {
  text_ +=
      line({{"row", std::move(row)}, {"column", std::move(column)}, {"values", std::move(values)}});
}

void MeasuredTable::add_count(std::vector<std::string> row, std::string column, std::size_t count) {
  text_ += line({{"row", std::move(row)},
                 {"column", std::move(column)},
                 {"values", std::vector<std::size_t>{count}}});
}

void MeasuredTable::print() const {
  std::fputs(text_.c_str(), stdout);
  std::fflush(stdout);
}

std::vector<double> in_unit(std::vector<double> values, double unit) {
  for (double& value : values) value /= unit;
  return values;
}

}  // namespace hocket
