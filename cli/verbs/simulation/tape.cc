// hocket tape: shows, compares and replays recorded decisions.

#include <CLI/CLI.hpp>
#include <deque>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "cli/views/tape_times.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/sim/tape_replay.h"
#include "core/tape/tape.h"

namespace hocket {
namespace {

constexpr std::int64_t kMaxFileBytes = std::int64_t{4} << 30;
constexpr std::size_t kLineBytes = 8000;
constexpr std::size_t kContextRecords = 3;

/// A tape in memory, with its reader.
struct Tape {
  std::string path;
  std::unique_ptr<const std::string> bytes;
  TapeReader reader;
};

Result<Tape> open_tape(const std::string& path) {
  auto bytes = read_file(path, kMaxFileBytes);
  HOCKET_TRY(bytes);
  auto kept = std::make_unique<const std::string>(std::move(*bytes));
  auto reader = TapeReader::open(*kept);
  if (!reader) return failure(reader.error().in(path));
  return Tape{path, std::move(kept), std::move(*reader)};
}

/// Returns the exact time, such as "12.000345 ms".
std::string exact_time_text(std::int64_t ns) {
  const std::string fraction = std::to_string(1'000'000 + ns % 1'000'000);
  return std::to_string(ns / 1'000'000) + '.' + fraction.substr(1) + " ms";
}

std::string record_line(std::uint64_t number, std::int64_t time_ns, const std::string& what) {
  return std::to_string(number) + "  " + exact_time_text(time_ns) + "  " +
         printable(what, kLineBytes);
}

constexpr const char* mode_text(AccessMode mode) {
  return mode == AccessMode::read ? "read" : mode == AccessMode::write ? "write" : "update";
}

void add_communication(const TaskCommunication& communication, const TapeReader& tape,
                       nlohmann::json& object) {
  // An all-reduce of all ranks, or a collective on a tape that does not tell.
  if (communication == TaskCommunication{}) return;
  object["collective"] = to_string(communication.kind);
  object["group"] = group_text(communication.group, tape);
  if (const auto peer = peer_rank(communication, tape)) object["peer_rank"] = *peer;
}

nlohmann::json task_json(const TapeTask& task, const TapeReader& tape) {
  nlohmann::json object = {{"name", task.name}, {"priority", task.priority}};
  if (task.is_collective) object["bytes"] = task.bytes;
  if (task.is_collective) add_communication(task.communication, tape, object);
  auto& accesses = object["accesses"] = nlohmann::json::array();
  for (const Access& access : task.accesses)
    accesses.push_back({{"data", access.data.index}, {"mode", mode_text(access.mode)}});
  return object;
}

nlohmann::json record_json(const TapeRecord& record, const TapeReader& tape) {
  nlohmann::json object = {
      {"record", tape.records()}, {"time_ns", record.time_ns}, {"kind", to_string(record.kind)}};
  switch (record.kind) {
    case TapeKind::captured:
      object["step"] = record.number;
      object["tasks"] = nlohmann::json::array();
      for (const TapeTask& task : record.tasks) object["tasks"].push_back(task_json(task, tape));
      return object;
    case TapeKind::launched:
      object["step"] = record.number;
      object["first_task"] = record.first_task;
      object["tasks"] = tape.captured_size(record.number);
      return object;
    case TapeKind::announced:
      object["collectives"] = record.collectives;
      return object;
    case TapeKind::configured:
      object.update(to_json(record.plan));
      return object;
    case TapeKind::submitted:
      object.update(task_json(record.tasks.front(), tape));
      break;
    default:
      break;
  }
  if (has_offset(record.kind)) object["offset_bytes"] = record.offset_bytes;
  if (is_of_part(record.kind)) object["bytes"] = record.bytes;
  object["task"] = record.number;
  object["name"] = tape.name_of(record.number);
  return object;
}

struct ShowOptions {
  std::string file;
  bool json = false;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< maximum lines
};

/// Prints records. A launch is printed with its tasks, as if they were submitted one by one.
class Show {
 public:
  Show(const ShowOptions& options, Tape& tape, std::ostream& out)
      : options_(options), reader_(tape.reader), out_(out) {}

  Result<void> run() {
    print_header();
    while (!full()) {
      auto record = reader_.next();
      HOCKET_TRY(record);
      if (!*record) return {};
      print(**record);
      if ((*record)->kind == TapeKind::launched) print_launch(**record);
      if ((*record)->kind == TapeKind::captured) captured_.push_back(std::move((*record)->tasks));
    }
    return {};
  }

 private:
  bool full() const { return lines_ >= options_.limit; }

  void print_header() {
    const auto header = to_json(reader_.header());
    if (options_.json) {
      out_ << json_text(header) << '\n';
      return;
    }
    for (const auto& [field, value] : header.items()) {
      const auto text = value.is_string() ? value.get<std::string>() : json_text(value);
      out_ << field << ": " << printable(text, kLineBytes) << '\n';
    }
  }

  void print(const TapeRecord& record) {
    ++lines_;
    out_ << (options_.json
                 ? json_text(record_json(record, reader_))
                 : record_line(reader_.records(), record.time_ns, describe_record(record, reader_)))
         << '\n';
  }

  void print_launch(const TapeRecord& launch) {
    TapeRecord task;
    task.kind = TapeKind::submitted;
    task.time_ns = launch.time_ns;
    task.number = launch.first_task;
    for (const TapeTask& captured : captured_[launch.number]) {
      if (full()) return;
      task.tasks = {captured};
      print(task);
      ++task.number;
    }
  }

  const ShowOptions& options_;
  TapeReader& reader_;
  std::ostream& out_;
  std::int64_t lines_ = 0;
  std::vector<std::vector<TapeTask>> captured_;
};

Result<int> show_tape(const ShowOptions& options, VerbContext& context) {
  auto tape = open_tape(options.file);
  HOCKET_TRY(tape);
  if (const auto ok = Show(options, *tape, context.out).run(); !ok)
    return failure(ok.error().in(options.file));
  return kDone;
}

Result<int> replay_file(const std::string& file, VerbContext& context) {
  auto tape = open_tape(file);
  HOCKET_TRY(tape);
  const auto replay = replay_tape(tape->reader);
  if (!replay) return failure(replay.error().in(file));
  context.out << replay->decisions() << " decisions, "
              << (replay->difference ? "then one that differs" : "all as on the tape") << '\n';
  if (replay->difference) {
    const TapeDifference& difference = *replay->difference;
    context.out << "record " << difference.record << " at " << exact_time_text(difference.time_ns)
                << "\n  on the tape: " << printable(difference.on_tape, kLineBytes)
                << "\n  decided:     " << printable(difference.decided, kLineBytes) << '\n';
    return kFailed;
  }
  if (replay->incomplete) return failure(replay->incomplete->in(file));
  return kDone;
}

/// Compares two tapes record by record.
class Diff {
 public:
  Diff(Tape& a, Tape& b, std::ostream& out) : a_(a), b_(b), out_(out) {}

  /// Returns whether the tapes are equal.
  Result<bool> run() {
    if (a_.reader.header().plan != b_.reader.header().plan)
      out_ << "the plans have different options; `hocket tape show` prints them\n";
    while (true) {
      const auto a = a_.reader.next();
      const auto b = b_.reader.next();
      if (!a) return cut(a_, a.error());
      if (!b) return cut(b_, b.error());
      if (*a && *b && same(**a, **b)) {
        remember(**a, **b);
        continue;
      }
      const bool ended = !*a && !*b;
      if (ended) {
        out_ << a_.reader.records() << " records, the same on both tapes\n";
      } else {
        print_difference(*a, *b);
        read_on(*a, a_.reader, times_a_);
        read_on(*b, b_.reader, times_b_);
      }
      print_times();
      return ended;
    }
  }

 private:
  static bool same(TapeRecord a, const TapeRecord& b) {
    a.time_ns = b.time_ns;
    return a == b;
  }

  Result<bool> cut(const Tape& tape, const Error& error) {
    out_ << "the same as far as both are whole\n";
    return failure(error.in(tape.path));
  }

  void remember(const TapeRecord& a, const TapeRecord& b) {
    times_a_.add(a);
    times_b_.add(b);
    ++same_;
    context_.push_back(describe_record(a, a_.reader));
    if (context_.size() > kContextRecords) context_.pop_front();
  }

  /// Adds the times of the records after the difference, as far as the tape is intact.
  static void read_on(const std::optional<TapeRecord>& first, TapeReader& reader,
                      TapeTimes& times) {
    Result<std::optional<TapeRecord>> record = first;
    for (; record && *record; record = reader.next()) times.add(**record);
  }

  void print_difference(const std::optional<TapeRecord>& a, const std::optional<TapeRecord>& b) {
    out_ << "record " << same_ + 1 << " differs\n";
    std::uint64_t number = same_ - context_.size();
    for (const auto& line : context_)
      out_ << "    " << ++number << "  " << printable(line, kLineBytes) << '\n';
    const auto print = [&](const char* which, const std::optional<TapeRecord>& record,
                           const Tape& tape) {
      out_ << "  " << which << ' '
           << (record
                   ? record_line(same_ + 1, record->time_ns, describe_record(*record, tape.reader))
                   : "ends")
           << '\n';
    };
    print("A", a, a_);
    print("B", b, b_);
  }

  void print_times() {
    const auto time = [](std::int64_t ns) {
      return value_text(static_cast<double>(ns), ObjectiveUnit::nanoseconds);
    };
    const auto mean_step = [&](const std::vector<std::int64_t>& ends_ns) {
      if (ends_ns.size() < 2) return std::string("-");
      return time((ends_ns.back() - ends_ns.front()) /
                  static_cast<std::int64_t>(ends_ns.size() - 1));
    };
    const auto a_ns = times_a_.step_ends_ns(), b_ns = times_b_.step_ends_ns();
    TextTable table({"", "A", "B"});
    table.add({"finished steps", std::to_string(a_ns.size()), std::to_string(b_ns.size())});
    table.add({"a step, mean", mean_step(a_ns), mean_step(b_ns)});
    table.add({"last finish", time(times_a_.last_finish_ns()), time(times_b_.last_finish_ns())});
    table.print(out_);
  }

  Tape& a_;
  Tape& b_;
  std::ostream& out_;
  std::uint64_t same_ = 0;
  std::deque<std::string> context_;
  TapeTimes times_a_, times_b_;
};

Result<int> compare_tapes(const std::string& file_a, const std::string& file_b,
                          VerbContext& context) {
  auto a = open_tape(file_a);
  HOCKET_TRY(a);
  auto b = open_tape(file_b);
  HOCKET_TRY(b);
  const auto same = Diff(*a, *b, context.out).run();
  HOCKET_TRY(same);
  return *same ? kDone : kFailed;
}

void add_show(CLI::App& tape, VerbAction& action) {
  auto options = std::make_shared<ShowOptions>();
  auto* verb = tape.add_subcommand("show", "print what is on a tape");
  verb->add_option("FILE", options->file, "the tape")->type_name("FILE")->required();
  verb->add_flag("--json", options->json, "print a line of JSON for each record");
  verb->add_option("--limit", options->limit, "at most so many lines")
      ->check(CLI::Range(std::int64_t{1}, options->limit));
  verb->footer(
      "Exit status 2 when the tape is cut off, after what is whole was shown.\n"
      "Example:\n  hocket tape show job.tape --limit 100\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return show_tape(*options, c); };
  });
}

void add_diff(CLI::App& tape, VerbAction& action) {
  auto files = std::make_shared<std::pair<std::string, std::string>>();
  auto* verb = tape.add_subcommand("diff", "compare two tapes, whatever the times");
  verb->add_option("A", files->first, "a tape")->type_name("FILE")->required();
  verb->add_option("B", files->second, "another")->type_name("FILE")->required();
  verb->footer(
      "Exit status 0 when all records are the same, 1 when not, 2 when a tape is cut off.\n"
      "Example:\n  hocket tape diff monday.tape tuesday.tape\n");
  verb->callback([files, &action] {
    action = [files](VerbContext& c) { return compare_tapes(files->first, files->second, c); };
  });
}

void add_tape_replay(CLI::App& tape, VerbAction& action) {
  auto file = std::make_shared<std::string>();
  auto* verb = tape.add_subcommand("replay", "decide again, and compare each decision");
  verb->add_option("FILE", *file, "the tape")->type_name("FILE")->required();
  verb->footer(
      "Exit status 0 when all decisions are the same, 1 when not, 2 when the tape is cut\n"
      "off or no plan can have written it.\n"
      "Example:\n  hocket tape replay job.tape\n");
  verb->callback(
      [file, &action] { action = [file](VerbContext& c) { return replay_file(*file, c); }; });
}

}  // namespace

void add_tape(CLI::App& program, VerbAction& action) {
  auto* verb = program.add_subcommand("tape", "look at, compare or replay recorded decisions");
  verb->require_subcommand(1);
  verb->footer("Example:\n  hocket tape show job.tape --json\n");
  add_show(*verb, action);
  add_diff(*verb, action);
  add_tape_replay(*verb, action);
}

}  // namespace hocket
