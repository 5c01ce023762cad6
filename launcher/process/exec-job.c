#define _GNU_SOURCE
#include "process/exec-job.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"

static bool exec_in_path(const struct plan *plan, const char *path, struct failure *failure);
static const char *path_of(const struct plan *plan);
static bool may_be_elsewhere(int error);

bool exec_job(const struct plan *plan, struct failure *failure) {
  const char *command = plan->argv[0];
  if (strchr(command, '/') == NULL) return exec_in_path(plan, path_of(plan), failure);
  (void)execve(command, plan->argv, plan->env);
  return fail(failure, STEP_EXEC, "%s", command);
}

/* Unlike execvp it never falls back to a shell, and an empty entry of PATH does not mean the cwd. */
static bool exec_in_path(const struct plan *plan, const char *path, struct failure *failure) {
  const char *command = plan->argv[0];
  size_t command_bytes = strlen(command);
  char file[PATH_BYTES_MAX + 1];
  int error = ENOENT;
  while (*path != '\0') {
    size_t length = strcspn(path, ":");
    if (length > 0 && length + 1 + command_bytes < sizeof file) {
      memcpy(file, path, length);
      file[length] = '/';
      memcpy(file + length + 1, command, command_bytes + 1);
      (void)execve(file, plan->argv, plan->env);
      // A file that may not be executed is a better reason than a missing one.
      if (errno == EACCES) error = EACCES;
      if (!may_be_elsewhere(errno)) return fail(failure, STEP_EXEC, "%s", file);
    }
    path += length + (path[length] == ':');
  }
  errno = error;
  return fail(failure, STEP_EXEC, "%s is not in PATH", command);
}

static const char *path_of(const struct plan *plan) {
  for (char **entry = plan->env; *entry != NULL; entry++) {
    if (strncmp(*entry, "PATH=", 5) == 0) return *entry + 5;
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

static bool may_be_elsewhere(int error) { return error == ENOENT || error == ENOTDIR || error == EACCES; }
