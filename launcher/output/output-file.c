#define _GNU_SOURCE
#include "output/output-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "protocol.h"

/* More than the other attempts of one job. */
#define TRIES_MAX 16

static bool make_directory(const char *path);
static bool parent_of(const char *path, char *parent);

int make_output_file(const char *path) {
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int make_output_file_and_way(const char *path) {
  char attempt[PATH_BYTES_MAX + 1], job[PATH_BYTES_MAX + 1];
  int fd = make_output_file(path);
  if (fd >= 0 || errno != ENOENT || !parent_of(path, attempt) || !parent_of(attempt, job)) return fd;
  for (int tries = 0; tries < TRIES_MAX; tries++) {
    if (!make_directory(job)) return -1;
    // Another attempt of the job may remove the upper one at its end, even now.
    if (!make_directory(attempt) && errno != ENOENT) return -1;
    fd = make_output_file(path);
    if (fd >= 0 || errno != ENOENT) return fd;
  }
  return -1;
}

static bool make_directory(const char *path) { return mkdir(path, 0700) == 0 || errno == EEXIST; }

/* False when there is no directory above it but the root. */
static bool parent_of(const char *path, char *parent) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL || slash == path) return false;
  memcpy(parent, path, (size_t)(slash - path));
  parent[slash - path] = '\0';
  return true;
}
