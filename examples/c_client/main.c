/* A minimal job in C that hocket tunes: two ranks, each a process. It fetches its configuration,
   "trains" with it, reports the time of each iteration, and changes the configuration on both ranks
   when the daemon has a better one.

     bin/c_client                                               the default
     HOCKET_DAEMON=http://127.0.0.1:7077 bin/c_client 100000    tuned while it trains
     bin/hocket tune --trials 5 -- bin/c_client                 tuned by a sweep

   Prints:

     configuration from default (no store was given)
     rank 0 ran 20 steps, the last one with partition 4194304 B
     rank 1 ran 20 steps, the last one with partition 4194304 B */

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capi/hocket_client.h"

enum { kRanks = 2, kSteps = 20, kTensors = 2, kBlockBytes = 1 << 20, kConfigBytes = 4096 };

static const hocket_tensor tensors[kTensors] = {{"embedding", 4 << 20}, {"block", 16 << 20}};
static const char* const knobs[] = {"partition_bytes", "credit_bytes"};

static void warn(const char* message, void* context) {
  (void)context;
  fprintf(stderr, "c_client: warning: %s\n", message);
}

static void say(const char* line, void* context) {
  (void)context;
  printf("%s\n", line);
}

static bool failed(void) {
  fprintf(stderr, "c_client: %s\n", hocket_error());
  return false;
}

static bool send_all(int peer, const void* bytes, size_t count) {
  for (const char* at = bytes; count > 0;) {
    const ssize_t sent = write(peer, at, count);
    if (sent <= 0) return false;
    at += sent;
    count -= (size_t)sent;
  }
  return true;
}

static bool receive_all(int peer, void* bytes, size_t count) {
  for (char* at = bytes; count > 0;) {
    const ssize_t received = read(peer, at, count);
    if (received <= 0) return false;
    at += received;
    count -= (size_t)received;
  }
  return true;
}

/* The job's collective. A ballot is short enough for the socket's buffer, so both ranks may send
   before they receive. */
static bool all_reduce(int peer, float* values, float* others, size_t count) {
  if (!send_all(peer, values, count * sizeof *values)) return false;
  if (!receive_all(peer, others, count * sizeof *others)) return false;
  for (size_t i = 0; i < count; ++i) values[i] += others[i];
  return true;
}

/* Simulates a training step: writes the gradients, one partition at a time. */
static void compute(int64_t partition_bytes) {
  static unsigned char gradient[kBlockBytes];
  for (int i = 0; i < kTensors; ++i) {
    int64_t left = tensors[i].bytes;
    while (left > 0) {
      int64_t part = left < partition_bytes ? left : partition_bytes;
      if (part > kBlockBytes) part = kBlockBytes;
      memset(gradient, (int)(left & 0xff), (size_t)part);
      left -= part;
    }
  }
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Opens this rank's client. Rank 0 fetches the configuration and sends it to the other rank. */
static hocket_client* open_client(int rank, int peer) {
  char config[kConfigBytes] = "";
  if (rank > 0 && !receive_all(peer, config, sizeof config)) return NULL;
  config[kConfigBytes - 1] = '\0';
  hocket_client_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.world_size = kRanks;
  options.rank = rank;
  options.config_json = config;
  options.workload_name = "c_client";
  options.tensors = tensors;
  options.tensor_count = kTensors;
  options.knobs = knobs;
  options.knob_count = sizeof knobs / sizeof *knobs;
  options.explore = 0.03;
  options.warn = warn;
  options.say = say;
  hocket_client* client = hocket_client_open(&options);
  if (client == NULL) {
    failed();
  } else if (rank == 0) {
    printf("configuration from %s (%s)\n", hocket_client_source(client),
           hocket_client_detail(client));
    fflush(stdout);
    snprintf(config, sizeof config, "%s", hocket_client_config(client));
    send_all(peer, config, sizeof config);
  }
  return client;
}

static bool train(hocket_client* client, int rank, int peer, int64_t steps) {
  const size_t count = hocket_ballot_size(client);
  float* ballot = calloc(2 * count, sizeof *ballot);
  if (ballot == NULL) return false;
  int64_t partition_bytes = 0;
  bool ok =
      hocket_config_get(hocket_client_config(client), "partition_bytes", &partition_bytes) == 0;
  for (int64_t step = 0; ok && step < steps; ++step) {
    const int64_t begin_ns = now_ns();
    compute(partition_bytes);
    ok = hocket_ballot_fill(client, ballot) == 0 &&
         all_reduce(peer, ballot, ballot + count, count) &&
         hocket_ballot_read(client, ballot) == 0 &&
         hocket_iteration(client, step, now_ns() - begin_ns + 1) == 0;
    if (!ok) break;
    const int changed = hocket_step_ended(client);
    ok = changed >= 0;
    if (changed == 1)
      hocket_config_get(hocket_client_config(client), "partition_bytes", &partition_bytes);
  }
  free(ballot);
  if (!ok) return failed();
  printf("rank %d ran %" PRId64 " steps, the last one with partition %" PRId64 " B\n", rank, steps,
         partition_bytes);
  fflush(stdout);
  return true;
}

static int run(int rank, int peer, int64_t steps) {
  hocket_client* client = open_client(rank, peer);
  if (client == NULL) return 2;
  const bool trained = train(client, rank, peer, steps);
  if (hocket_client_close(client) != 0) return failed() ? 0 : 1;
  return trained ? 0 : 1;
}

int main(int argc, char** argv) {
  const int64_t steps = argc > 1 ? strtoll(argv[1], NULL, 10) : kSteps;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  const pid_t child = fork();
  if (child < 0) return 1;
  const int rank = child == 0 ? 1 : 0;
  close(ends[1 - rank]);
  const int status = run(rank, ends[rank], steps);
  close(ends[rank]);
  int other = 0;
  if (rank == 0 && waitpid(child, &other, 0) == child && status == 0 && other != 0) return 1;
  return status;
}
