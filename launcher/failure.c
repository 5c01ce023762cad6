#define _GNU_SOURCE
#include "failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

bool fail(struct failure *failure, const char *step, const char *format, ...) {
  failure->error = errno;
  (void)snprintf(failure->step, sizeof failure->step, "%s", step);

  va_list args;
  va_start(args, format);
  // A message that is too long is cut: it is for people, while programs use the step and the number.
  (void)vsnprintf(failure->message, sizeof failure->message, format, args);
  va_end(args);
  return false;
}
