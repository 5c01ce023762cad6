#define _GNU_SOURCE
#include "fatal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void fatal(const char *format, ...) {
  int error = errno;
  va_list args;
  va_start(args, format);
  (void)fputs("writ-launcher: ", stderr);
  (void)vfprintf(stderr, format, args);
  va_end(args);
  (void)fprintf(stderr, " (last error: %s)\n", strerror(error));
  _exit(3);
}
