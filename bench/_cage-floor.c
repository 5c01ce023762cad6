/*
 * What the kernel takes for a caged start: the calls that a cage is made of, one after the other, for /bin/true and
 * with so many cages under way at once. There is no worker, no plan, no socket and no check here, so nothing that
 * makes these calls is faster. Usage: cage-floor SECONDS IN_FLIGHT DIRECTORY CGROUP ("" where there is none)
 * Why: ADR 0015.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../launcher/kernel.h"
#include "../launcher/rights/privileges.h"
#include "../launcher/rights/seccomp-filter.h"

#define IN_FLIGHT_MAX 64
#define NOBODY 65534u

struct cage {
  pid_t pid;
  unsigned number;
  int cgroup_fd, report_fd, outputs[2], files[2];
};

/* The ends that belong to the cage. */
struct ends {
  char work[256];
  int report_fd, outputs[2];
};

static const char *root_dir, *cgroup_dir;
static int template_fd;
static const struct sock_fprog *filter;

static void must(bool is_done, const char *what) {
  if (is_done) return;
  perror(what);
  _exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void attach(int mount_fd, const char *target) {
  int point_fd = open(target, O_PATH | O_CLOEXEC);
  must(point_fd >= 0 && kernel_move_mount(mount_fd, point_fd) == 0, target);
  must(close(point_fd) == 0 && close(mount_fd) == 0, target);
}

static void bind_read_only(const char *source, const char *target) {
  struct stat info;
  if (stat(source, &info) != 0) return;
  if (S_ISDIR(info.st_mode)) must(mkdir(target, 0755) == 0, target);
  else must(close(open(target, O_WRONLY | O_CREAT, 0444)) == 0, target);
  int tree = kernel_open_tree(source, KERNEL_OPEN_TREE_CLONE | KERNEL_AT_RECURSIVE);
  unsigned attributes = KERNEL_MOUNT_ATTR_RDONLY | KERNEL_MOUNT_ATTR_NOSUID | KERNEL_MOUNT_ATTR_NODEV;
  must(kernel_add_mount_attributes(tree, KERNEL_AT_RECURSIVE, attributes) == 0, source);
  attach(tree, target);
}

/* Once for all cages, in a namespace of its own. */
static void build_template(void) {
  static const char *const dirs[] = {"etc", "dev", "proc", "tmp", "work"};
  static const char *const programs[] = {"usr", "opt"};
  static const char *const links[] = {"bin", "sbin", "lib", "lib64"};
  static const char *const etc[] = {"hosts",        "resolv.conf", "nsswitch.conf", "ssl", "ca-certificates",
                                    "alternatives", "localtime",   "ld.so.cache"};
  char source[64], target[64];
  must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
  must(mount("tmpfs", root_dir, "tmpfs", MS_NOSUID | MS_NODEV, "size=16m") == 0 && chdir(root_dir) == 0, "root");
  for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) must(mkdir(dirs[i], 0755) == 0, dirs[i]);
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    (void)snprintf(source, sizeof source, "/%s", programs[i]);
    bind_read_only(source, programs[i]);
  }
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
    (void)snprintf(source, sizeof source, "/%s", links[i]);
    ssize_t length = readlink(source, target, sizeof target - 1);
    if (length < 0) bind_read_only(source, links[i]);
    else target[length] = '\0';
    must(length < 0 || symlink(target, links[i]) == 0, links[i]);
  }
  for (size_t i = 0; i < sizeof etc / sizeof *etc; i++) {
    (void)snprintf(source, sizeof source, "/etc/%s", etc[i]);
    bind_read_only(source, source + 1);
  }
  must(mount("tmpfs", "dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,mode=0755") == 0, "dev");
  must(mknod("dev/null", S_IFCHR | 0666, makedev(1, 3)) == 0 && chmod("dev/null", 0666) == 0, "dev/null");
  must(syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0, "pivot_root");
}

static void open_template(void) {
  int ready[2];
  char path[64], byte;
  must(pipe2(ready, O_CLOEXEC) == 0, "pipe");
  pid_t builder = kernel_fork(CLONE_NEWNS, -1);
  must(builder >= 0, "builder");
  if (builder == 0) {
    build_template();
    must(write(ready[1], "", 1) == 1, "builder");
    pause();
  }
  must(close(ready[1]) == 0 && read(ready[0], &byte, 1) == 1, "template");
  (void)snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)builder);
  template_fd = open(path, O_RDONLY | O_CLOEXEC);
  must(template_fd >= 0 && kill(builder, SIGKILL) == 0 && waitpid(builder, NULL, 0) == builder, "template");
}

static int run_job(void *argument) {
  const struct ends *ends = argument;
  struct rlimit files = {1024, 1024}, core = {0, 0};
  struct failure failure;
  char *argv[] = {"/bin/true", NULL}, *env[] = {"PATH=/usr/bin:/bin", "HOME=/tmp", NULL};
  must(setsid() >= 0, "setsid");
  must(dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0) == 0, "stdin");
  must(dup2(ends->outputs[0], 1) == 1 && dup2(ends->outputs[1], 2) == 2, "stdout and stderr");
  must(kernel_close_range(3, ~0u) == 0, "close_range");
  must(setrlimit(RLIMIT_NOFILE, &files) == 0 && setrlimit(RLIMIT_CORE, &core) == 0, "rlimits");
  must(change_ids(NOBODY, NOBODY, &failure) && drop_capabilities(&failure), "ids and capabilities");
  must(forbid_new_privileges(&failure) && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "prctl");
  must(chdir("/work") == 0, "cwd");
  must(install_filter(filter, &failure), "seccomp");
  (void)execve(argv[0], argv, env);
  must(false, argv[0]);
  return 1;
}

/* The first process of a cage. */
static void run_cage(struct ends *ends) {
  static _Alignas(16) char stack[16384];
  int wait_status;
  char report[64] = {0};
  must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "death signal");
  int work = kernel_open_tree(ends->work, KERNEL_OPEN_TREE_CLONE | KERNEL_AT_RECURSIVE);
  must(kernel_add_mount_attributes(work, 0, KERNEL_MOUNT_ATTR_NOSUID | KERNEL_MOUNT_ATTR_NODEV) == 0, "work");
  must(setns(template_fd, CLONE_NEWNS) == 0, "setns");
  must(unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) == 0, "unshare");
  must(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "hidepid=2") == 0, "proc");
  must(mount("/dev/null", "proc/keys", NULL, MS_BIND, NULL) == 0 || errno == ENOENT, "keys");
  must(mount("/dev/null", "proc/key-users", NULL, MS_BIND, NULL) == 0 || errno == ENOENT, "key-users");
  must(mount("tmpfs", "tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=256m,mode=1777") == 0, "tmp");
  attach(work, "work");
  must(sethostname("cage", 4) == 0, "hostname");
  pid_t job = clone(run_job, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, ends);
  must(job > 0 && write(ends->report_fd, report, sizeof report) == sizeof report, "start");
  must(close(ends->outputs[0]) == 0 && close(ends->outputs[1]) == 0, "outputs");
  must(waitpid(job, &wait_status, 0) == job && wait_status == 0, "/bin/true");
  must(write(ends->report_fd, report, sizeof report) == sizeof report, "end");
  _exit(0);
}

static void start(struct cage *cage, unsigned number) {
  struct ends ends;
  char path[512], place[192];
  int report[2];
  cage->number = number;
  (void)snprintf(place, sizeof place, "%s/%u", root_dir, number);
  (void)snprintf(ends.work, sizeof ends.work, "%s/work", place);
  must(mkdir(place, 0700) == 0 && mkdir(ends.work, 0700) == 0 && chown(ends.work, NOBODY, NOBODY) == 0, place);
  for (int stream = 0; stream < 2; stream++) {
    int ends_of[2];
    (void)snprintf(path, sizeof path, "%s/%d.log", place, stream);
    cage->files[stream] = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    must(cage->files[stream] >= 0 && pipe2(ends_of, O_CLOEXEC) == 0, path);
    must(fchown(ends_of[1], NOBODY, NOBODY) == 0, "pipe");
    cage->outputs[stream] = ends_of[0];
    ends.outputs[stream] = ends_of[1];
  }
  must(pipe2(report, O_CLOEXEC | O_NONBLOCK) == 0, "pipe");
  cage->report_fd = report[0];
  ends.report_fd = report[1];
  cage->cgroup_fd = -1;
  if (cgroup_dir[0] != '\0') {
    (void)snprintf(path, sizeof path, "%s/%u", cgroup_dir, number);
    must(mkdir(path, 0755) == 0, path);
    cage->cgroup_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  }
  cage->pid = kernel_fork(CLONE_NEWPID, cage->cgroup_fd);
  must(cage->pid >= 0, "clone3");
  if (cage->pid == 0) run_cage(&ends);
  must(close(report[1]) == 0 && close(ends.outputs[0]) == 0 && close(ends.outputs[1]) == 0, "close");
}

static void end(struct cage *cage) {
  char buffer[4096], path[512];
  while (read(cage->report_fd, buffer, sizeof buffer) > 0) continue;
  must(close(cage->report_fd) == 0, "close");
  for (int stream = 0; stream < 2; stream++) {
    must(splice(cage->outputs[stream], NULL, cage->files[stream], NULL, 1 << 20, SPLICE_F_NONBLOCK) == 0, "splice");
    must(close(cage->outputs[stream]) == 0 && close(cage->files[stream]) == 0, "close");
  }
  if (cage->cgroup_fd < 0) return;
  int stat_fd = openat(cage->cgroup_fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
  must(read(stat_fd, buffer, sizeof buffer) > 0 && close(stat_fd) == 0, "cpu.stat");
  (void)snprintf(path, sizeof path, "%s/%u", cgroup_dir, cage->number);
  must(rmdir(path) == 0 && close(cage->cgroup_fd) == 0, path);
}

static void end_one(struct cage *cages, int count) {
  int wait_status;
  pid_t dead = wait(&wait_status);
  must(dead > 0 && wait_status == 0, "a cage");
  for (int i = 0; i < count; i++) {
    if (cages[i].pid != dead) continue;
    end(&cages[i]);
    cages[i].pid = 0;
  }
}

int main(int argc, char **argv) {
  static struct cage cages[IN_FLIGHT_MAX];
  if (argc != 5) return 2;
  int in_flight = atoi(argv[2]);
  if (in_flight < 1 || in_flight > IN_FLIGHT_MAX) return 2;
  root_dir = argv[3];
  cgroup_dir = argv[4];
  filter = make_filter();
  open_template();
  unsigned started = 0, ended = 0;
  double begin = now(), until = begin + atof(argv[1]);
  while (now() < until || ended < started) {
    for (int i = 0; i < in_flight && now() < until; i++) {
      if (cages[i].pid == 0) start(&cages[i], started++);
    }
    end_one(cages, in_flight);
    ended++;
  }
  printf("%f\n", ended / (now() - begin));
  return 0;
}
