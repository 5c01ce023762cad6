#define _GNU_SOURCE
#include "cage/give-away.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A worker puts a handful of files in one or two folders into a fresh directory. More means that it is not fresh. */
#define ENTRIES_MAX 10000
#define DEPTH_MAX 8
/* A few dozen names at once; one lies on the stack for each level. */
#define NAMES_BYTES 4096

struct gift {
  uid_t uid;
  gid_t gid;
  int left;
};

static bool give_open(int directory_fd, int depth, struct gift *gift);
static bool give_names(int directory_fd, const char *names, long bytes, int depth, struct gift *gift);
static bool give_entry(int directory_fd, const struct dirent64 *entry, int depth, struct gift *gift);
static bool give_folder(int directory_fd, const char *name, int depth, struct gift *gift);

bool give_away(const char *directory, uid_t uid, gid_t gid, struct failure *failure) {
  struct gift gift = {.uid = uid, .gid = gid, .left = ENTRIES_MAX};
  return give_folder(AT_FDCWD, directory, 0, &gift) || fail(failure, STEP_GIVE, "giving %s to the job", directory);
}

static bool give_folder(int directory_fd, const char *name, int depth, struct gift *gift) {
  errno = E2BIG;
  if (depth == DEPTH_MAX) return false;
  int fd = openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  bool is_given = give_open(fd, depth, gift);
  int error = errno;
  bool is_closed = close(fd) == 0;
  if (!is_given) errno = error;
  return is_given && is_closed;
}

/* Uses the kernel's call: the C library's would take 32 KiB of fresh memory in each cage. */
static bool give_open(int directory_fd, int depth, struct gift *gift) {
  _Alignas(struct dirent64) char names[NAMES_BYTES];
  if (fchown(directory_fd, gift->uid, gift->gid) != 0) return false;
  for (;;) {
    long bytes = syscall(SYS_getdents64, directory_fd, names, sizeof names);
    if (bytes <= 0) return bytes == 0;
    if (!give_names(directory_fd, names, bytes, depth, gift)) return false;
  }
}

static bool give_names(int directory_fd, const char *names, long bytes, int depth, struct gift *gift) {
  for (long at = 0; at < bytes;) {
    const struct dirent64 *entry = (const struct dirent64 *)(const void *)(names + at);
    if (!give_entry(directory_fd, entry, depth, gift)) return false;
    at += entry->d_reclen;
  }
  return true;
}

static bool give_entry(int directory_fd, const struct dirent64 *entry, int depth, struct gift *gift) {
  const char *name = entry->d_name;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return true;
  errno = E2BIG;
  if (gift->left-- == 0) return false;
  if (entry->d_type == DT_DIR) return give_folder(directory_fd, name, depth + 1, gift);
  return fchownat(directory_fd, name, gift->uid, gift->gid, AT_SYMLINK_NOFOLLOW) == 0;
}
