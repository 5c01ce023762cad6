/*
 * Tries the features of the kernel that a cage is built from, each in a child of its own, and prints one line for
 * each: its name, a tab, and "ok" or what went wrong. A version number would not do: a feature can be left out of
 * a kernel, or forbidden in a container.
 *
 * usage: features EMPTY_CGROUP EMPTY_FOLDER
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Linux calls these the same on every architecture; older headers lack them. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

static const char *cgroup_dir;
static const char *folder;

/* Each returns 0, or an errno; EPROTO when the call worked and its effect did not come. */
static int try_clone3_into_cgroup(void) {
	int cgroup = open(cgroup_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup < 0) return errno;
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)cgroup
	};
	long pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid < 0) return errno;
	if (pid == 0) {
		char line[32];
		int procs = openat(cgroup, "cgroup.procs", O_RDONLY | O_CLOEXEC);
		/* The cgroup was empty, so any process in it is this one. */
		_exit(procs >= 0 && read(procs, line, sizeof line) > 0 ? 0 : 1);
	}
	int status;
	if (waitpid((pid_t)pid, &status, 0) < 0) return errno;
	return status == 0 ? 0 : EPROTO;
}

static int try_openat2(void) {
	int usr = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (usr < 0) return errno;
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
	};
	if (syscall(SYS_openat2, usr, "../etc/passwd", &how, sizeof how) >= 0) return EPROTO;
	return errno == EXDEV ? 0 : errno;
}

static int private_mounts(void) {
	if (unshare(CLONE_NEWNS) < 0) return errno;
	return syscall(SYS_mount, "none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? errno : 0;
}

static int try_mount_setattr(void) {
	int failed = private_mounts();
	if (failed) return failed;
	if (syscall(SYS_mount, "tmpfs", folder, "tmpfs", 0, NULL) < 0) return errno;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
	if (syscall(SYS_mount_setattr, AT_FDCWD, folder, AT_RECURSIVE, &attr, sizeof attr) < 0) return errno;
	if (chdir(folder) < 0) return errno;
	if (open("x", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0) return EPROTO;
	return errno == EROFS ? 0 : errno;
}

static int write_map(pid_t pid, const char *file) {
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	int map = open(path, O_WRONLY | O_CLOEXEC);
	return map < 0 || write(map, "0 65534 1", 9) != 9 ? errno : 0;
}

/* A user namespace lives as long as a process is in it or a descriptor names it; this gives a descriptor. */
static int open_user_namespace(int *descriptor) {
	int ready[2];
	if (pipe2(ready, O_CLOEXEC) < 0) return errno;
	pid_t pid = fork();
	if (pid < 0) return errno;
	if (pid == 0) {
		int failed = unshare(CLONE_NEWUSER) < 0 ? errno : 0;
		if (write(ready[1], &failed, sizeof failed) < 0) _exit(1);
		pause();
		_exit(0);
	}
	int failed = EPROTO;
	if (read(ready[0], &failed, sizeof failed) != (ssize_t)sizeof failed) failed = EPROTO;
	if (!failed) failed = write_map(pid, "uid_map");
	if (!failed) failed = write_map(pid, "gid_map");
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	if (!failed) {
		*descriptor = open(path, O_RDONLY | O_CLOEXEC);
		if (*descriptor < 0) failed = errno;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return failed;
}

static int try_user_namespace(void) {
	int descriptor;
	return open_user_namespace(&descriptor);
}

static int try_idmapped_mount(void) {
	int users = -1;
	int failed = open_user_namespace(&users);
	if (failed) return failed;
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, folder, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0) return errno;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)users };
	return syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0 ? errno : 0;
}

static int try_seccomp(void) {
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXFULL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof filter / sizeof *filter, .filter = filter };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) return errno;
	return syscall(SYS_getpgid, 0) < 0 && errno == EXFULL ? 0 : EPROTO;
}

static int try_namespaces(void) {
	int flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP;
	return unshare(flags) < 0 ? errno : 0;
}

static int try_pidfd(void) {
	return syscall(SYS_pidfd_open, getpid(), 0) < 0 ? errno : 0;
}

static int try_close_range(void) {
	return syscall(SYS_close_range, 100, ~0U, 0) < 0 ? errno : 0;
}

static int try_landlock(void) {
	/* With flag 1 the call only asks for the version. */
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0 ? errno : 0;
}

/* In a child, because most tries change the process for good. */
static void report(const char *name, int (*attempt)(void)) {
	pid_t pid = fork();
	if (pid == 0) _exit(attempt());
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		printf("%s\t%s\n", name, strerror(errno));
	} else if (WIFSIGNALED(status)) {
		printf("%s\tended by signal %d\n", name, WTERMSIG(status));
	} else {
		int failed = WEXITSTATUS(status);
		printf("%s\t%s\n", name, failed == 0 ? "ok" : failed == EPROTO ? "without effect" : strerror(failed));
	}
	fflush(stdout);
}

int main(int argc, char **argv) {
	if (argc != 3) {
		fprintf(stderr, "usage: features EMPTY_CGROUP EMPTY_FOLDER\n");
		return 2;
	}
	cgroup_dir = argv[1];
	folder = argv[2];
	report("clone3 into a cgroup", try_clone3_into_cgroup);
	report("namespaces", try_namespaces);
	report("user namespaces", try_user_namespace);
	report("openat2", try_openat2);
	report("mount_setattr", try_mount_setattr);
	report("idmapped mounts", try_idmapped_mount);
	report("seccomp filter", try_seccomp);
	report("pidfd", try_pidfd);
	report("close_range", try_close_range);
	report("Landlock", try_landlock);
	return 0;
}
