#define _GNU_SOURCE
#include "give-away.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What a worker puts into a fresh directory is a handful of files in one or two folders. More means it is not fresh. */
#define ENTRIES_MAX 10000
#define DEPTH_MAX 8

struct gift {
  uid_t uid;
  gid_t gid;
  int left;
};

static bool give_open(int directory_fd, int depth, struct gift *gift);
static bool give_entries(DIR *entries, int depth, struct gift *gift);
static bool give_entry(int directory_fd, const struct dirent *entry, int depth, struct gift *gift);

bool give_away(const char *directory, uid_t uid, gid_t gid, struct failure *failure) {
  struct gift gift = {.uid = uid, .gid = gid, .left = ENTRIES_MAX};
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return (fd >= 0 && give_open(fd, 0, &gift)) || fail(failure, STEP_GIVE, "giving %s to the job", directory);
}

/* Takes over the descriptor. */
static bool give_open(int directory_fd, int depth, struct gift *gift) {
  errno = E2BIG;
  DIR *entries = depth < DEPTH_MAX && fchown(directory_fd, gift->uid, gift->gid) == 0 ? fdopendir(directory_fd) : NULL;
  if (entries == NULL) {
    int error = errno;
    (void)close(directory_fd);
    errno = error;
    return false;
  }
  bool is_given = give_entries(entries, depth, gift);
  int error = errno;
  bool is_closed = closedir(entries) == 0;
  if (!is_given) errno = error;
  return is_given && is_closed;
}

static bool give_entries(DIR *entries, int depth, struct gift *gift) {
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(entries);
    if (entry == NULL) return errno == 0;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    errno = E2BIG;
    if (gift->left-- == 0) return false;
    if (!give_entry(dirfd(entries), entry, depth, gift)) return false;
  }
}

static bool give_entry(int directory_fd, const struct dirent *entry, int depth, struct gift *gift) {
  const char *name = entry->d_name;
  if (entry->d_type != DT_DIR) return fchownat(directory_fd, name, gift->uid, gift->gid, AT_SYMLINK_NOFOLLOW) == 0;
  int fd = openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return fd >= 0 && give_open(fd, depth + 1, gift);
}
