// SPDX-License-Identifier: Apache-2.0
/*
 * refused FILE VALUE...: writes each value to a sysctl's file; each must fail
 * with EINVAL and leave the old value.  A shell's echo does not say the reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_value(const char* file, char* value, size_t size) {
  int fd = open(file, O_RDONLY);
  ssize_t n = fd < 0 ? -1 : read(fd, value, size - 1);

  if (n < 0) {
    fprintf(stderr, "refused: %s: %s\n", file, strerror(errno));
    exit(1);
  }
  value[n] = '\0';
  close(fd);
}

static int try_value(const char* file, const char* value) {
  char before[32], after[32];

  read_value(file, before, sizeof before);
  int fd = open(file, O_WRONLY);
  if (fd < 0 || write(fd, value, strlen(value)) >= 0 || errno != EINVAL) {
    fprintf(stderr, "refused: %s took '%s', or another error than EINVAL: %s\n", file, value,
            strerror(errno));
    return 1;
  }
  close(fd);
  read_value(file, after, sizeof after);
  if (strcmp(before, after)) {
    fprintf(stderr, "refused: %s changed from %s to %s by '%s'\n", file, before, after, value);
    return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  int failed = argc < 3;

  for (int i = 2; i < argc; i++) failed |= try_value(argv[1], argv[i]);
  return failed;
}
