// SPDX-License-Identifier: Apache-2.0
/*
 * A tun device whose other end is this host again: sends each IPv4 packet back
 * with its addresses exchanged, so that 10.9.0.1 reaches its own listeners at
 * 10.9.0.2.
 *
 *   mirror DEVICE
 *
 * Makes the device, prints "ready", runs until it is ended.
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char** argv) {
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  unsigned char packet[65536], address[4];
  int fd = open("/dev/net/tun", O_RDWR);
  ssize_t n;

  if (argc != 2) {
    fprintf(stderr, "usage: mirror DEVICE\n");
    return 2;
  }
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", argv[1]);
  if (fd < 0 || ioctl(fd, TUNSETIFF, &request)) {
    perror("mirror: /dev/net/tun");
    return 1;
  }
  puts("ready");
  fflush(stdout);
  while ((n = read(fd, packet, sizeof packet)) > 0) {
    if (packet[0] >> 4 != 4) continue;
    memcpy(address, packet + 12, 4);
    memcpy(packet + 12, packet + 16, 4);
    memcpy(packet + 16, address, 4);
    if (write(fd, packet, (size_t)n) < 0) perror("mirror: write");
  }
  return 0;
}
