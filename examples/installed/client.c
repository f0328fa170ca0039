/* The C library of an installed hocket. Prints:

     configuration from default

   Without CMake: cc client.c $(pkg-config --cflags --libs hocket-client) */

#include <hocket/hocket_client.h>
#include <hocket/hocket_schedule.h>
#include <stdio.h>

int main(void) {
  const hocket_tensor tensors[] = {{"weights", 1 << 20}};
  const hocket_client_options options = {.size = sizeof(options),
                                         .world_size = 1,
                                         .link = "local",
                                         .workload_name = "installed",
                                         .tensors = tensors,
                                         .tensor_count = 1};
  hocket_client* client = hocket_client_open(&options);
  if (client == NULL || hocket_client_abi() != HOCKET_CLIENT_ABI) {
    fprintf(stderr, "on_client_c: %s\n", hocket_error());
    return 1;
  }
  printf("configuration from %s\n", hocket_client_source(client));
  hocket_client_close(client);
  return 0;
}
