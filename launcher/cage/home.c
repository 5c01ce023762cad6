#define _GNU_SOURCE
#include "cage/home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fatal.h"
#include "kernel.h"

static bool give_home(const struct plan *plan);
static bool make_entries(int home_fd, const struct plan *plan);
static bool make_entry(int home_fd, const struct home_step *step);
static bool write_content(int fd, const struct home_step *step);
static void parent_of(const char *path, char *parent);
static bool remove_entries(int home_fd, const struct home *home);
static bool remove_entry(int home_fd, const char *path, bool is_directory);
static bool is_gone(int result);

void home_note(struct home *home, const struct plan *plan) {
  if (plan->home == NULL) return;
  size_t bytes = strlen(plan->home) + 1;
  for (size_t i = 0; i < plan->home_steps_count; i++) bytes += strlen(plan->home_steps[i].path) + 1;
  char *place = home->memory = malloc(bytes);
  if (place == NULL) fatal("no memory for the names of a home");
  home->path = place;
  place = stpcpy(place, plan->home) + 1;
  for (size_t i = 0; i < plan->home_steps_count; i++) {
    home->entries[i].path = place;
    home->entries[i].is_directory = plan->home_steps[i].kind == HOME_DIRECTORY;
    place = stpcpy(place, plan->home_steps[i].path) + 1;
  }
  home->entries_count = plan->home_steps_count;
}

void home_forget(struct home *home) {
  free(home->memory);
  home->memory = NULL;
  home->path = NULL;
}

bool make_home(const struct plan *plan, struct failure *failure) {
  if (mkdir(plan->home, 0700) != 0) return fail(failure, STEP_HOME, "making %s", plan->home);
  int home_fd = open(plan->home, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (home_fd < 0) return fail(failure, STEP_HOME, "opening %s", plan->home);
  bool is_made = (make_entries(home_fd, plan) && give_home(plan)) || fail(failure, STEP_HOME, "filling %s", plan->home);
  if (close(home_fd) != 0 && is_made) return fail(failure, STEP_HOME, "closing %s", plan->home);
  return is_made;
}

/* Last, so that the job's user cannot reach it while it is filled. */
static bool give_home(const struct plan *plan) {
  return !plan_asks(plan, PROTECT_IDS) || lchown(plan->home, plan->uid, plan->gid) == 0;
}

static bool make_entries(int home_fd, const struct plan *plan) {
  for (size_t i = 0; i < plan->home_steps_count; i++) {
    const struct home_step *step = &plan->home_steps[i];
    if (!make_entry(home_fd, step)) return false;
    if (plan_asks(plan, PROTECT_IDS) && fchownat(home_fd, step->path, plan->uid, plan->gid, AT_SYMLINK_NOFOLLOW) != 0) {
      return false;
    }
  }
  return true;
}

static bool make_entry(int home_fd, const struct home_step *step) {
  if (step->kind == HOME_DIRECTORY) return mkdirat(home_fd, step->path, 0700) == 0;
  int fd = openat(home_fd, step->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool is_written = write_content(fd, step);
  int error = errno;
  bool is_closed = close(fd) == 0;
  if (!is_written) errno = error;
  return is_written && is_closed;
}

static bool write_content(int fd, const struct home_step *step) {
  for (size_t done = 0; done < step->content_bytes;) {
    ssize_t put = write(fd, step->content + done, step->content_bytes - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    done += (size_t)put;
  }
  return true;
}

bool remove_home(const struct home *home) {
  int home_fd = open(home->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (home_fd < 0) return false;
  bool is_empty = remove_entries(home_fd, home);
  if (close(home_fd) != 0) fatal("closing a home");
  return is_empty && rmdir(home->path) == 0;
}

static bool remove_entries(int home_fd, const struct home *home) {
  for (size_t i = home->entries_count; i > 0; i--) {
    if (!remove_entry(home_fd, home->entries[i - 1].path, home->entries[i - 1].is_directory)) return false;
  }
  return true;
}

/* The directories on the way belong to the job, which may have replaced them by links. */
static bool remove_entry(int home_fd, const char *path, bool is_directory) {
  int flags = is_directory ? AT_REMOVEDIR : 0;
  const char *slash = strrchr(path, '/');
  char parent[PATH_BYTES_MAX + 1];
  if (slash == NULL) return is_gone(unlinkat(home_fd, path, flags));
  parent_of(path, parent);
  int parent_fd = kernel_open_beneath(home_fd, parent, O_PATH | O_DIRECTORY, 0, KERNEL_RESOLVE_NO_XDEV);
  if (parent_fd < 0) return is_gone(-1);
  bool is_removed = is_gone(unlinkat(parent_fd, slash + 1, flags));
  if (close(parent_fd) != 0) fatal("closing a directory of a home");
  return is_removed;
}

static void parent_of(const char *path, char *parent) {
  size_t bytes = (size_t)(strrchr(path, '/') - path);
  memcpy(parent, path, bytes);
  parent[bytes] = '\0';
}

/* A job may remove its own files itself. */
static bool is_gone(int result) { return result == 0 || errno == ENOENT; }
