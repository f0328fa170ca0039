// hocket param-server: one parameter server of a job.

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <thread>

#include "cli/process/harmless_signal.h"
#include "cli/process/interrupt.h"
#include "cli/verbs/verb.h"
#include "client/link/environment.h"
#include "core/base/plain_text.h"
#include "core/greeting/rendezvous_secret.h"
#include "core/protocol/host_port.h"
#include "core/protocol/ip_address.h"
#include "core/protocol/secret.h"
#include "core/servers/parameter_server.h"
#include "tuner/space/size_text.h"
#include "tuner/trial/cancel.h"

namespace hocket {
namespace {

struct ParamServerOptions {
  std::string listen = "127.0.0.1:0", memory = "8GiB";
  int ranks = 0, server = 0, servers = 1;
  bool insecure = false;
};

Result<ParameterServerOptions> server_options(const ParamServerOptions& options) {
  const auto address = parse_host_port(options.listen);
  if (!address) return failure(address.error().in("--listen"));
  const auto memory = parse_size(options.memory);
  if (!memory) return failure(memory.error().in("--memory"));
  std::string secret = process_environment(kRendezvousSecretVariable).value_or("");
  if (!secret.empty()) {
    const auto ok = check_secret(secret);
    if (!ok) return failure(ok.error().in(kRendezvousSecretVariable));
  }
  if (secret.empty() && !options.insecure && !is_loopback_host(address->host)) {
    return failure(ErrorCode::invalid_argument,
                   "--listen: whoever reaches " + options.listen +
                       " could be a rank of the job; set " + kRendezvousSecretVariable +
                       " to the same secret here and for the ranks, or give --insecure");
  }
  return ParameterServerOptions{.host = address->host,
                                .port = address->port,
                                .ranks = options.ranks,
                                .server = options.server,
                                .servers = options.servers,
                                .secret = std::move(secret),
                                .limit_bytes = static_cast<std::size_t>(*memory)};
}

Result<int> serve_parameters(const ParamServerOptions& options, VerbContext& context) {
  const HarmlessSignal unread_pipe(SIGPIPE);
  const auto settings = server_options(options);
  HOCKET_TRY(settings);
  // Installed before the address is printed, because its reader may send a signal immediately.
  CancelToken interrupted, ended;
  const InterruptGuard guard(interrupted);
  const auto server = ParameterServer::listen(*settings);
  HOCKET_TRY(server);
  const std::string address = to_string(HostPort{settings->host, (*server)->port()});
  if (!(context.out << address << std::endl)) {
    context.out.clear();
    context.err << "hocket: warning: the address " << address
                << " could not be written to standard output" << std::endl;
  }
  Result<void> served;
  {
    const std::jthread stopper([&] {
      wait_for_either(interrupted, ended);
      if (interrupted.cancelled()) (*server)->stop();
    });
    served = (*server)->wait();
    ended.cancel();
  }
  // The ranks have failed, not the server, and say so themselves.
  if (!served && !interrupted.cancelled())
    context.err << plain_line("hocket: " + served.error().message) << std::endl;
  return kDone;
}

}  // namespace

void add_param_server(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<ParamServerOptions>();
  auto* verb = program.add_subcommand("param-server",
                                      "sum the gradients of a job, for "
                                      "communication=parameter_server");
  verb->add_option("--listen", options->listen, "ADDRESS:PORT; port 0: any that is free")
      ->capture_default_str();
  verb->add_option("--ranks", options->ranks, "of the job")
      ->required()
      ->check(CLI::Range(1, 1 << 20));
  verb->add_option("--server", options->server, "number of this server, from 0")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 16));
  verb->add_option("--servers", options->servers, "how many servers the job has")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 16));
  verb->add_option("--memory", options->memory,
                   "limit of the sums in progress and of the optimiser's state")
      ->capture_default_str();
  verb->add_flag("--insecure", options->insecure,
                 "allow an address that others reach without a secret");
  verb->footer(
      "Prints its address, then serves until all ranks have ended, or until it gets SIGINT or\n"
      "SIGTERM. Ranks know one another by HOCKET_RENDEZVOUS_SECRET, and find the servers by\n"
      "HOCKET_SERVERS, their addresses in order, with commas between. On one host `hocket run\n"
      "--servers` starts both.\n"
      "Example:\n"
      "  hocket param-server --listen 10.0.0.5:7100 --ranks 8 --server 0 --servers 2\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return serve_parameters(*options, c); };
  });
}

}  // namespace hocket
