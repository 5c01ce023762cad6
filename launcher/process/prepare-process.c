#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fatal.h"
#include "hand-over.h"
#include "kernel.h"
#include "launcher.h"

/* Five descriptors for each job that may run at once, those that wait for the worker, and the launcher's own. */
#define FILES_WANTED 8192

static void die_with_worker(void);
static void check_descriptors(struct launcher *launcher);
static void reset_signals(struct launcher *launcher);
static void raise_files_limit(struct launcher *launcher);

void prepare_process(struct launcher *launcher) {
  die_with_worker();
  check_descriptors(launcher);
  reset_signals(launcher);
  raise_files_limit(launcher);
  // All modes are given in full; a job gets its own mask.
  (void)umask(0);
  if (umask(0) != 0) fatal("setting the umask");
  // A terminal's Ctrl-C is for the worker, which then ends the launcher in order. Leading a group already is as good.
  if (setsid() < 0 && errno != EPERM) fatal("leaving the session of the worker");
  if (chdir("/") != 0) fatal("leaving the directory of the worker");
  launcher->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (launcher->proc_fd < 0) fatal("opening /proc");
  launcher->own_pidfd = kernel_pidfd_open(getpid());
  if (launcher->own_pidfd < 0) fatal("opening our own pid");
  // A kernel without descriptors for pids leaves them inheritable; a job closes all, but nothing shall depend on it.
  if (fcntl(launcher->own_pidfd, F_SETFD, FD_CLOEXEC) != 0) fatal("keeping our own pid to ourselves");
}

static void die_with_worker(void) {
  pid_t worker = getppid();
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fatal("asking for a death signal");
  // A worker that died before this call sends no signal. One that died even earlier has closed the socket.
  if (getppid() != worker) fatal("the worker is gone");
}

/*
 * Makes sure that stdin, stdout and stderr exist and descriptor 3 is a socket, keeps 4 if it is a channel, and closes all other
 * inherited ones.
 */
static void check_descriptors(struct launcher *launcher) {
  for (int fd = 0; fd < WIRE_FD; fd++) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd != fd) fatal("filling descriptor %d", fd);
  }
  int type = 0;
  socklen_t length = sizeof type;
  if (getsockopt(WIRE_FD, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) {
    fatal("descriptor 3 is not the socket of a worker; this program is started by one, not by hand");
  }
  if (fcntl(WIRE_FD, F_SETFD, FD_CLOEXEC) != 0) fatal("keeping the socket to ourselves");
  launcher->channel_fd = find_channel();
  unsigned first = launcher->channel_fd == CHANNEL_NONE ? WIRE_FD + 1 : CHANNEL_FD + 1;
  if (kernel_close_range(first, UINT_MAX) != 0) fatal("closing what the worker left open");
}

/*
 * Sets all dispositions to default, so that no job starts with an ignored signal, and blocks all signals: the launcher
 * reads them as events, and a cage's pid 1 waits for them.
 */
static void reset_signals(struct launcher *launcher) {
  struct sigaction to_default;
  memset(&to_default, 0, sizeof to_default);
  to_default.sa_handler = SIG_DFL;
  for (int signo = 1; signo <= SIGRTMAX; signo++) {
    // Two cannot be changed, and the C library keeps two for itself.
    if (sigaction(signo, &to_default, NULL) != 0 && errno != EINVAL) fatal("resetting signal %d", signo);
  }
  sigset_t all, awaited;
  sigfillset(&all);
  if (sigprocmask(SIG_SETMASK, &all, NULL) != 0) fatal("blocking signals");
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGINT);
  launcher->signal_fd = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
  if (launcher->signal_fd < 0) fatal("making a signalfd");
}

/* With a lower limit, starts beyond it fail one by one, so a refusal does not end the launcher. */
static void raise_files_limit(struct launcher *launcher) {
  if (getrlimit(RLIMIT_NOFILE, &launcher->files_limit) != 0) fatal("reading the limit of open files");
  struct rlimit wanted = launcher->files_limit;
  if (wanted.rlim_cur >= FILES_WANTED) return;
  wanted.rlim_cur = wanted.rlim_max < FILES_WANTED ? wanted.rlim_max : FILES_WANTED;
  if (setrlimit(RLIMIT_NOFILE, &wanted) != 0) fatal("raising the limit of open files");
}
