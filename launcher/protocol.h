#ifndef WRIT_PROTOCOL_H
#define WRIT_PROTOCOL_H

/*
 * What the worker and its launcher say to each other over descriptor 3, one end of a unix stream socket pair.
 * This file is the only place where it is written down; src/sandbox mirrors it.
 *
 * A frame is `u32 length` (of all that follows it), `u8 type`, `u32 id`, then fields until the length is used
 * up. A field is `u8 tag`, `u32 length`, bytes. Numbers are little-endian. Strings are bytes without a
 * terminating zero and without any zero inside. A field comes at most once unless it says "repeat".
 *
 * A frame that breaks these rules, an unknown type or tag, an unknown bit, an id that is in use already: the
 * launcher says PROTOCOL_ERROR, kills everything that it started and exits with status 2. A plan that is well
 * formed but cannot be obeyed is answered by FAILED, and nothing was executed.
 *
 * The launcher starts as `writ-launcher` with descriptor 3 open and takes no arguments (with `remove DIR` and with
 * `connect PID PORT` it is another program: remove-trees.h, connect-inside.h). It says READY first.
 * End of file on descriptor 3 is the order to kill everything and go. Why: ADR 0015.
 *
 * Descriptor 4 may be a channel over which the launcher hands sockets to the worker (hand-over.h). Why: ADR 0120.
 */

#define PROTOCOL_VERSION 13u

/* Has room for any argv and environment that execve accepts (2 MiB by default) and for the rest of a plan. */
#define FRAME_BYTES_MAX (4u * 1024 * 1024)
/* type and id */
#define FRAME_HEAD_BYTES 5u
/* tag and length */
#define FIELD_HEAD_BYTES 5u

/* More jobs at once than any worker has slots for. One more is answered FAILED, step "capacity". */
#define JOBS_MAX 1024u
/* Descriptors that wait to be taken by the worker. One more is answered OPEN_FAILED with EMFILE. */
#define OPEN_FILES_MAX 256u

#define ARGS_MAX 65536u
#define ENV_MAX 16384u
#define MOUNTS_MAX 256u
#define RLIMITS_MAX 16u
#define MASKS_MAX 8192u
/* Of all masks of a job together. */
#define MASK_BYTES_MAX (1024u * 1024)
#define STDIN_BYTES_MAX (64u * 1024)
/* The most output of one job that is held, of both streams together. */
#define HELD_BYTES_MAX (32u * 1024)
#define HOLD_MS_MAX 1000u
#define HOME_ENTRIES_MAX 8u
#define PATH_BYTES_MAX 4095u
#define HOSTNAME_BYTES_MAX 63u

enum frame_type {
  /* Worker to launcher. The id is a job's handle, chosen by the worker and free again after FAILED or EXITED. */
  FRAME_START = 1,  /* the TAG_… of a plan, below */
  FRAME_SIGNAL = 2, /* TAG_SIGNO: to the process group of the job's first process; a job that is gone is no error */
  /* No field: SIGKILL to the cage's pid 1 and so to all in it, and no more waiting for room; one that is gone is no error. */
  FRAME_KILL = 3,
  /* Here the id is the worker's name for the request, and is repeated in the answer. */
  FRAME_OPEN = 4,  /* TAG_DIR, TAG_PATH, TAG_HOW */
  FRAME_CLOSE = 5, /* TAG_FD, as given by OPENED; no answer */
  FRAME_PING = 6,  /* no field: answered at once by PONG with the same id */

  /* Launcher to worker. */
  FRAME_READY = 64,          /* id 0: TAG_VERSION, TAG_RIGHTS; with RIGHTS_NONE also TAG_ERRNO and TAG_MESSAGE */
  /* TAG_PID, TAG_START_US: the job's program runs, or has run. Not for a job that ends while its output is held. */
  FRAME_STARTED = 65,
  FRAME_FAILED = 66,         /* TAG_STEP, TAG_ERRNO, TAG_MESSAGE: nothing was executed */
  /* When all processes of the job are gone, and all its output is in the files or in this frame. */
  FRAME_EXITED = 67,
  FRAME_OPENED = 68,         /* TAG_FD: open it as /proc/<launcher's pid>/fd/<fd>, then send CLOSE */
  FRAME_OPEN_FAILED = 69,    /* TAG_ERRNO */
  FRAME_PROTOCOL_ERROR = 70, /* id 0: TAG_MESSAGE; the last frame */
  FRAME_PONG = 71,           /* no field */
  FRAME_STALLED = 72,        /* TAG_ERRNO: the disk is full, and the job's output waits for room; at most once for a job */
};

enum field_tag {
  /* START. Required: TAG_ARG, TAG_CWD, TAG_PROTECTIONS, both output files and both limits. */
  TAG_ARG = 1,             /* repeat: argv; the first is looked up in the PATH of TAG_ENV when it has no slash */
  TAG_ENV = 2,             /* repeat: NAME=value; the whole environment */
  TAG_CWD = 3,             /* absolute, as the job sees it */
  TAG_PROTECTIONS = 4,     /* u32: PROTECT_… bits */
  TAG_UID = 5,             /* u32; with PROTECT_IDS and only then */
  TAG_GID = 6,             /* u32; with PROTECT_IDS and only then */
  TAG_CGROUP = 7,          /* absolute path of an existing cgroup v2 directory; the job is born in it */
  TAG_MOUNT = 8,           /* repeat, applied in order; with PROTECT_MOUNT_NS and only then; layout below */
  TAG_HOSTNAME = 9,        /* with PROTECT_UTS_NS and only then */
  TAG_STDOUT_FILE = 10,    /* absolute path on the host; must not exist yet */
  TAG_STDERR_FILE = 11,    /* absolute path on the host; must not exist yet */
  TAG_STDOUT_MAX = 12,     /* u64 bytes; exactly so many are kept, one more ends the job */
  TAG_STDERR_MAX = 13,     /* u64 bytes */
  /*
   * Repeat: u32 resource as in <sys/resource.h>, u64 soft, u64 hard. With RIGHTS_USER_NAMESPACE, RLIMIT_NPROC counts the
   * processes of this job; otherwise it counts all that its user has on the host.
   */
  TAG_RLIMIT = 14,
  /*
   * With TAG_CGROUP and only then: that cgroup is this job's own, and goes with it. When it is not empty, it is first
   * written to io.max, to lift a limit.
   */
  TAG_CGROUP_IO_LIFT = 15,
  /* Absolute path of a fresh directory on the host: it and all in it is given to TAG_UID and TAG_GID. Not without them. */
  TAG_GIVE_DIR = 16,
  /*
   * Repeat, not empty: wherever this text stands in the output, it is overwritten with as many `*`. With masks, output
   * is copied through the launcher's memory, and the end of a stream waits there while it may be the beginning of one.
   */
  TAG_MASK = 17,
  /* What the job reads on its standard input, any bytes; without it, that is empty. */
  TAG_STDIN = 18,
  /* The same from a plain file: its absolute path on the host. Not with TAG_STDIN. The job can read it, of any size. */
  TAG_STDIN_FILE = 19,
  /*
   * u32, 1 to HOLD_MS_MAX: for so long after its program has started, the job's output is held in memory, as long as both
   * streams together have at most HELD_BYTES_MAX bytes. If the job ends meanwhile, EXITED contains the output, and there
   * are neither files nor a STARTED. Otherwise the files are made then, with the two directories above each that may be
   * missing, and STARTED is sent.
   */
  TAG_HOLD_MS = 20,
  /*
   * Absolute path of a directory on the host that is made for this job in one that exists. With PROTECT_IDS it belongs to
   * TAG_UID and TAG_GID. If the job ends while its output is held, it is removed again, unless the job has left something
   * there. A plan with it has no TAG_GIVE_DIR.
   */
  TAG_HOME = 21,
  /*
   * Repeat, made in this order: u8 HOME_…, u32 length of path, path, content. The path is relative to TAG_HOME, without
   * empty, "." or ".." components. With PROTECT_IDS it belongs to TAG_UID and TAG_GID.
   */
  TAG_HOME_ENTRY = 22,
  /*
   * u32, 1 to HOLD_MS_MAX; with TAG_HOLD_MS and only then: output is held for no longer than this after the job has
   * written its first byte.
   */
  TAG_HOLD_WRITTEN_MS = 23,
  /*
   * u32, 1 to 65535; with PROTECT_NET_NS and only then: this TCP port of the loopback in the job's own network listens
   * before its program runs, and the worker accepts what connects to it: the socket is handed over with the job's id.
   */
  TAG_LISTEN_PORT = 24,

  /* SIGNAL, OPEN, CLOSE */
  TAG_SIGNO = 32, /* u32, 1 to 64 */
  TAG_DIR = 33,   /* absolute path of a directory that the worker trusts; not by a link of /proc, nor in it or in /sys */
  TAG_PATH = 34,  /* relative to it; never leaves it, never goes through a symbolic link */
  TAG_HOW = 35,   /* u32: OPEN_… bits */
  TAG_FD = 36,    /* u32 */

  /* answers */
  TAG_VERSION = 64,         /* u32 */
  TAG_PID = 65,             /* u32: the cage's pid 1 as the host numbers it */
  TAG_STEP = 66,            /* string: one of the step names in failure.h */
  TAG_ERRNO = 67,           /* u32 */
  TAG_MESSAGE = 68,         /* string: for people */
  TAG_EXIT_CODE = 69,       /* u32; either this or TAG_EXIT_SIGNAL */
  TAG_EXIT_SIGNAL = 70,     /* u32 */
  TAG_CPU_USER_US = 71,     /* u64 */
  TAG_CPU_SYSTEM_US = 72,   /* u64 */
  TAG_RSS_BYTES_MAX = 73,   /* u64: of the largest single process */
  TAG_START_US = 74,        /* u64: CLOCK_MONOTONIC, the clock of process.hrtime() */
  TAG_END_US = 75,          /* u64 */
  TAG_STDOUT_BYTES = 76,    /* u64: kept in the file, or in TAG_STDOUT */
  TAG_STDERR_BYTES = 77,    /* u64 */
  TAG_STDOUT_END = 78,      /* u32 OUTPUT_…, u32 errno (0 unless OUTPUT_WRITE_FAILED) */
  TAG_STDERR_END = 79,      /* the same */
  /* Of a job's own cgroup, as the kernel wrote them: the start of each file, left out where there is none. */
  TAG_CGROUP_CPU_STAT = 80,
  TAG_CGROUP_MEMORY_PEAK = 81,
  TAG_CGROUP_MEMORY_EVENTS = 82,
  TAG_CGROUP_REMOVED = 83, /* u32: 1 when it is gone, 0 when that is left to the worker, which may have to wait */
  TAG_RIGHTS = 84,         /* u32: RIGHTS_… */
  TAG_CGROUP_PIDS_PEAK = 85, /* as 80 to 82 */
  TAG_CGROUP_IO_STAT = 86,   /* as 80 to 82 */
  /* With TAG_HOLD_MS, if the job has ended meanwhile: all that it wrote. */
  TAG_STDOUT = 88,
  TAG_STDERR = 89,
  TAG_HOME_REMOVED = 90, /* u32: 1 when it is gone, 0 when that is left to the worker */
};

/* The rights with which the launcher builds cages. A plan is the same for all of them. */
enum cage_rights {
  RIGHTS_OWN = 0, /* root's, or the capability to administer the system */
  /*
   * Those of a user namespace, in which the launcher's user is 65534: TAG_UID and TAG_GID have no other value, groups are
   * kept, and MOUNT_IDMAP is for files of that user and changes nothing.
   */
  RIGHTS_USER_NAMESPACE = 1,
  RIGHTS_NONE = 2, /* the host forbids user namespaces; TAG_MESSAGE says at which step */
};

/* Each is applied in full or the job does not start. The worker leaves out those that a host does not support. */
enum protection {
  PROTECT_PID_NS = 1u << 0,
  PROTECT_MOUNT_NS = 1u << 1,
  PROTECT_IPC_NS = 1u << 2,
  PROTECT_UTS_NS = 1u << 3,
  PROTECT_NET_NS = 1u << 4, /* an empty network with its own loopback */
  PROTECT_CGROUP_NS = 1u << 5,
  PROTECT_IDS = 1u << 6,          /* change to TAG_UID and TAG_GID, without supplementary groups */
  PROTECT_CAPABILITIES = 1u << 7, /* all sets empty, the bounding set too */
  PROTECT_NO_NEW_PRIVS = 1u << 8,
  PROTECT_SECCOMP = 1u << 9, /* needs PROTECT_NO_NEW_PRIVS */
  PROTECT_ALL = (1u << 10) - 1,
};

/*
 * TAG_MOUNT: u8 kind, u8 flags, u32 mode, u64 size, u32 uid, u32 gid, u32 length of target, target, u32 length of
 * source, source. The target is an absolute path in the cage without empty, "." or ".." components; it is reached
 * through no symbolic link, and its mount point and the directories above it are made where they are missing and can
 * be. All but the target is 0 or empty unless named here.
 * Everything but MOUNT_DEV is nodev, everything is nosuid. The root of the cage is read-only.
 */
enum mount_kind {
  MOUNT_BIND_RO = 1, /* source: absolute path on the host; with all that is mounted beneath it */
  MOUNT_BIND_RW = 2, /* the same, writable as far as the job's uid may */
  MOUNT_TMPFS = 3,   /* size in bytes, mode of its top directory */
  MOUNT_PROC = 4,    /* read-only, other users' processes hidden */
  MOUNT_DEV = 5,     /* null zero full random urandom, links to /proc/self/fd, an empty directory shm */
  MOUNT_SYMLINK = 6, /* source: where it points */
  MOUNT_FILE = 7,    /* source: its content, any bytes; mode */
  MOUNT_DIR = 8,     /* mode */
  /*
   * For this job only: a directory of the host, with everything mounted beneath it, or a plain file with
   * MOUNT_ONE_FILE. Read-only unless MOUNT_WRITABLE. source: an absolute path on the host without empty, "." or ".."
   * components, resolved without following symbolic links. The flags from MOUNT_WRITABLE on are for this kind only. A
   * failure has the step "job-mount" or "idmap" and means nothing for other jobs.
   */
  MOUNT_JOB = 9,
};

enum mount_flag {
  MOUNT_SKIP_MISSING = 1u << 0, /* a bind whose source does not exist is left out */
  /*
   * What every job sees alike is built once and copied for each job. Set this on a MOUNT_BIND_RO whose source
   * differs from job to job, or each of them will build everything anew.
   */
  MOUNT_PER_JOB = 1u << 1,
  MOUNT_WRITABLE = 1u << 2,
  MOUNT_NOEXEC = 1u << 3,
  MOUNT_ONE_FILE = 1u << 4,
  /*
   * uid and gid: the owner of the source; any other owner is refused. In the cage the owner appears as TAG_UID and
   * TAG_GID, and new files belong to the owner. Needs the protections IDS, CAPABILITIES and SECCOMP. The job cannot
   * create set-uid or set-gid files.
   */
  MOUNT_IDMAP = 1u << 5,
};

enum home_entry {
  HOME_DIRECTORY = 1, /* mode 0700; no content */
  HOME_FILE = 2,      /* mode 0600 */
};

enum open_how {
  OPEN_READ = 1u << 0,       /* a plain file of the owner of TAG_DIR (else EPERM) with one name (else EMLINK) */
  OPEN_CREATE = 1u << 1,     /* for writing, mode 0600; must not exist yet */
  OPEN_DIRECTORY = 1u << 2,  /* of the owner of TAG_DIR; exactly one of these three */
  OPEN_SAME_MOUNT = 1u << 3, /* and crosses no mount point */
};

enum output_end {
  OUTPUT_COMPLETE = 0,
  OUTPUT_LIMIT = 1,        /* the job said more than it may and was killed */
  OUTPUT_WRITE_FAILED = 2, /* the file could not take it, or had no room until the job was killed */
};

#endif
