import { isAbsolute } from "node:path";

export type ServiceRole = "up" | "hub" | "worker";

export type ServicePlan = {
  role: ServiceRole;
  /** For the manager of one user instead of the system's. */
  isOfUser: boolean;
  home: string;
  /** The words that start the program, each one absolute path or a plain word. */
  program: readonly string[];
};

export const serviceNames: Record<ServiceRole, string> = {
  up: "writ.service",
  hub: "writ-hub.service",
  worker: "writ-worker.service",
};

const descriptions: Record<ServiceRole, string> = {
  up: "Writ hub with a worker",
  hub: "Writ hub",
  worker: "Writ worker",
};

/** The account that a hub alone runs as; `systemd-sysusers` makes it from this line. */
export const hubAccount = 'u writ - "Writ hub" /var/lib/writ\n';

/** The systemd unit of a hub, a worker, or both. */
export function unitFile(plan: ServicePlan): string {
  const { role, isOfUser, home, program } = plan;
  const words = [...program, role, "--home", home].map(quote).join(" ");
  return `${sections([
    [
      "Unit",
      [
        `Description=${descriptions[role]}`,
        ...(isOfUser ? [] : ["Wants=network-online.target", "After=network-online.target"]),
        "# Never give up: what made it fail may be repaired at any time.",
        "StartLimitIntervalSec=0",
      ],
    ],
    [
      "Service",
      [
        "Type=exec",
        `ExecStart=${words}`,
        `EnvironmentFile=-${environmentFile(plan)}`,
        ...account(plan),
        "Restart=always",
        "RestartSec=2",
        "# The program itself gets the signal, ends its jobs in order, and only then is the rest killed.",
        "KillMode=mixed",
        "TimeoutStopSec=90",
        "StandardOutput=journal",
        "StandardError=journal",
        "UMask=0077",
        "LimitNOFILE=65536",
        ...(role === "hub" ? hubHardening(plan) : cageRights),
      ],
    ],
    ["Install", [`WantedBy=${isOfUser ? "default.target" : "multi-user.target"}`]],
  ])}\n`;
}

export function environmentFile({ role, isOfUser }: Pick<ServicePlan, "role" | "isOfUser">): string {
  const name = role === "worker" ? "worker.env" : "hub.env";
  return isOfUser ? `%h/.config/writ/${name}` : `/etc/writ/${name}`;
}

/** The name of a folder in /var/lib that systemd makes for a service. */
export function stateNameOf(home: string): string | undefined {
  return /^\/var\/lib\/([a-z-]+)$/.exec(home)?.[1];
}

/** A hub alone needs no rights; a worker builds cages, which it does best as root. */
function account({ role, isOfUser, home }: ServicePlan): string[] {
  if (isOfUser) return [];
  const state = stateNameOf(home);
  return [
    ...(role === "hub" ? ["User=writ", "Group=writ"] : []),
    ...(state === undefined ? [] : [`StateDirectory=${state}`, "StateDirectoryMode=0700"]),
  ];
}

/** The worker makes a cgroup for each job below its own, and one job without memory must not end the others. */
const cageRights = [
  "Delegate=yes",
  "OOMPolicy=continue",
  "TasksMax=infinity",
  "# Not hardened further: a cage is made of mounts, namespaces and device nodes, which those settings take away.",
];

function hubHardening({ isOfUser, home, program }: ServicePlan): string[] {
  const ofKernel = [
    "NoNewPrivileges=yes",
    "LockPersonality=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
  ];
  // A user's own manager may not set up the rest.
  if (isOfUser) return ofKernel;
  const isInHomes = [home, ...program].some((path) => /^\/(?:home|root|run\/user)\//.test(path));
  return [
    ...ofKernel,
    "CapabilityBoundingSet=",
    "ProtectSystem=strict",
    `ReadWritePaths=${quote(home)}`,
    `ProtectHome=${isInHomes ? "read-only" : "yes"}`,
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
    "RestrictNamespaces=yes",
    "SystemCallArchitectures=native",
    "# Without MemoryDenyWriteExecute: JavaScript is compiled while it runs.",
  ];
}

function sections(list: readonly (readonly [string, readonly string[]])[]): string {
  return list.map(([name, lines]) => [`[${name}]`, ...lines].join("\n")).join("\n\n");
}

/** systemd reads quotes, backslashes, percent and dollar signs; a path may hold any of them. */
function quote(word: string): string {
  const escaped = word.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w./@:+-]+$/.test(word) && (isAbsolute(word) || /^[\w.-]/.test(word) || word.startsWith("--"))
    ? word
    : `"${escaped}"`;
}
