// hocket serve: the daemon.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <system_error>
#include <vector>

#include "cli/inputs/access/store_access.h"
#include "cli/output/value_text.h"
#include "cli/process/harmless_signal.h"
#include "cli/process/own_program.h"
#include "cli/process/user_unit.h"
#include "cli/verbs/maintenance/retention_options.h"
#include "cli/verbs/verb.h"
#include "client/link/daemon_access.h"
#include "client/link/environment.h"
#include "core/base/clock.h"
#include "core/files/regular_file.h"
#include "core/protocol/daemon_token.h"
#include "core/protocol/host_port.h"
#include "core/protocol/state_folder.h"
#include "daemon/api/own_token.h"
#include "daemon/daemon.h"
#include "daemon/server/systemd.h"
#include "store/profile_folder.h"
#include "store/store_uri.h"
#include "tuner/space/size_text.h"

namespace hocket {
namespace {

struct ServeOptions {
  std::string listen = "127.0.0.1:7077";
  std::string store, token_file, certificate, key, body_limit = "1MiB", log_level = "info";
  std::string traces_url;
  std::vector<std::string> names;
  std::string unit_file;  ///< to write to, for --install; empty: where systemd looks
  bool insecure = false, json_log = false, no_tokens = false, open = false;
  double rate_limit = 0;
  std::int64_t connections = 16'384;
  RetentionOptions retention;
};

/// Raises the limit of open files, because every connection is a file.
void raise_file_limit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string own_token_folder() {
  return state_folder(process_environment("XDG_STATE_HOME").value_or(""),
                      process_environment("HOME").value_or(""));
}

/// Makes the token of the daemon's user, and says where it is.
Result<AccessTokens> own_tokens(std::uint16_t port, const std::string& folder, const Log& log) {
  auto token = open_own_token(folder, port, log);
  if (!token) {
    return failure(
        token.error().in("the daemon's own token (--token-file names others, "
                         "--no-tokens lets everybody in)"));
  }
  log.write(LogLevel::info, "clients need this token", {{"file", daemon_token_path(folder, port)}});
  return AccessTokens::of_owner(std::move(*token));
}

Result<void> choose_tokens(const ServeOptions& options, DaemonOptions& daemon) {
  if (options.no_tokens) return {};
  if (!options.token_file.empty()) {
    auto tokens = AccessTokens::read(options.token_file);
    HOCKET_TRY(tokens);
    daemon.tokens = std::move(*tokens);
    return {};
  }
  const auto folder = own_token_folder();
  if (folder.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "no place for the daemon's token: neither XDG_STATE_HOME nor HOME is set; set "
                   "one, or give --token-file or --no-tokens");
  }
  daemon.make_tokens = [folder, log = daemon.log](std::uint16_t port) {
    return own_tokens(port, folder, log);
  };
  return {};
}

/// Returns which traces the daemon serves at `url`; none if that is empty.
Result<ServedTracesOptions> served_traces(const std::string& url, const std::string& store) {
  if (url.empty()) return ServedTracesOptions();
  const auto address = parse_daemon_address(url);
  if (!address) return failure(address.error().in("--serve-traces"));
  if (!is_postgres_uri(store)) {
    return failure(ErrorCode::invalid_argument,
                   "--serve-traces: the store is a file, so traces are beside it and only this "
                   "host reads them; it is for a store on PostgreSQL");
  }
  const auto folder = own_token_folder();
  if (folder.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "--serve-traces: no place for them: neither XDG_STATE_HOME nor HOME is set");
  }
  return ServedTracesOptions{.folder = served_traces_folder(folder),
                             .url = to_string(*address),
                             .store = shown_store(store)};
}

/// Returns the folders that say where this user's files are.
std::vector<std::string> private_folders(const std::string& store) {
  std::vector<std::string> folders = {own_token_folder()};
  folders.push_back(process_environment("HOME").value_or(""));
  std::error_code error;
  if (!is_postgres_uri(store))
    folders.push_back(std::filesystem::absolute(store, error).parent_path());
  return folders;
}

Result<DaemonOptions> daemon_options(const ServeOptions& options) {
  DaemonOptions daemon;
  const auto level = parse_log_level(options.log_level);
  if (!level) return failure(level.error().in("--log-level"));
  daemon.log = Log({.level = *level, .json = options.json_log});
  const auto address = parse_host_port(options.listen);
  if (!address) return failure(address.error().in("--listen"));
  daemon.server.address = address->host;
  daemon.server.port = address->port;
  daemon.server.insecure = options.insecure;
  if (options.certificate.empty() != options.key.empty()) {
    return failure(ErrorCode::invalid_argument, "--certificate and --key go together");
  }
  if (!options.key.empty()) daemon.server.tls = TlsFiles{options.certificate, options.key};
  const auto body_bytes = parse_size(options.body_limit);
  if (!body_bytes) return failure(body_bytes.error().in("--body-limit"));
  daemon.server.limits.body_bytes = static_cast<std::size_t>(*body_bytes);
  daemon.server.limits.requests_per_second = options.rate_limit;
  daemon.server.limits.connections = static_cast<std::size_t>(options.connections);
  const auto retention = retention_policy(options.retention);
  HOCKET_TRY(retention);
  daemon.retention = *retention;
  HOCKET_TRY(choose_tokens(options, daemon));
  auto path = store_path(options.store);
  HOCKET_TRY(path);
  auto traces = served_traces(options.traces_url, *path);
  HOCKET_TRY(traces);
  daemon.traces = std::move(*traces);
  daemon.hidden_folders = private_folders(*path);
  daemon.store_path = std::move(*path);
  std::vector<std::string> hosts = options.names;
  if (const auto reached = parse_daemon_address(daemon.traces.url)) hosts.push_back(reached->host);
  auto names = HostNames::parse(hosts);
  if (!names) return failure(names.error().in("--name"));
  daemon.server.names = std::move(*names);
  auto inherited = inherited_listeners();
  HOCKET_TRY(inherited);
  daemon.server.listeners = std::move(*inherited);
  return daemon;
}

Result<int> serve(const ServeOptions& options, VerbContext& context) {
  const HarmlessSignal unread_pipe(SIGPIPE);
  auto assembled = daemon_options(options);
  HOCKET_TRY(assembled);
  const Log log = assembled->log;
  const auto store = open_for_writing(options.store);
  HOCKET_TRY(store);
  raise_file_limit();
  const SteadyClock clock;
  const bool tls = assembled->server.tls.has_value();
  const std::string address = assembled->server.address;
  const bool is_any_port = assembled->server.port == 0 && assembled->server.listeners.empty();
  const bool has_own_token = static_cast<bool>(assembled->make_tokens);
  auto daemon = Daemon::create(std::move(*assembled), **store, clock);
  HOCKET_TRY(daemon);
  // Installed before the address is printed, because its reader may send a signal immediately.
  (*daemon)->server().stop_on_signals();
  const std::uint16_t port = (*daemon)->server().port();
  const std::string url = (tls ? "https://" : "http://") + to_string(HostPort{address, port});
  if (!(context.out << url << std::endl)) {
    context.out.clear();
    log.write(LogLevel::warning, "the address could not be written to standard output",
              {{"url", url}});
  }
  if (options.open) {
    // Tokens of a file are their owners', who enter them.
    const auto token = has_own_token ? open_own_token(own_token_folder(), port)
                                     : Result<std::string>(std::string());
    HOCKET_TRY(token);
    context.out << page_address(url, *token) << std::endl;
  }
  (*daemon)->run();
  if (is_any_port && has_own_token) {
    // Nobody finds the daemon on this port again.
    std::remove(daemon_token_path(own_token_folder(), (*daemon)->server().port()).c_str());
  }
  return kDone;
}

/// Returns the options that were given, as they can be given again; without --install.
std::vector<std::string> given_options(const CLI::App& verb) {
  std::vector<std::string> words;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0 || option->check_lname("install")) continue;
    const std::string name = "--" + option->get_lnames().front();
    const bool is_flag = option->get_expected_max() == 0;
    for (const std::string& value : option->results())
      words.push_back(is_flag ? name : name + "=" + value);
  }
  return words;
}

/// Writes the unit of a daemon with these options to `file`, by default where the user's systemd
/// looks for it.
Result<int> install_unit(std::string file, const std::vector<std::string>& options,
                         VerbContext& context) {
  const bool is_usual = file.empty();
  if (is_usual) file = user_unit_path(process_environment);
  if (file.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "--install: neither XDG_CONFIG_HOME nor HOME says where the user's units are; "
                   "name the file");
  }
  const auto program = own_program();
  HOCKET_TRY(program);
  std::error_code error;
  UserUnit unit{.command = {*program, "serve"},
                .variables = user_unit_variables(process_environment),
                .folder = std::filesystem::current_path(error)};
  if (error) {
    return failure(ErrorCode::unavailable,
                   "the present folder cannot be found: " + error.message());
  }
  unit.command.insert(unit.command.end(), options.begin(), options.end());
  const auto text = unit_text(unit);
  HOCKET_TRY(text);
  if (is_usual)
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  HOCKET_TRY(replace_file(file, *text));
  context.out << file << " is written; to start the daemon, now and at each login:\n"
              << "  systemctl --user daemon-reload && systemctl --user enable --now hocket\n"
              << "To have it run while you are not logged in, too: loginctl enable-linger\n";
  return kDone;
}

}  // namespace

void add_serve(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<ServeOptions>();
  auto* verb = program.add_subcommand("serve", "serve configurations to jobs, and tune them");
  verb->add_option("--listen", options->listen, "ADDRESS:PORT")->capture_default_str();
  add_store_option(*verb, options->store);
  verb->add_option("--name", options->names,
                   "a host name or address that clients use for this daemon, besides the address "
                   "that it listens on; repeat it")
      ->allow_extra_args(false);
  auto* token_file =
      verb->add_option("--token-file", options->token_file,
                       "lines `ROLE NAME TOKEN`, mode 0600 (default: one token, made in the "
                       "state folder, where the same user's jobs and verbs find it)")
          ->type_name("FILE");
  verb->add_flag("--no-tokens", options->no_tokens, "everybody who reaches it may do everything")
      ->excludes(token_file);
  verb->add_option("--certificate", options->certificate, "PEM file, for TLS")->type_name("FILE");
  verb->add_option("--key", options->key, "PEM file with the certificate's key")->type_name("FILE");
  verb->add_flag("--insecure", options->insecure,
                 "allow plain text, and --no-tokens, on an address that others reach");
  verb->add_option("--rate-limit", options->rate_limit,
                   "requests a second of one client address, and as many at once; 0: any number")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e9));
  verb->add_option("--body-limit", options->body_limit, "of one request")->capture_default_str();
  verb->add_option("--connections", options->connections, "open at once, at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  verb->add_option("--log-level", options->log_level, "debug, info, warning or error")
      ->type_name("debug|info|warning|error")
      ->capture_default_str();
  verb->add_option("--serve-traces", options->traces_url,
                   "take the traces of jobs whose hosts share no folder, and serve them to other "
                   "hosts, which reach this daemon at this URL")
      ->type_name("http[s]://HOST[:PORT]");
  verb->add_flag("--open", options->open,
                 "print a second line: the address of the page, with the daemon's own token");
  verb->add_flag("--json-log", options->json_log, "log one JSON object a line");
  add_retention_options(*verb, options->retention);
  const auto* install =
      verb->add_option("--install", options->unit_file,
                       "serve nothing now, but write a unit with these options for the user's "
                       "systemd (default: ~/.config/systemd/user/hocket.service); needs no root")
          ->expected(0, 1)
          ->type_name("FILE");
  verb->footer(
      "Prints its address, then serves until it gets SIGINT or SIGTERM.\n"
      "Everything in the store is kept, unless --keep-studies, --keep-audit, --keep-profiles or\n"
      "--max-profile-bytes says otherwise; what these name is removed at the start and every "
      "hour,\n"
      "as `hocket prune` does it once.\n"
      "Examples:\n  hocket serve --store /var/lib/hocket/hocket.db\n"
      "  hocket serve --keep-studies 90d --keep-audit 365d --keep-profiles 200\n"
      "  hocket serve --listen 127.0.0.1:7078 --install\n");
  verb->callback([options, verb, install, &action] {
    if (install->count() == 0) {
      action = [options](VerbContext& c) { return serve(*options, c); };
      return;
    }
    action = [file = options->unit_file, given = given_options(*verb)](VerbContext& c) {
      return install_unit(file, given, c);
    };
  });
}

}  // namespace hocket
