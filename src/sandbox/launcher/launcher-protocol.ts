/**
 * The numbers of launcher/protocol.h, under the same names. A test reads that file and compares, so that the two sides
 * cannot drift apart. Why: ADR 0015.
 */
export const protocol = {
  PROTOCOL_VERSION: 13,
  /** Of everything that follows a frame's first length. */
  FRAME_BYTES_MAX: 4 * 1024 * 1024,
  FRAME_HEAD_BYTES: 5,
  FIELD_HEAD_BYTES: 5,
  JOBS_MAX: 1024,
  OPEN_FILES_MAX: 256,
  ARGS_MAX: 65_536,
  ENV_MAX: 16_384,
  MOUNTS_MAX: 256,
  RLIMITS_MAX: 16,
  MASKS_MAX: 8192,
  /** Of all masks of a job together. */
  MASK_BYTES_MAX: 1024 * 1024,
  STDIN_BYTES_MAX: 64 * 1024,
  /** The most output of one job that is held, of both streams together. */
  HELD_BYTES_MAX: 32 * 1024,
  HOLD_MS_MAX: 1000,
  HOME_ENTRIES_MAX: 8,
  PATH_BYTES_MAX: 4095,
  HOSTNAME_BYTES_MAX: 63,
} as const;

export const frame = {
  START: 1,
  SIGNAL: 2,
  KILL: 3,
  OPEN: 4,
  CLOSE: 5,
  PING: 6,
  READY: 64,
  STARTED: 65,
  FAILED: 66,
  EXITED: 67,
  OPENED: 68,
  OPEN_FAILED: 69,
  PROTOCOL_ERROR: 70,
  PONG: 71,
  STALLED: 72,
} as const;

export const tag = {
  ARG: 1,
  ENV: 2,
  CWD: 3,
  PROTECTIONS: 4,
  UID: 5,
  GID: 6,
  CGROUP: 7,
  MOUNT: 8,
  HOSTNAME: 9,
  STDOUT_FILE: 10,
  STDERR_FILE: 11,
  STDOUT_MAX: 12,
  STDERR_MAX: 13,
  RLIMIT: 14,
  CGROUP_IO_LIFT: 15,
  GIVE_DIR: 16,
  MASK: 17,
  STDIN: 18,
  STDIN_FILE: 19,
  HOLD_MS: 20,
  HOME: 21,
  HOME_ENTRY: 22,
  HOLD_WRITTEN_MS: 23,
  LISTEN_PORT: 24,
  SIGNO: 32,
  DIR: 33,
  PATH: 34,
  HOW: 35,
  FD: 36,
  VERSION: 64,
  PID: 65,
  STEP: 66,
  ERRNO: 67,
  MESSAGE: 68,
  EXIT_CODE: 69,
  EXIT_SIGNAL: 70,
  CPU_USER_US: 71,
  CPU_SYSTEM_US: 72,
  RSS_BYTES_MAX: 73,
  START_US: 74,
  END_US: 75,
  STDOUT_BYTES: 76,
  STDERR_BYTES: 77,
  STDOUT_END: 78,
  STDERR_END: 79,
  CGROUP_CPU_STAT: 80,
  CGROUP_MEMORY_PEAK: 81,
  CGROUP_MEMORY_EVENTS: 82,
  CGROUP_REMOVED: 83,
  RIGHTS: 84,
  CGROUP_PIDS_PEAK: 85,
  CGROUP_IO_STAT: 86,
  STDOUT: 88,
  STDERR: 89,
  HOME_REMOVED: 90,
} as const;

export const rights = { OWN: 0, USER_NAMESPACE: 1, NONE: 2 } as const;

export const protect = {
  PID_NS: 1 << 0,
  MOUNT_NS: 1 << 1,
  IPC_NS: 1 << 2,
  UTS_NS: 1 << 3,
  NET_NS: 1 << 4,
  CGROUP_NS: 1 << 5,
  IDS: 1 << 6,
  CAPABILITIES: 1 << 7,
  NO_NEW_PRIVS: 1 << 8,
  SECCOMP: 1 << 9,
  ALL: (1 << 10) - 1,
} as const;

export const mountKind = {
  BIND_RO: 1,
  BIND_RW: 2,
  TMPFS: 3,
  PROC: 4,
  DEV: 5,
  SYMLINK: 6,
  FILE: 7,
  DIR: 8,
  JOB: 9,
} as const;

export const mountFlag = {
  SKIP_MISSING: 1 << 0,
  PER_JOB: 1 << 1,
  WRITABLE: 1 << 2,
  NOEXEC: 1 << 3,
  ONE_FILE: 1 << 4,
  IDMAP: 1 << 5,
} as const;

export const homeEntry = { DIRECTORY: 1, FILE: 2 } as const;

export const openHow = { READ: 1 << 0, CREATE: 1 << 1, DIRECTORY: 1 << 2, SAME_MOUNT: 1 << 3 } as const;

export const outputEnd = { COMPLETE: 0, LIMIT: 1, WRITE_FAILED: 2 } as const;

export type MountStep = {
  kind: (typeof mountKind)[keyof typeof mountKind];
  /** In the cage. */
  target: string;
  flags?: number;
  mode?: number;
  sizeBytes?: number;
  /** The owner of an idmapped source. */
  uid?: number;
  gid?: number;
  /** A path on the host, where a link points, or the content of a file. */
  source?: string;
};

/** `ioLift` is the value that lifts its I/O limit before it is removed; empty if there is none. */
export type CgroupPlan = { path: string; ioLift: string };

/** A directory that is made for a job with what is in it; `path` is on the host, those of the entries are relative to it. */
export type PlannedHome = { path: string; entries: readonly HomeEntry[] };
/** A directory, or a file if it has content. */
type HomeEntry = { path: string; content?: string };

/** The launcher's plan of a job. */
export type LauncherPlan = {
  argv: readonly string[];
  /** NAME=value */
  env: readonly string[];
  cwd: string;
  protections: number;
  ids?: { uid: number; gid: number };
  /** A new directory that is given to these ids with everything in it. */
  giveDir?: string;
  /** The job's own cgroup, which is removed with the job. */
  cgroup?: CgroupPlan;
  mounts: readonly MountStep[];
  hostname?: string;
  stdoutFile: string;
  stderrFile: string;
  stdoutBytesMax: number;
  stderrBytesMax: number;
  /** Texts that are overwritten in the output. */
  masks: readonly string[];
  stdin?: Uint8Array | undefined;
  stdinFile?: string | undefined;
  /** How long its output is held in memory, unless it ends before. */
  holdMs?: number;
  /** How long at most after the first byte has arrived; with `holdMs` only. */
  holdWrittenMs?: number;
  home?: PlannedHome;
  /** A port of the loopback in the job's own network that this worker listens on. */
  listenPort?: number;
  rlimits: readonly { resource: number; soft: number; hard: number }[];
};
