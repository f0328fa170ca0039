#include "store/store_uri.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace hocket {
namespace {

constexpr std::string_view kHidden = "***";

/// Returns the length of the scheme with its "://"; nothing if `store` is no URI of PostgreSQL.
std::optional<std::size_t> scheme_length(std::string_view store) {
  for (const std::string_view scheme : {"postgresql://", "postgres://"}) {
    if (store.starts_with(scheme)) return scheme.size();
  }
  return std::nullopt;
}

/// Value of a hexadecimal digit; -1 for another character.
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Returns `text` with its percent-encoded characters.
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_code = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                         hex_digit(text[i + 2]) >= 0;
    plain +=
        is_code ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (is_code) i += 2;
  }
  return plain;
}

/// Returns `text` with its capital letters of ASCII made small.
std::string lowered(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return small;
}

/// Returns whether a parameter of a URI is a secret: "password", "sslpassword".
bool is_secret(std::string_view name) {
  return lowered(decoded(name)).find("password") != std::string::npos;
}

/// Parameters of libpq that a connection is written with, in small letters.
constexpr std::array<std::string_view, 22> kParameters = {"host",
                                                          "hostaddr",
                                                          "port",
                                                          "dbname",
                                                          "user",
                                                          "password",
                                                          "passfile",
                                                          "service",
                                                          "servicefile",
                                                          "options",
                                                          "application_name",
                                                          "sslmode",
                                                          "sslcert",
                                                          "sslkey",
                                                          "sslpassword",
                                                          "sslrootcert",
                                                          "requiressl",
                                                          "connect_timeout",
                                                          "krbsrvname",
                                                          "gssencmode",
                                                          "channel_binding",
                                                          "target_session_attrs"};

/// Returns whether a word of `text` is a parameter of libpq: its name, blanks, "=".
bool has_parameter(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  for (std::size_t at = text.find('='); at != std::string_view::npos; at = text.find('=', at + 1)) {
    const std::size_t end = text.substr(0, at).find_last_not_of(kBlanks);
    if (end == std::string_view::npos) continue;
    const std::size_t before = text.substr(0, end + 1).find_last_of(" \t\r\n;,&?");
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string name = lowered(text.substr(begin, end + 1 - begin));
    if (std::ranges::find(kParameters, name) != kParameters.end()) return true;
  }
  return false;
}

/// Returns the parameters behind "?" without their secrets.
std::string shown_parameters(std::string_view parameters) {
  std::string shown;
  while (!parameters.empty()) {
    const std::size_t length = std::min(parameters.find('&'), parameters.size() - 1) + 1;
    const std::string_view parameter = parameters.substr(0, length);
    const std::size_t equals = parameter.find('=');
    if (equals != std::string_view::npos && is_secret(parameter.substr(0, equals))) {
      shown.append(parameter.substr(0, equals + 1)).append(kHidden);
      if (parameter.ends_with('&')) shown += '&';
    } else {
      shown += parameter;
    }
    parameters.remove_prefix(length);
  }
  return shown;
}

/// A URI behind its scheme: "user:password@" or nothing, the rest before "?", and what is behind.
struct Parts {
  std::string_view user, rest, parameters;
};

/// Divides what is behind the scheme. A password may hold "?", and one that is not encoded as it
/// must be "@" or "/", so the user's part ends at the last "@" that a parameter cannot have.
Parts parts_of(std::string_view behind_scheme) {
  // Values of parameters may hold "@", too: the first "?" behind an "@" begins them, or the first
  // one where there is no "@" before it.
  const std::size_t first_at = behind_scheme.find('@');
  std::size_t question = behind_scheme.find('?');
  if (first_at != std::string_view::npos && first_at > question) {
    // "u:p?w@host" or "host?application_name=a@b": only the first has a ":" before the "?".
    if (behind_scheme.substr(0, question).find(':') != std::string_view::npos) {
      question = behind_scheme.find('?', first_at);
    }
  } else if (first_at != std::string_view::npos) {
    question = behind_scheme.find('?', first_at);
  }
  const std::string_view before = behind_scheme.substr(0, question);
  const std::size_t at = before.rfind('@');
  Parts parts;
  parts.user = at == std::string_view::npos ? "" : before.substr(0, at + 1);
  parts.rest = before.substr(parts.user.size());
  if (question != std::string_view::npos) parts.parameters = behind_scheme.substr(question);
  return parts;
}

/// Returns the hosts, and the rest behind "/", without ports that are no numbers: who leaves out
/// the
/// "@" behind a password has written it there.
std::string shown_hosts(std::string_view rest) {
  std::string shown;
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view hosts = rest.substr(0, slash);
  while (!hosts.empty()) {
    const std::size_t length = std::min(hosts.find(','), hosts.size() - 1) + 1;
    std::string_view host = hosts.substr(0, length);
    hosts.remove_prefix(length);
    const bool has_more = host.ends_with(',');
    if (has_more) host.remove_suffix(1);
    // The address in brackets has colons of its own.
    const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
    const std::size_t colon = host.find(':', std::min(bracket, host.size()));
    const std::string_view port = host.substr(std::min(colon, host.size() - 1) + 1);
    const bool is_number = port.find_first_not_of("0123456789") == std::string_view::npos;
    if (colon == std::string_view::npos || is_number) {
      shown += host;
    } else {
      shown.append(host.substr(0, colon + 1)).append(kHidden);
    }
    if (has_more) shown += ',';
  }
  return shown.append(rest.substr(slash));
}

}  // namespace

bool is_postgres_uri(std::string_view store) {
  return scheme_length(store).has_value();
}

bool is_connection_text(std::string_view store) {
  if (is_postgres_uri(store) || store.starts_with('/') || store.starts_with('.')) return false;
  if (has_parameter(store)) return true;
  const std::size_t colon = store.find(':');
  if (store.substr(0, colon).find('/') != std::string_view::npos || colon == std::string_view::npos)
    return false;
  const std::string scheme = lowered(store.substr(0, colon));
  if (scheme.starts_with("postg") || scheme.starts_with("psql") || scheme.starts_with("pgsql"))
    return true;
  return store.find('@', colon) != std::string_view::npos;
}

Result<void> check_store_name(std::string_view store) {
  if (is_connection_text(store)) {
    return failure(ErrorCode::invalid_argument,
                   "the store is given as a connection to a server that is not understood, and is "
                   "not repeated here because it may have a password: write "
                   "postgresql://USER@HOST/DATABASE, with the password in ~/.pgpass, or the path "
                   "of a file; a path that looks so begins with ./");
  }
  const std::size_t scheme = store.find("://");
  if (scheme == std::string_view::npos || is_postgres_uri(store)) return {};
  return failure(ErrorCode::invalid_argument,
                 "no store is named by " + std::string(store.substr(0, scheme)) +
                     "://: write the path of a file, or postgresql://USER@HOST/DATABASE");
}

std::string shown_store(std::string_view store) {
  if (is_connection_text(store)) return std::string(kHidden);
  const auto scheme = scheme_length(store);
  if (!scheme) return std::string(store);
  const Parts parts = parts_of(store.substr(*scheme));
  std::string shown(store.substr(0, *scheme));
  const std::size_t colon = parts.user.find(':');
  if (colon == std::string_view::npos) {
    shown += parts.user;
  } else {
    shown.append(parts.user.substr(0, colon + 1)).append(kHidden).append("@");
  }
  return shown.append(shown_hosts(parts.rest)).append(shown_parameters(parts.parameters));
}

Result<void> check_postgres_uri(std::string_view uri) {
  const auto scheme = scheme_length(uri);
  const std::string_view behind = uri.substr(scheme.value_or(0));
  const Parts parts = parts_of(behind);
  // libpq ends the user's part at the first "@" or "/".
  const std::string_view user =
      parts.user.empty() ? "" : parts.user.substr(0, parts.user.size() - 1);
  if (shown_hosts(parts.rest) != parts.rest) {
    return failure(ErrorCode::invalid_argument, "store " + shown_store(uri) +
                                                    ": a port in a URI must be a number, and a "
                                                    "password ends with @");
  }
  if (user.find_first_of("@/") == std::string_view::npos) return {};
  return failure(ErrorCode::invalid_argument,
                 "store " + shown_store(uri) +
                     ": a user's name or password in a URI must have %40 for @ and %2F for /");
}

}  // namespace hocket
