#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Tries to get out of a cage and prints one line for each try. Run it as a job: `probe` in a cage with its own network,
 * `probe --host-network` in one without; add `--user-namespace` in a cage that was built without root, where pid 1 has
 * the uid of the job. Ends with 0 only when every try was blocked. A try that needs a device or a mount that the cage
 * does not have fails because of that, and counts as blocked too.
 */

static int tries, escapes;

/* A try is a call that must fail: what it gives back is negative then, and errno says why. */
static void must_fail(const char *id, const char *what, long result) {
  int error = errno;
  tries++;
  if (result < 0) {
    printf("%s %s: blocked (%s)\n", id, what, strerrorname_np(error));
  } else {
    escapes++;
    printf("%s %s: ESCAPED\n", id, what);
  }
  errno = 0;
}

/* Or it is a fact that must hold; `what` names the opposite, which is the escape. */
static void must_hold(const char *id, const char *what, bool holds) {
  tries++;
  escapes += holds ? 0 : 1;
  printf("%s %s: %s\n", id, what, holds ? "blocked (not so)" : "ESCAPED");
}

#define TRY(id, what, call) (errno = 0, must_fail(id, what, (long)(call)))
#define TRY_CALL(id, name, ...) TRY(id, #name, syscall(SYS_##name, __VA_ARGS__))

/* Closes the file, so that one escape is not counted twice. */
static long try_open(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd >= 0) close(fd);
  return fd;
}

static long try_socket(int family, int type, int protocol) {
  int fd = socket(family, type | SOCK_CLOEXEC, protocol);
  if (fd >= 0) close(fd);
  return fd;
}

static long try_connect(const char *address, int port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  unsigned a, b, c, d;
  if (sscanf(address, "%u.%u.%u.%u", &a, &b, &c, &d) != 4) return 0;
  to.sin_addr.s_addr = htonl(a << 24 | b << 16 | c << 8 | d);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  long result = connect(fd, (struct sockaddr *)&to, sizeof to);
  int error = errno;
  socklen_t length = sizeof error;
  struct pollfd done = {.fd = fd, .events = POLLOUT};
  // Under way with no answer means that there is a way.
  if (error == EINPROGRESS && poll(&done, 1, 1000) == 1) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  close(fd);
  errno = error;
  return result < 0 && error != 0 && error != EINPROGRESS ? -1 : 0;
}

static long try_bind(int port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  long result = bind(fd, (struct sockaddr *)&at, sizeof at);
  int error = errno;
  close(fd);
  errno = error;
  return result;
}

/* In a child, because success is a new process, and a refusal may be a signal. */
static long in_child(long (*attempt)(void)) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) _exit(attempt() < 0 ? errno : 0);
  int status;
  waitpid(child, &status, 0);
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : ENOTSUP;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static long clone_with(unsigned long flags) {
  fflush(stdout);
  long child = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  return child;
}

static long clone3_plain(void) {
  uint64_t args[8] = {0, 0, 0, 0, SIGCHLD};
  long child = syscall(435, args, sizeof args);
  if (child == 0) _exit(0);
  return child;
}

#if defined(__x86_64__)
static long call_i386(void) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
  errno = result < 0 ? (int)-result : 0;
  return result;
}
static long call_x32(void) { return syscall(0x40000000 | SYS_getpid); }
#endif

static long trace_me(void) { return ptrace(PTRACE_TRACEME, 0, NULL, NULL); }

static bool status_line(const char *name, const char *value) {
  char line[256];
  bool found = false;
  FILE *status = fopen("/proc/self/status", "re");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0 || line[length] != ':') continue;
    line[strcspn(line, "\n")] = '\0';
    found = strcmp(line + length + 1 + strspn(line + length + 1, " \t"), value) == 0;
  }
  if (status != NULL) fclose(status);
  return found;
}

/* How many names a directory has that `counts` accepts; 0 when it cannot be read. */
static int count_names(const char *path, bool (*counts)(const char *name)) {
  int count = 0;
  DIR *directory = opendir(path);
  struct dirent *entry;
  while (directory != NULL && (entry = readdir(directory)) != NULL) count += counts(entry->d_name);
  if (directory != NULL) closedir(directory);
  return count;
}

static bool is_foreign_pid(const char *name) { return name[0] >= '1' && name[0] <= '9' && atoi(name) != getpid(); }
static bool is_foreign_interface(const char *name) { return name[0] != '.' && strcmp(name, "lo") != 0; }

static long file_bytes(const char *path) {
  char bytes[4096];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  long got = read(fd, bytes, sizeof bytes);
  close(fd);
  return got > 0 ? got : 0;
}

static void try_descriptors(void) {
  int open_count = 0;
  for (int fd = 3; fd < 65536; fd++) open_count += fcntl(fd, F_GETFD) >= 0;
  must_hold("X-01", "descriptors beside 0, 1, 2", open_count == 0);
  char cwd[4096];
  must_hold("X-01", "cwd outside the root", getcwd(cwd, sizeof cwd) != NULL && cwd[0] == '/');
  must_hold("X-01", "stdin that can be read", read(0, cwd, 1) == 0);
  TRY("X-01", "writing to stdin", write(0, "x", 1));
  TRY("X-01", "seeking in stdout", lseek(1, 0, SEEK_SET));
  TRY("X-01", "cutting stdout", ftruncate(1, 0));
  TRY("X-02", "write /proc/self/exe", try_open("/proc/self/exe", O_WRONLY));
  TRY("X-02", "read /proc/1/exe", try_open("/proc/1/exe", O_RDONLY));
  TRY("X-02", "read /proc/1/mem", try_open("/proc/1/mem", O_RDONLY));
  TRY("X-02", "read /proc/1/environ", try_open("/proc/1/environ", O_RDONLY));
  TRY("X-02", "open /proc/1/root", try_open("/proc/1/root", O_RDONLY));
  TRY("X-02", "open /proc/1/cwd", try_open("/proc/1/cwd", O_RDONLY));
  TRY("X-02", "open /proc/1/fd/3", try_open("/proc/1/fd/3", O_WRONLY));
}

static void try_root(void) {
  struct stat root, above;
  TRY("X-03", "chroot", chroot("/tmp"));
  TRY("X-03", "chroot to here", chroot("."));
  must_hold("X-03", "/.. beside /", stat("/", &root) == 0 && stat("/..", &above) == 0 && root.st_ino == above.st_ino);
  TRY("X-03", "chain of ..", try_open("../../../../../../../../../../etc/shadow", O_RDONLY));
  TRY("X-03", "/proc/self/root/../etc/shadow", try_open("/proc/self/root/../etc/shadow", O_RDONLY));
  TRY("X-03", "read /etc/shadow", try_open("/etc/shadow", O_RDONLY));
  TRY("X-03", "open /root", try_open("/root", O_RDONLY));
  TRY("X-03", "open /home", try_open("/home", O_RDONLY));
  TRY("X-03", "open /var", try_open("/var", O_RDONLY));
  TRY("X-03", "open /run", try_open("/run", O_RDONLY));
  TRY("X-03", "write in /", try_open("/x", O_WRONLY | O_CREAT));
  TRY("X-03", "write in /usr", try_open("/usr/x", O_WRONLY | O_CREAT));
  TRY("X-03", "write in /etc", try_open("/etc/x", O_WRONLY | O_CREAT));
  TRY("X-03", "write /etc/passwd", try_open("/etc/passwd", O_WRONLY));
  TRY("X-03", "write in /dev", try_open("/dev/x", O_WRONLY | O_CREAT));
  TRY("X-03", "remove /dev/null", unlink("/dev/null"));
}

static void try_namespaces(void) {
  uint64_t attributes[4] = {0};
  TRY("X-04", "mount tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
  TRY("X-04", "mount proc", mount("none", "/tmp", "proc", 0, NULL));
  TRY("X-04", "mount bind", mount("/", "/tmp", NULL, MS_BIND, NULL));
  TRY("X-04", "remount / writable", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
  TRY("X-04", "make / shared", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL));
  TRY("X-04", "umount /proc", umount2("/proc", MNT_DETACH));
  TRY("X-04", "umount /proc/keys", umount2("/proc/keys", MNT_DETACH));
  TRY_CALL("X-04", pivot_root, "/tmp", "/tmp");
  TRY("X-04", "open_tree", syscall(428, AT_FDCWD, "/", 1));
  TRY("X-04", "move_mount", syscall(429, AT_FDCWD, "/tmp", AT_FDCWD, "/work", 0));
  TRY("X-04", "fsopen", syscall(430, "tmpfs", 0));
  TRY("X-04", "fsconfig", syscall(431, 0, 6, NULL, NULL, 0));
  TRY("X-04", "fsmount", syscall(432, 0, 0, 0));
  TRY("X-04", "fspick", syscall(433, AT_FDCWD, "/", 0));
  TRY("X-04", "mount_setattr", syscall(442, AT_FDCWD, "/", 0, attributes, sizeof attributes));
  TRY("X-04", "open_tree_attr", syscall(467, AT_FDCWD, "/", 1, attributes, sizeof attributes));
  TRY("X-04", "setns", setns(0, 0));
  TRY("X-04", "unshare user", unshare(CLONE_NEWUSER));
  TRY("X-04", "unshare mount", unshare(CLONE_NEWNS));
  TRY("X-04", "unshare network", unshare(CLONE_NEWNET));
  TRY("X-04", "unshare user and mount", unshare(CLONE_NEWUSER | CLONE_NEWNS));
  TRY("X-04", "clone user", clone_with(CLONE_NEWUSER));
  TRY("X-04", "clone mount", clone_with(CLONE_NEWNS));
  TRY("X-04", "clone pid", clone_with(CLONE_NEWPID));
  TRY("X-04", "clone network", clone_with(CLONE_NEWNET));
  TRY("X-04", "clone cgroup", clone_with(CLONE_NEWCGROUP));
  TRY("X-04", "clone ipc", clone_with(CLONE_NEWIPC));
  TRY("X-04", "clone uts", clone_with(CLONE_NEWUTS));
  TRY("X-04", "clone3", clone3_plain());
}

static void try_processes(bool is_user_of_pid_1) {
  char byte;
  struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
  TRY("X-05", "ptrace attach to pid 1", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
  TRY("X-05", "ptrace seize of pid 1", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
  TRY("X-05", "ptrace traceme", in_child(trace_me));
  TRY("X-05", "process_vm_readv", process_vm_readv(1, &here, 1, &there, 1, 0));
  TRY("X-05", "process_vm_readv of itself", process_vm_readv(getpid(), &here, 1, &(struct iovec){&byte, 1}, 1, 0));
  TRY("X-05", "process_vm_writev", process_vm_writev(1, &here, 1, &there, 1, 0));
  if (is_user_of_pid_1) {
    // The signals have no effect: the cage continues, or no further line would be printed.
    must_hold("X-05", "the end of pid 1", kill(1, SIGKILL) == 0 && kill(1, SIGTERM) == 0 && usleep(100000) == 0);
  } else {
    TRY("X-05", "kill pid 1", kill(1, SIGKILL));
    TRY("X-05", "terminate pid 1", kill(1, SIGTERM));
  }
  TRY("X-05", "kill everyone", kill(-1, 0));
  must_hold("X-05", "other processes in /proc", count_names("/proc", is_foreign_pid) == 0);
  int pidfd = (int)syscall(434, getpid(), 0);
  TRY("X-05", "pidfd_getfd", syscall(438, pidfd, 0, 0));
  TRY_CALL("X-05", kcmp, getpid(), getpid(), 0, 0, 0);
  TRY("X-05", "process_madvise", syscall(440, pidfd, &here, 1, 21, 0));
  TRY_CALL("X-05", migrate_pages, 1, 0, NULL, NULL);
  close(pidfd);
  TRY("X-06", "TIOCSTI", ioctl(0, TIOCSTI, "x"));
  TRY_CALL("X-06", ioctl, 0, 0xffffffff00005412ul, "x");
  TRY("X-06", "TIOCLINUX", ioctl(0, 0x541c, "\3"));
  TRY("X-06", "TIOCSETD", ioctl(0, TIOCSETD, &(int){0}));
  TRY("X-06", "open /dev/tty", try_open("/dev/tty", O_RDWR));
  TRY("X-06", "open /dev/console", try_open("/dev/console", O_RDWR));
  TRY("X-06", "open /dev/ptmx", try_open("/dev/ptmx", O_RDWR));
  TRY("X-06", "open /dev/tty1", try_open("/dev/tty1", O_RDWR));
}

static void try_kernel(void) {
  char room[4096] = {0};
  TRY_CALL("X-07", keyctl, 0, -3, 0);
  TRY("X-07", "keyctl join session", syscall(SYS_keyctl, 1, "x"));
  TRY_CALL("X-07", add_key, "user", "writ", "x", 1, -4);
  TRY_CALL("X-07", request_key, "user", "writ", NULL, -4);
  must_hold("X-07", "keys in /proc/keys", file_bytes("/proc/keys") == 0);
  must_hold("X-07", "users in /proc/key-users", file_bytes("/proc/key-users") == 0);
  TRY("X-08", "io_uring_setup", syscall(425, 4, room));
  TRY("X-08", "io_uring_enter", syscall(426, 0, 1, 0, 0, NULL, 0));
  TRY("X-08", "io_uring_register", syscall(427, 0, 0, NULL, 0));
  TRY_CALL("X-08", bpf, 0, room, 128);
  TRY_CALL("X-08", perf_event_open, room, 0, -1, -1, 0);
  TRY_CALL("X-08", userfaultfd, 1);
  TRY("X-08", "open /dev/userfaultfd", try_open("/dev/userfaultfd", O_RDWR));
  TRY_CALL("X-08", kexec_load, 0, 0, NULL, 0);
  TRY_CALL("X-08", init_module, room, sizeof room, "");
  TRY_CALL("X-08", finit_module, 0, "", 0);
  TRY_CALL("X-08", delete_module, "x", 0);
  TRY_CALL("X-08", open_by_handle_at, AT_FDCWD, room, 0);
  TRY_CALL("X-08", name_to_handle_at, AT_FDCWD, "/", room, room + 256, 0);
  TRY_CALL("X-08", fanotify_init, 0, 0);
  TRY("X-08", "a call newer than the filter", syscall(470, 0));
#if defined(__x86_64__)
  TRY("X-08", "i386 system call", in_child(call_i386));
  TRY("X-08", "x32 system call", in_child(call_x32));
  TRY_CALL("X-08", iopl, 3);
  TRY_CALL("X-08", ioperm, 0x80, 1, 1);
  TRY_CALL("X-08", modify_ldt, 0, room, 16);
  TRY_CALL("X-08", kexec_file_load, 0, 0, 0, "", 0);
#endif
}

static void try_privileges(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct all[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};
  struct statvfs usr, tmp;
  const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
  for (int i = 0; i < 5; i++) must_hold("X-10", sets[i], status_line(sets[i], "0000000000000000"));
  must_hold("X-10", "new privileges", status_line("NoNewPrivs", "1"));
  must_hold("X-10", "no filter", status_line("Seccomp", "2"));
  must_hold("X-10", "groups", getgroups(0, NULL) == 0);
  must_hold("X-10", "an ignored signal", status_line("SigIgn", "0000000000000000"));
  must_hold("X-10", "a blocked signal", status_line("SigBlk", "0000000000000000"));
  TRY("X-10", "setuid 0", setuid(0));
  TRY("X-10", "setreuid 0", setreuid(0, 0));
  TRY("X-10", "setgid 0", setgid(0));
  TRY("X-10", "setgroups", syscall(SYS_setgroups, 1, &(gid_t){0}));
  must_hold("X-10", "setfsuid 0", (setfsuid(0), setfsuid(0)) != 0);
  TRY("X-10", "capset", syscall(SYS_capset, &header, all));
  TRY("X-10", "ambient capability", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
  TRY("X-10", "allowing new privileges", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
  TRY("X-10", "leaving seccomp", prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
  must_hold("X-10", "setuid files in /usr", statvfs("/usr", &usr) == 0 && (usr.f_flag & ST_NOSUID) != 0);
  must_hold("X-10", "setuid files in /tmp", statvfs("/tmp", &tmp) == 0 && (tmp.f_flag & ST_NOSUID) != 0);
  TRY("X-10", "making a device", mknod("/tmp/disk", S_IFBLK | 0666, makedev(8, 0)));
  TRY("X-10", "giving a file to root", chown("/tmp", 0, 0));
  TRY("X-10", "personality", syscall(SYS_personality, 0x0040000));
}

static void try_host(void) {
  struct rlimit core, more = {RLIM_INFINITY, RLIM_INFINITY};
  struct timeval now = {1, 0};
  struct timespec then = {1, 0};
  TRY("X-11", "write cgroup.procs", try_open("/sys/fs/cgroup/cgroup.procs", O_WRONLY));
  TRY("X-11", "open /sys", try_open("/sys/fs/cgroup", O_RDONLY));
  TRY("X-11", "mount cgroup2", mount("none", "/tmp", "cgroup2", 0, NULL));
  TRY("X-11", "mount cgroup", mount("none", "/tmp", "cgroup", 0, "memory"));
  TRY("X-11", "mount sysfs", mount("none", "/tmp", "sysfs", 0, NULL));
  must_hold("X-15", "core limit", getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0);
  TRY("X-15", "raising the core limit", setrlimit(RLIMIT_CORE, &more));
  TRY("X-15", "raising the file limit", setrlimit(RLIMIT_NOFILE, &more));
  TRY("X-15", "renice of pid 1", setpriority(PRIO_PROCESS, 1, 19));
  TRY("X-15", "more priority", setpriority(PRIO_PROCESS, 0, -20));
  TRY("X-15", "real-time priority", sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1}));
  TRY("X-15", "write core_pattern", try_open("/proc/sys/kernel/core_pattern", O_WRONLY));
  TRY("X-15", "write modprobe", try_open("/proc/sys/kernel/modprobe", O_WRONLY));
  TRY("X-15", "write overcommit_memory", try_open("/proc/sys/vm/overcommit_memory", O_WRONLY));
  TRY("X-15", "write sysrq-trigger", try_open("/proc/sysrq-trigger", O_WRONLY));
  TRY("X-15", "write oom_score_adj", try_open("/proc/self/oom_score_adj", O_WRONLY));
  TRY("X-15", "write uid_map", try_open("/proc/self/uid_map", O_WRONLY));
  TRY("X-15", "read /proc/kcore", try_open("/proc/kcore", O_RDONLY));
  TRY("X-15", "read /proc/kmsg", try_open("/proc/kmsg", O_RDONLY));
  TRY("X-15", "open /dev/mem", try_open("/dev/mem", O_RDONLY));
  TRY("X-15", "open /dev/kmsg", try_open("/dev/kmsg", O_RDONLY));
  TRY("X-15", "open /dev/kvm", try_open("/dev/kvm", O_RDWR));
  TRY("X-15", "open /dev/fuse", try_open("/dev/fuse", O_RDWR));
  TRY("X-15", "open /dev/vda", try_open("/dev/vda", O_RDONLY));
  TRY_CALL("X-15", syslog, 3, NULL, 0);
  TRY_CALL("X-15", settimeofday, &now, NULL);
  TRY_CALL("X-15", clock_settime, CLOCK_REALTIME, &then);
  TRY_CALL("X-15", swapon, "/tmp/x", 0);
  TRY_CALL("X-15", swapoff, "/tmp/x");
  TRY_CALL("X-15", reboot, 0, 0, 0, NULL);
  TRY_CALL("X-15", acct, "/tmp/x");
  TRY_CALL("X-15", quotactl, 0, NULL, 0, NULL);
  TRY_CALL("X-15", sethostname, "x", 1);
  TRY("X-15", "vhangup", vhangup());
}

static void try_sockets(bool has_own_network) {
  TRY("X-14", "packet socket", try_socket(AF_PACKET, SOCK_RAW, 0));
  TRY("X-14", "raw socket", try_socket(AF_INET, SOCK_RAW, IPPROTO_TCP));
  TRY("X-14", "vsock", try_socket(AF_VSOCK, SOCK_STREAM, 0));
  TRY("X-14", "crypto socket", try_socket(AF_ALG, SOCK_SEQPACKET, 0));
  TRY("X-14", "bluetooth socket", try_socket(AF_BLUETOOTH, SOCK_RAW, 0));
  TRY("X-14", "tipc socket", try_socket(30, SOCK_STREAM, 0));
  TRY("X-14", "xdp socket", try_socket(44, SOCK_RAW, 0));
  TRY("X-14", "netlink netfilter", try_socket(AF_NETLINK, SOCK_RAW, 12));
  TRY("X-14", "netlink audit", try_socket(AF_NETLINK, SOCK_RAW, 9));
  TRY("X-14", "netlink generic", try_socket(AF_NETLINK, SOCK_RAW, 16));
  TRY("X-14", "socketpair of inet", socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){0}));
  TRY("X-14", "bind port 80", try_bind(80));
  if (!has_own_network) return;
  TRY("X-14", "connect to the internet", try_connect("1.1.1.1", 443));
  TRY("X-14", "connect to metadata", try_connect("169.254.169.254", 80));
  TRY("X-14", "connect to a private network", try_connect("10.0.0.1", 22));
  TRY("X-14", "connect to the host's loopback", try_connect("127.0.0.1", 22));
  must_hold("X-14", "interfaces beside lo", count_names("/proc/sys/net/ipv4/neigh", is_foreign_interface) <= 1);
  // One line is the heading.
  must_hold("X-14", "unix sockets of the host", file_bytes("/proc/net/unix") < 100);
}

int main(int argc, char **argv) {
  bool has_own_network = true, is_user_of_pid_1 = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--host-network") == 0) has_own_network = false;
    if (strcmp(argv[i], "--user-namespace") == 0) is_user_of_pid_1 = true;
  }
  try_descriptors();
  try_root();
  try_namespaces();
  try_processes(is_user_of_pid_1);
  try_kernel();
  try_privileges();
  try_host();
  try_sockets(has_own_network);
  printf("%d tries, %d escaped\n", tries, escapes);
  return escapes == 0 ? 0 : 1;
}
