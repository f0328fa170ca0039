#include "profiler/formats/chrome_events.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "profiler/formats/json/repaired_text.h"

namespace hocket {
namespace {

template <class Member>
using Field = std::pair<std::string_view, Member>;

using IntegerField = Field<std::optional<std::int64_t> ChromeArguments::*>;
using TextField = Field<std::string ChromeArguments::*>;

constexpr std::array kIntegers{
    IntegerField{"step", &ChromeArguments::step},
    IntegerField{"task", &ChromeArguments::task},
    IntegerField{"bytes", &ChromeArguments::bytes},
    IntegerField{"sequence", &ChromeArguments::sequence},
    IntegerField{"lane", &ChromeArguments::lane},
    IntegerField{"submitted_ns", &ChromeArguments::submitted_ns},
    IntegerField{"ready_ns", &ChromeArguments::ready_ns},
    IntegerField{"ranks", &ChromeArguments::ranks},
    IntegerField{"dropped", &ChromeArguments::dropped},
    IntegerField{"quarantined", &ChromeArguments::quarantined},
    IntegerField{"shortened", &ChromeArguments::shortened},
    IntegerField{"clock_ns", &ChromeArguments::clock_ns},
    IntegerField{"realtime_ns", &ChromeArguments::realtime_ns},
    IntegerField{"stream", &ChromeArguments::stream},
    IntegerField{"device", &ChromeArguments::device},
    IntegerField{"In msg nelems", &ChromeArguments::elements_in},
    IntegerField{"Out msg nelems", &ChromeArguments::elements_out},
    IntegerField{"Seq", &ChromeArguments::group_sequence},
    IntegerField{"Group size", &ChromeArguments::group_size},
    IntegerField{"Process Group ID", &ChromeArguments::group_id},
    IntegerField{"Src Rank", &ChromeArguments::source_rank},
    IntegerField{"Dst Rank", &ChromeArguments::destination_rank},
};

/// Identities, which may be larger than a number of 64 bits, or texts.
constexpr std::array kIdentities{
    IntegerField{"correlation", &ChromeArguments::correlation},
    IntegerField{"External id", &ChromeArguments::external_id},
    IntegerField{"external id", &ChromeArguments::external_id},
};

/// Bounds the list of groups in a file's head.
constexpr std::size_t kMostGroups = 1 << 16;

constexpr std::array kTexts{
    TextField{"collective", &ChromeArguments::collective},
    TextField{"host", &ChromeArguments::host},
    TextField{"source", &ChromeArguments::source},
    TextField{"name", &ChromeArguments::name},
    TextField{"Collective name", &ChromeArguments::collective_name},
    TextField{"dtype", &ChromeArguments::element_type},
    TextField{"Process Group Name", &ChromeArguments::group},
    TextField{"Process Group Ranks", &ChromeArguments::group_ranks},
    TextField{"group", &ChromeArguments::group},
    TextField{"group_ranks", &ChromeArguments::group_ranks},
};

constexpr std::array kDialectIntegers{
    Field<std::optional<std::int64_t> DialectArguments::*>{"count", &DialectArguments::count},
    Field<std::optional<std::int64_t> DialectArguments::*>{"step_num",
                                                           &DialectArguments::step_number},
};

constexpr std::array kDialectTexts{
    Field<std::string DialectArguments::*>{"Task Type", &DialectArguments::task_type},
    Field<std::string DialectArguments::*>{"data_type", &DialectArguments::data_type},
    Field<std::string DialectArguments::*>{"hlo_op", &DialectArguments::hlo_op},
};

template <class Fields>
auto member_of(const Fields& fields, std::string_view key) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& field) { return field.first == key; });
  return found == fields.end() ? nullptr : found->second;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The handler of nlohmann's SAX parser. Its stack has only containers whose content is kept, so
/// depth costs nothing here; the parser itself keeps one bit per level and does not recurse.
class EventReader {
 public:
  EventReader(std::istream& in, RepairedText& text,
              const std::function<void(const ChromeEvent&)>& take)
      : in_(in), text_(text), take_(take) {}

  // The interface of nlohmann::json_sax.
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(std::int64_t value) { return take_number(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) { return take_number(std::to_string(value)); }
  bool number_float(double, const std::string& text) { return take_number(text); }
  bool string(const std::string& text) { return take_text(text); }
  bool binary(const std::vector<std::uint8_t>&) { return true; }
  bool key(const std::string& text) {
    if (skipped_ == 0) key_ = text;
    return true;
  }
  bool start_object(std::size_t) { return enter(true); }
  bool start_array(std::size_t) { return enter(false); }
  bool end_object() { return leave(); }
  bool end_array() { return leave(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& why) {
    head_.is_cut_off = in_.eof();
    is_broken_ = !head_.is_cut_off;
    if (!is_broken_) return false;
    if (breaks_++ == 0) {
      first_break_ = "line " + std::to_string(text_.line()) + " is no JSON (" + reason(why.what()) +
                     "): the event there is left out";
      error_ = Error{ErrorCode::invalid_argument,
                     "no JSON at byte " + std::to_string(position) + ": " + reason(why.what())};
    }
    return false;
  }

  /// Goes to the next event behind a place in the list of events that is no JSON. Returns false if
  /// there is none.
  bool skip_to_next_event() {
    constexpr std::int64_t kMostBreaks = 1000;
    const bool is_in_events =
        was_resumed_ || std::ranges::find(places_, Place::events) != places_.end();
    if (text_.problem() || !is_broken_ || !is_in_events || breaks_ >= kMostBreaks) return false;
    is_broken_ = false;
    was_resumed_ = true;
    places_.clear();
    skipped_ = 0;
    key_.clear();
    // Between two events there is "}, {", which occurs in no event.
    constexpr std::string_view kBetween = "},{";
    std::size_t matched = 0;
    using Traits = std::char_traits<char>;
    for (auto c = text_.sbumpc(); c != Traits::eof(); c = text_.sbumpc()) {
      const char byte = Traits::to_char_type(c);
      if (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t') continue;
      if (byte != kBetween[matched]) matched = 0;
      if (byte == kBetween[matched] && ++matched == kBetween.size()) {
        text_.unread("[{");
        return true;
      }
    }
    return false;
  }

  Result<ChromeHead> result() {
    if (text_.problem()) return failure(ErrorCode::invalid_argument, *text_.problem());
    if (breaks_ > 0 && !has_events_) return failure(error_);
    if (breaks_ > 0) head_.offences.push_back(first_break_ + others(breaks_));
    using Kind = RepairedText::Kind;
    add_repairs(Kind::not_a_number, "a number is NaN or infinite; it counts as missing");
    add_repairs(Kind::not_utf8, "a text has bytes that are not UTF-8");
    add_repairs(Kind::control_character, "a text has a control character");
    if (bad_times_ > 0) head_.offences.push_back(first_bad_time_ + others(bad_times_));
    return head_;
  }

 private:
  enum class Place {
    root,
    events,
    event,
    arguments,
    wide_id,
    distributed,
    groups,
    group,
    group_ranks,
    input_shapes,
    first_shape,
    input_types
  };

  /// Returns the parser's message without its name and number, in one line of bounded length.
  static std::string reason(std::string text) {
    const auto begin = text.rfind(": ");
    if (begin != std::string::npos && begin + 2 < text.size()) text.erase(0, begin + 2);
    text.resize(std::min<std::size_t>(text.size(), 160));
    for (char& c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
    }
    return text;
  }

  /// Returns the end of a sentence on the first of `count` things.
  static std::string others(std::int64_t count) {
    if (count == 1) return "";
    return "; " + std::to_string(count - 1) +
           (count == 2 ? " other place is" : " other places are") + " like that";
  }

  void add_repairs(RepairedText::Kind kind, const std::string& what) {
    const RepairedText::Repairs& repairs = text_.repairs(kind);
    if (repairs.count == 0) return;
    head_.offences.push_back("line " + std::to_string(repairs.first_line) + ": " + what +
                             others(repairs.count));
  }

  /// Reads a time, as a number or as a text.
  std::optional<std::int64_t> time_of(const std::string& text) {
    const auto first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
    const auto ns = first == text.npos
                        ? std::nullopt
                        : nanoseconds_of(std::string_view(text).substr(first, last - first + 1));
    if (!ns && bad_times_++ == 0) {
      first_bad_time_ = "line " + std::to_string(text_.line()) + ": \"" + key_ + "\" is \"" +
                        printable(text, kMostShownBytes) + "\", which is no time";
    }
    return ns;
  }

  bool enter(bool is_object) {
    const auto place = skipped_ > 0 ? std::nullopt : place_of_child(is_object);
    if (!place) {
      ++skipped_;
      return true;
    }
    if (*place == Place::event) event_ = {};
    if (*place == Place::group) head_.groups.emplace_back();
    if (*place == Place::first_shape) event_.arguments.input_elements = 1;
    places_.push_back(*place);
    return true;
  }

  bool leave() {
    if (skipped_ > 0) {
      --skipped_;
      return true;
    }
    const Place place = places_.back();
    places_.pop_back();
    if (place == Place::event) {
      has_events_ = true;
      take_(event_);
    }
    return true;
  }

  std::optional<Place> place_of_child(bool is_object) const {
    if (places_.empty()) return is_object ? Place::root : Place::events;
    switch (places_.back()) {
      case Place::root:
        if (!is_object && key_ == "traceEvents") return Place::events;
        if (is_object && key_ == "distributedInfo") return Place::distributed;
        break;
      case Place::events:
        if (is_object) return Place::event;
        break;
      case Place::event:
        if (is_object && key_ == "args") return Place::arguments;
        // {"local": …} or {"global": …}
        if (is_object && key_ == "id2") return Place::wide_id;
        break;
      case Place::arguments:
        if (!is_object && key_ == "Input Dims") return Place::input_shapes;
        if (!is_object && key_ == "Input type") return Place::input_types;
        break;
      case Place::input_shapes:
        if (!is_object && !event_.arguments.input_elements) return Place::first_shape;
        break;
      case Place::distributed:
        if (!is_object && key_ == "pg_config") return Place::groups;
        break;
      case Place::groups:
        if (is_object && head_.groups.size() < kMostGroups) return Place::group;
        break;
      case Place::group:
        if (!is_object && key_ == "ranks") return Place::group_ranks;
        break;
      case Place::group_ranks:
      case Place::first_shape:
      case Place::input_types:
      case Place::wide_id:
        break;
    }
    return std::nullopt;
  }

  bool take_number(const std::string& text) {
    if (skipped_ > 0 || places_.empty()) return true;
    switch (places_.back()) {
      case Place::root:
        if (key_ == "baseTimeNanoseconds") head_.base_ns = integer_of(text);
        if (key_ == "schemaVersion") head_.is_kineto = true;
        break;
      case Place::distributed:
        head_.is_kineto = true;
        if (key_ == "rank") head_.rank = integer_of(text);
        if (key_ == "world_size") head_.world_size = integer_of(text);
        break;
      case Place::event:
        if (key_ == "ts") event_.begin_ns = time_of(text);
        if (key_ == "dur") event_.duration_ns = time_of(text);
        take_label(text);
        break;
      case Place::arguments:
        if (const auto member = member_of(kIntegers, key_)) {
          event_.arguments.*member = integer_of(text);
        } else if (const auto dialect = member_of(kDialectIntegers, key_)) {
          event_.dialect.*dialect = integer_of(text);
        }
        take_identity(text);
        break;
      case Place::wide_id:
        event_.id = text;
        break;
      case Place::first_shape:
        take_dimension(integer_of(text).value_or(0));
        break;
      case Place::group:
        if (key_ == "pg_name") head_.groups.back().name = text;
        break;
      case Place::group_ranks:
        // A value that is no rank makes the list useless.
        head_.groups.back().ranks.push_back(integer_of(text).value_or(-1));
        break;
      case Place::groups:
      case Place::events:
      case Place::input_shapes:
      case Place::input_types:
        break;
    }
    return true;
  }

  /// A shape that cannot be true has no elements.
  void take_dimension(std::int64_t size) {
    auto& elements = event_.arguments.input_elements;
    if (size < 0 || __builtin_mul_overflow(*elements, size, &*elements)) elements = 0;
  }

  bool take_text(const std::string& text) {
    if (skipped_ > 0 || places_.empty()) return true;
    const Place place = places_.back();
    if (place == Place::root && key_ == "host_name") head_.host = text;
    if (place == Place::group && key_ == "pg_name") head_.groups.back().name = text;
    if (place == Place::group_ranks) head_.groups.back().ranks.push_back(-1);
    if (place == Place::input_types && !event_.arguments.input_type)
      event_.arguments.input_type = text;
    if (place == Place::event) {
      if (key_ == "ph") event_.phase = text;
      if (key_ == "name") event_.name = text;
      if (key_ == "cat") event_.category = text;
      // Some programs quote numbers.
      if (key_ == "ts") event_.begin_ns = time_of(text);
      if (key_ == "dur") event_.duration_ns = time_of(text);
      take_label(text);
    }
    if (place == Place::wide_id) event_.id = text;
    if (place == Place::arguments) {
      if (const auto member = member_of(kTexts, key_)) event_.arguments.*member = text;
      // Some versions of Kineto quote numbers.
      if (const auto member = member_of(kIntegers, key_)) {
        event_.arguments.*member = integer_of(text);
      }
      take_identity(text);
      if (const auto dialect = member_of(kDialectTexts, key_)) event_.dialect.*dialect = text;
      if (const auto dialect = member_of(kDialectIntegers, key_))
        event_.dialect.*dialect = integer_of(text);
    }
    return true;
  }

  void take_identity(const std::string& text) {
    if (const auto member = member_of(kIdentities, key_))
      event_.arguments.*member = identity_of(text);
  }

  /// Takes a label, which is a number in some files and a text in others.
  void take_label(const std::string& text) {
    if (key_ == "pid") event_.process = text;
    if (key_ == "tid") event_.thread = text;
    if (key_ == "id") event_.id = text;
  }

  static constexpr std::size_t kMostShownBytes = 40;

  std::istream& in_;
  RepairedText& text_;
  const std::function<void(const ChromeEvent&)>& take_;
  std::vector<Place> places_;
  std::uint64_t skipped_ = 0;  ///< open containers whose content is not kept
  std::string key_;            ///< the last key read outside those
  ChromeEvent event_;
  ChromeHead head_;
  bool has_events_ = false;
  // Places that are no JSON, and times that are none; the texts are of the first.
  bool is_broken_ = false, was_resumed_ = false;
  std::int64_t breaks_ = 0, bad_times_ = 0;
  std::string first_break_, first_bad_time_;
  Error error_;
};

}  // namespace

std::optional<std::int64_t> identity_of(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (const auto value = integer_of(text)) return value;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  // Negative, as no integer of a file usually is.
  return static_cast<std::int64_t>(hash | std::uint64_t{1} << 63);
}

std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto mantissa_end = std::min(text.find_first_of("eE"), text.size());
  std::int64_t exponent = 3;
  if (mantissa_end < text.size()) {
    std::string_view power = text.substr(mantissa_end + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto value = integer_of(power);
    if (!value || *value < -10'000 || *value > 10'000) return std::nullopt;
    exponent += *value;
  }
  std::uint64_t value = 0;
  bool in_fraction = false, has_digits = false;
  for (const char c : text.substr(0, mantissa_end)) {
    if (c == '.' && !in_fraction) {
      in_fraction = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    has_digits = true;
    const bool fits = value <= (kMost - 9) / 10;
    if (fits) value = 10 * value + static_cast<std::uint64_t>(c - '0');
    exponent += (fits ? 0 : 1) - (in_fraction ? 1 : 0);
  }
  if (!has_digits) return std::nullopt;
  for (; exponent > 0 && value != 0; --exponent) {
    if (value > kMost / 10) return std::nullopt;
    value *= 10;
  }
  for (; exponent < -1 && value != 0; ++exponent) value /= 10;
  if (exponent < 0) value = value / 10 + (value % 10 >= 5 ? 1 : 0);
  if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  const auto magnitude = static_cast<std::int64_t>(value);
  return negative ? -magnitude : magnitude;
}

Result<ChromeHead> read_chrome_events(std::istream& in,
                                      const std::function<void(const ChromeEvent&)>& take) {
  MemoryBudget memory = MemoryBudget::of_process();
  RepairedText text(*in.rdbuf(), &memory);
  std::istream repaired(&text);
  EventReader reader(repaired, text, take);
  nlohmann::json::sax_parse(repaired, &reader);
  while (reader.skip_to_next_event()) {
    // Fields behind the list of events are not read then.
    nlohmann::json::sax_parse(repaired, &reader, nlohmann::json::input_format_t::json, false);
  }
  return reader.result();
}

}  // namespace hocket
