/* Removes what jobs have left, by descriptor and without recursion. Why: ADR 0027. */
#define _GNU_SOURCE
#include "remove-trees.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fatal.h"
#include "kernel.h"

/* Running jobs have priority over the removal. */
#define NICENESS 10
#define FLAGS_IN_THE_WAY (FS_IMMUTABLE_FL | FS_APPEND_FL)

struct removal {
  int top_fd;
  const char *entry; /* of the top directory: the one that is being removed */
  uint64_t moved;    /* directories moved up so far */
  uint64_t changes;  /* in this pass */
  int error;         /* the first one that this entry met; 0 for none */
};

typedef void remove_each(struct removal *removal, int dir_fd, const char *name);

static bool for_each_name(struct removal *removal, int dir_fd, remove_each *each);
static void remove_top_entry(struct removal *removal, int dir_fd, const char *name);
static void report_top_entry(struct removal *removal, int dir_fd, const char *name);
static void remove_entry(struct removal *removal, int dir_fd, const char *name);
static bool take_away(struct removal *removal, int dir_fd, const char *name);
static bool empty_at_top(struct removal *removal, const char *name);
static bool move_up(struct removal *removal, int dir_fd, const char *name);
static void unlock(int dir_fd, const char *name);
static void unlock_opened(int path_fd);
static void clear_flags(int fd);

int remove_trees(const char *dir) {
  struct removal removal = {.top_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (removal.top_fd < 0) fatal("opening %s", dir);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fatal("asking for a death signal");
  (void)setpriority(PRIO_PROCESS, 0, NICENESS);
  // Each pass removes an entry, or moves up a directory, which happens to each only once; so the loop ends.
  do {
    removal.changes = 0;
    if (!for_each_name(&removal, removal.top_fd, remove_top_entry)) fatal("reading %s", dir);
  } while (removal.changes > 0);
  removal.changes = 0;
  if (!for_each_name(&removal, removal.top_fd, report_top_entry)) fatal("reading %s", dir);
  return removal.changes == 0 ? 0 : 1;
}

static bool for_each_name(struct removal *removal, int dir_fd, remove_each *each) {
  int own_fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own_fd < 0) return false;
  DIR *names = fdopendir(own_fd);
  if (names == NULL) fatal("reading a directory");
  const struct dirent *found;
  while ((found = readdir(names)) != NULL) {
    if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0) each(removal, dir_fd, found->d_name);
  }
  return closedir(names) == 0;
}

static void remove_top_entry(struct removal *removal, int dir_fd, const char *name) {
  removal->entry = name;
  removal->error = 0;
  remove_entry(removal, dir_fd, name);
}

/* One more try, to learn the reason; an entry that still exists afterwards counts as left. */
static void report_top_entry(struct removal *removal, int dir_fd, const char *name) {
  uint64_t left = removal->changes;
  struct stat found;
  remove_top_entry(removal, dir_fd, name);
  bool is_gone = fstatat(dir_fd, name, &found, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
  removal->changes = is_gone ? left : left + 1;
  if (!is_gone) (void)printf("%d %s\n", removal->error, name);
}

static void remove_entry(struct removal *removal, int dir_fd, const char *name) {
  for (int tries = 0; tries < 2; tries++) {
    if (take_away(removal, dir_fd, name)) {
      removal->changes++;
      return;
    }
    if (errno == ENOENT) return;
    if (errno != EPERM && errno != EACCES) break;
    if (tries == 0) unlock(dir_fd, name);
  }
  if (removal->error == 0) removal->error = errno;
}

/* A file or an empty directory is removed; a directory with entries is moved up and emptied there later. */
static bool take_away(struct removal *removal, int dir_fd, const char *name) {
  if (unlinkat(dir_fd, name, 0) == 0) return true;
  if (errno != EISDIR) return false;
  if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0) return true;
  if (errno != ENOTEMPTY && errno != EEXIST) return false;
  if (dir_fd != removal->top_fd) return move_up(removal, dir_fd, name);
  return empty_at_top(removal, name) && unlinkat(dir_fd, name, AT_REMOVEDIR) == 0;
}

static bool empty_at_top(struct removal *removal, const char *name) {
  uint64_t flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  int fd = kernel_open_beneath(removal->top_fd, name, flags, 0, KERNEL_RESOLVE_NO_XDEV);
  if (fd < 0) return false;
  bool is_read = for_each_name(removal, fd, remove_entry);
  int error = errno;
  (void)close(fd);
  errno = error;
  return is_read;
}

/* Its new name begins like that of its top entry, so that an operator can tell which job made it. */
static bool move_up(struct removal *removal, int dir_fd, const char *name) {
  char target[NAME_MAX + 1];
  int known = (int)strcspn(removal->entry, "~");
  (void)snprintf(target, sizeof target, "%.*s~%d-%llu", known > 200 ? 200 : known, removal->entry, (int)getpid(),
                 (unsigned long long)removal->moved++);
  return syscall(SYS_renameat2, dir_fd, name, removal->top_fd, target, RENAME_NOREPLACE) == 0;
}

/* Removes obstacles that an owner may have set: attributes of the entry or of its directory, and modes of both. */
static void unlock(int dir_fd, const char *name) {
  clear_flags(dir_fd);
  if (geteuid() != 0) (void)fchmod(dir_fd, 0700);
  // Never a mount point: its content does not belong to the job.
  int path_fd = kernel_open_beneath(dir_fd, name, O_PATH | O_NOFOLLOW, 0, KERNEL_RESOLVE_NO_XDEV);
  if (path_fd < 0) return;
  unlock_opened(path_fd);
  (void)close(path_fd);
}

static void unlock_opened(int path_fd) {
  char path[64];
  struct stat found;
  if (fstat(path_fd, &found) != 0 || (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))) return;
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd);
  // A file may have names elsewhere, and none of them needs another mode.
  if (S_ISDIR(found.st_mode)) (void)chmod(path, 0700);
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  clear_flags(fd);
  (void)close(fd);
}

/* File systems without such attributes refuse the call, and then attributes are not the obstacle. */
static void clear_flags(int fd) {
  unsigned flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0 || (flags & FLAGS_IN_THE_WAY) == 0) return;
  flags &= ~(unsigned)FLAGS_IN_THE_WAY;
  (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}
