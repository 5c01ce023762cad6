/**
 * Which room may import which. The one place where an import direction is decided; everything else only reads it. Why:
 * ADR 0002.
 */
export const rooms: Record<string, Room> = {
  core: { imports: [], packages: "none" },
  signing: {
    imports: ["core"],
    doors: ["src/runtime/files/file-lock.ts", "src/runtime/files/private-file.ts"],
  },
  runtime: { imports: ["core"] },
  contract: { imports: ["core"], packages: "browser" },
  transfer: { imports: ["core", "runtime"] },
  output: {
    imports: ["core"],
    doors: [
      "src/runtime/clock/clock.ts",
      "src/runtime/clock/turns.ts",
      "src/runtime/clock/job-wakes.ts",
      "src/runtime/clock/wake-up.ts",
      // The seams to what the shared driver keeps outputs in; the hub brings the drivers behind them.
      "src/objects/segments.ts",
      "src/store/output-table.ts",
    ],
  },
  objects: { imports: ["core", "runtime"] },
  store: { imports: ["core", "signing"] },
  hub: { imports: ["core", "signing", "runtime", "contract", "output", "objects", "store", "mcp"] },
  sandbox: { imports: ["core", "runtime", "output"] },
  runners: { imports: ["core", "runtime", "signing", "output", "sandbox", "contract", "transfer"] },
  worker: { imports: ["core", "signing", "runtime", "contract", "output", "runners", "sandbox", "transfer"] },
  agent: { imports: ["core", "signing", "runtime", "contract", "output", "runners", "sandbox", "transfer"] },
  // Copied into the folders of workers, which have no other package.
  jobs: { imports: [], packages: "built-in" },
  registry: { imports: ["core", "signing", "runtime", "contract", "store"] },
  client: { imports: ["core", "contract", "runtime", "transfer"] },
  cli: {
    imports: ["client", "core", "runtime", "contract", "registry", "transfer", "mcp"],
    doors: [
      "src/hub/start.ts",
      "src/hub/admin.ts",
      "src/worker/start.ts",
      "src/worker/doctor.ts",
      "src/signing/bundle/verify-bundle.ts",
    ],
  },
  // Served by the hub over HTTP, and by the command line over stdio: neither is behind it.
  mcp: { imports: ["core", "contract", "runtime"] },
  // Puts a hub, a worker and a client into the process of a test.
  testing: {
    imports: [
      "core",
      "contract",
      "runtime",
      "signing",
      "store",
      "hub",
      "runners",
      "sandbox",
      "worker",
      "client",
    ],
  },
  dashboard: {
    imports: ["core", "contract"],
    doors: [
      "src/runtime/http/sse.ts",
      "src/signing/bundle/check-bundle.ts",
      "src/signing/bundle/check-shown.ts",
      "src/signing/weak-points.ts",
    ],
    packages: "browser",
  },
};

/** These run in different processes or places: not even a test file of one may reach into another. */
export const strangers = ["hub", "worker", "agent", "dashboard"];

/**
 * Directions inside a room. Use cases hold the rules and never learn which transport called them; what stands above the
 * drivers of the store never learns which of them it serves.
 */
export const innerWalls: InnerWall[] = [
  { from: "src/hub/use-cases/", never: ["src/hub/http/", "src/hub/rpc/"] },
  { from: "src/hub/use-cases/jobs/", never: ["src/hub/use-cases/workers/"] },
  { from: "src/hub/use-cases/workers/", never: ["src/hub/use-cases/jobs/"] },
  { from: "src/store/", but: ["src/store/sqlite/"], never: ["src/store/sqlite/"] },
  { from: "src/store/", but: ["src/store/postgres/"], never: ["src/store/postgres/"] },
  // Where outputs and files are kept is chosen at the start of the hub; nothing else in it knows of paths.
  ...["use-cases", "views", "services", "http", "rpc"].map((folder) => ({
    from: `src/hub/${folder}/`,
    never: ["src/output/folder/", "src/output/shared/", "src/objects/folder/", "src/objects/s3/"],
  })),
];

/** The only files that may look at the process around them; all others are told what they need. */
export const entryFiles = [
  "src/cli/writ.ts",
  "src/cli/jobctl.ts",
  "src/agent/writ-agent.ts",
  // Part of a program that Writ starts.
  "src/jobs/socket-of-writ.ts",
];

export const lineCountMax = 400;

/** A folder with more sources than this holds a part that could have a folder, and a name, of its own. */
export const folderFilesMax = 25;

/** Patterns that no source may hold. `seen` says what is looked at: without comments, code alone, or every word. */
export const bannedTexts: BannedText[] = [
  {
    name: "process.env, process.argv or process.exit outside an entry file",
    seen: "without-comments-and-quotes",
    pattern: /\bprocess\s*\??\.\s*(?:env|argv|exit)\b|\{[^{}]*\b(?:env|argv|exit)\b[^{}]*\}\s*=\s*process\b/g,
    exempt: (path) => entryFiles.includes(path) || isTest(path),
  },
  {
    name: "env, argv or exit imported from node:process outside an entry file",
    seen: "without-comments",
    pattern: /\{[^{}]*\b(?:env|argv|exit)\b[^{}]*\}\s*from\s*["'](?:node:)?process["']/g,
    exempt: (path) => entryFiles.includes(path) || isTest(path),
  },
  {
    name: "default export",
    seen: "code",
    pattern: /^\s*export\s+default\b|\bas\s+default\b/gm,
    exempt: (path) => path.endsWith(".config.ts"),
  },
  {
    name: "a constant in capitals; write it like any other name, with the unit last",
    seen: "code",
    pattern: /^(?:export )?const [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*\b/gm,
    // Codes that bear the names of SQLite's own header.
    exempt: (path) => path === "src/store/sqlite/database/sqlite-error.ts",
  },
  {
    name: "private or protected; a private member is #private",
    seen: "code",
    pattern: /^\s+(?:private|protected)\s+(?!constructor\b)[\w#*[]/gm,
  },
  { name: "any type", seen: "code", pattern: /(?::|<|\||&|,|=|\bas|\bextends)\s*any\b(?!\s*[(:.])/g },
  { name: "unfinished work", seen: "everything", pattern: /\b(?:TODO|FIXME|XXX)\b/g },
];

/** Exports that nothing but tests uses: each is a check that programs of others are described to make. */
export const testedOnly = ["src/signing/verify-claim.ts verifyClaim"];

/** Folders that grow beside what is in use, and are taken into use once their tests show that they can replace it. */
export const growing = ["src/store/frames/"];

/** Rooms in which errors may still be dropped without a reason. The list only becomes shorter. */
export const stillSilent = ["src/store/"];

/** Tests, and what only tests use. */
export function isForTests(path: string): boolean {
  return isTest(path) || /^(?:test|bench)\/|\.testing\.ts$|^src\/[^/]+\/(?:.*\/)?testing\//.test(path);
}

export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path);
}

export function isGenerated(path: string): boolean {
  return path.startsWith("src/contract/gen/");
}

interface Room {
  /** Other rooms, all of whose files may be imported. */
  imports: string[];
  /** Single files of further rooms. */
  doors?: string[];
  /** "browser" keeps out node:*; "built-in" all but node:*; "none" every package. Without it, anything goes. */
  packages?: "none" | "built-in" | "browser";
}

interface InnerWall {
  from: string;
  /** Below `from`, but on the other side of the wall. */
  but?: string[];
  never: string[];
}

interface BannedText {
  name: string;
  seen: "everything" | "without-comments" | "without-comments-and-quotes" | "code";
  pattern: RegExp;
  exempt?: (path: string) => boolean;
}
