import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { eventTable } from "../../src/core/events.ts";
import { checkPaths } from "../../src/runners/delegate/repository/check-paths.ts";
import { cageTest, rootTest } from "../sandbox/cage-stage.ts";
import { readEvents } from "../support/database.ts";
import { issueToken } from "../support/tokens.ts";
import { contentOf, delegateStage, giveTree, model } from "./delegate-stage.ts";

/** Group P: what a job may name as a path, what the hub refuses of it, and what the worker refuses. */
const stage = delegateStage();

const violation = {
  status: "failed",
  attempts: 1,
  fail_code: "SECURITY_VIOLATION",
  fail_detail: "PATH_TRAVERSAL_ATTEMPT",
};

/** The hub's answer to a job that may change these paths; nothing is created when it is 400. */
async function submitting(
  allowed_paths: unknown,
  repo_root = "/srv/repo",
): Promise<{ status: number; text: string }> {
  const run = { kind: "delegate", agent: "a", prompt: "p" };
  const body = { type: "paths.v1", run, ...model, repo_root, allowed_paths };
  return stage.hub.call("POST", "/jobs", { token: stage.hub.admin, body });
}

async function countJobs(): Promise<number> {
  const list = await stage.hub.must("GET", "/jobs?type=paths.v1&limit=1000", { token: stage.hub.admin });
  return list.json<unknown[]>().length;
}

async function expectRefused(paths: readonly unknown[]): Promise<void> {
  const before = await countJobs();
  for (const path of paths) {
    const { status, text } = await submitting([path]);
    expect([path, status, text]).toEqual([path, 400, expect.stringContaining("allowed_paths")]);
  }
  expect(await countJobs()).toBe(before);
}

/** What the worker itself makes of such a path, whichever hub signed it. */
async function checked(
  allowed: string[],
  repo_root: string,
  prefixes = ["src/"],
  repoRoots?: string[],
): Promise<string> {
  const settings = { allowedPathPrefixes: prefixes, forbiddenPaths: ["/etc/", "/proc/"], repoRoots };
  return checkPaths(settings, { repo_root, allowed_paths: allowed }).then(
    ({ allowed: found }) => found.map(({ path }) => path).join(" "),
    (error: { detail?: string; message: string }) => error.detail ?? error.message,
  );
}

/** The job was refused by the worker, the audit trail has it, and the repository is as it was. */
async function expectViolation(job: JobView): Promise<void> {
  expect(job).toMatchObject(violation);
  const events = readEvents(stage.hub.home).filter(({ job_id }) => job_id === job.id);
  expect(events.filter(({ event }) => event === "PATH_TRAVERSAL_ATTEMPT")).toHaveLength(1);
  expect(await stage.output(job.id)).toBe("");
}

const traversals = ["../etc", "src/../../x", "src/..\\x", "..%2f", "%2e%2e/", "src/%2E%2e/x", "src/..%5cx"];

test("P-01: a path that goes up, however it is written, is refused by the hub and by the worker", async () => {
  await expectRefused(traversals);
  const repo = stage.makeRepo();
  for (const path of traversals)
    expect([path, await checked([path], repo, ["src/", "..%2f", "%2e%2e"])]).toEqual([
      path,
      "PATH_TRAVERSAL_ATTEMPT",
    ]);
});

test("P-01: the audit trail has who asked for each such path, and no user is blocked", async () => {
  const { token, id } = await issueToken(stage.hub, { role: "user", tenant_id: "climbers" });
  const asked = {
    token,
    body: { type: "paths.v1", run: { kind: "delegate", agent: "a", prompt: "p" }, ...model },
  };
  const before = readEvents(stage.hub.home).at(-1)!.seq;
  const answers = [];
  for (const path of [...traversals, "/srv/etc"]) {
    const body = { ...asked.body, repo_root: "/srv/repo", allowed_paths: [path] };
    answers.push(await stage.hub.call("POST", "/jobs", { token, body }));
  }
  answers.push(
    await stage.hub.call("POST", "/jobs", { token, body: { ...asked.body, repo_root: "/srv/../etc" } }),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
  const isNamed = answers.map(({ text }) => text.includes("PATH_TRAVERSAL_ATTEMPT"));
  expect(isNamed).toEqual(isNamed.map(() => true));

  const events = readEvents(stage.hub.home, before);
  const recorded = events.filter(({ event }) => event === "PATH_TRAVERSAL_ATTEMPT");
  expect(recorded).toHaveLength(answers.length);
  expect(recorded[0]).toMatchObject({
    tenant_id: "climbers",
    job_id: null,
    origin: { endpoint: "/jobs", method: "POST" },
    details: {
      token_id: id,
      role: "user",
      error: expect.stringContaining("allowed_paths[0]: must not contain .."),
    },
  });
  expect(events.filter(({ details }) => "evidence_against" in details)).toEqual([]);
  expect(eventTable.PATH_TRAVERSAL_ATTEMPT.severity).toBe("HIGH");
});

test("P-02: an absolute path, and a repository in a forbidden place, are refused", async () => {
  const absolute = ["/etc/passwd", "//etc", "/proc/self/root/etc"];
  await expectRefused(absolute);
  const repo = stage.makeRepo();
  for (const path of absolute) expect(await checked([path], repo, [path])).toBe("PATH_TRAVERSAL_ATTEMPT");
  symlinkSync("/etc", join(stage.dir, "looks-harmless"));
  for (const root of [
    "/etc",
    "/etc/ssl",
    "/proc/self/root/etc",
    `${stage.dir}/../../../etc`,
    join(stage.dir, "looks-harmless"),
  ])
    expect([root, await checked([], root)]).toEqual([root, "PATH_TRAVERSAL_ATTEMPT"]);

  await stage.startAgents({ scribe: "echo ran" });
  await expectViolation(await stage.delegated("/etc", { allowed: [] }));
  await expectViolation(await stage.delegated(join(stage.dir, "looks-harmless"), { allowed: [] }));
});

test("P-02: the home of a hub is no repository, nor is what is in it, and an agent sees none inside a repository", async () => {
  const { home } = stage.hub;
  for (const root of [home, join(home, "keys")])
    expect([root, await checked([], root)]).toEqual([root, "PATH_TRAVERSAL_ATTEMPT"]);

  const repo = stage.makeRepo();
  mkdirSync(join(repo, ".writ/keys"), { recursive: true });
  writeFileSync(join(repo, ".writ/keys/ring.json"), "{}");
  const { hidden } = await checkPaths(
    { allowedPathPrefixes: ["src/"], forbiddenPaths: [] },
    { repo_root: repo, allowed_paths: ["src/"] },
  );
  expect(hidden).toEqual([".writ"]);
});

test("P-02: with repo_roots a job names no repository elsewhere, not by a link either", async () => {
  const repo = stage.makeRepo();
  const allowed = join(stage.dir, "repositories");
  mkdirSync(join(allowed, "one/src"), { recursive: true });
  symlinkSync(repo, join(allowed, "leads-out"));
  for (const root of [repo, join(allowed, "leads-out"), `${allowed}-evil`]) {
    mkdirSync(root, { recursive: true });
    expect([root, await checked(["src/"], root, ["src/"], [allowed])]).toEqual([
      root,
      "PATH_TRAVERSAL_ATTEMPT",
    ]);
  }
  expect(await checked(["src/"], join(allowed, "one"), ["src/"], [allowed])).toBe("src");
  expect(await checked(["src/"], repo, ["src/"], [])).toBe("PATH_TRAVERSAL_ATTEMPT");
});

test("P-03: prefixes are compared by component", async () => {
  const repo = stage.makeRepo();
  for (const dir of ["src-evil", "srcfile"]) mkdirSync(join(repo, dir));
  const before = contentOf(repo);
  for (const prefix of ["src", "src/", "./src"]) {
    for (const path of ["src-evil/", "srcfile", "sr", "."])
      expect(await checked([path], repo, [prefix])).toBe("PATH_TRAVERSAL_ATTEMPT");
    for (const path of ["src", "src/", "src//lib/", "./src"])
      expect(await checked([path], repo, [prefix])).toMatch(/^src(\/lib)?$/);
  }
  await stage.startAgents({ scribe: "echo ran; echo x > src-evil/x" });
  await expectViolation(await stage.delegated(repo, { allowed: ["src", "src-evil/"] }));
  expect(contentOf(repo)).toEqual(before);
});

test("P-04: a path through a link is refused, and what it points to is not created", async () => {
  const repo = stage.makeRepo();
  const outside = join(stage.dir, "p04");
  mkdirSync(outside);
  symlinkSync(outside, join(repo, "src/absolute"));
  symlinkSync("../../p04", join(repo, "src/relative"));
  symlinkSync("absolute", join(repo, "src/nested"));
  symlinkSync(join(outside, "none"), join(repo, "src/dangling"));
  symlinkSync("lib", join(repo, "src/inside"));
  await stage.startAgents({ scribe: "echo ran" });
  for (const path of ["src/absolute", "src/relative/x", "src/nested/deep", "src/dangling", "src/inside"]) {
    await expectViolation(await stage.delegated(repo, { allowed: [path], run: { mode: "in-place" } }));
    await expectViolation(await stage.delegated(repo, { allowed: [path] }));
  }
  expect(contentOf(outside)).toEqual({});
});

rootTest(
  "P-06: what is mounted in a path that may change is neither shown nor changed nor kept",
  async () => {
    const repo = stage.makeRepo();
    const mounted = join(repo, "src/mounted");
    mkdirSync(mounted);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "writ-test", mounted]);
    try {
      writeFileSync(join(mounted, "secret"), "secret\n");
      await stage.startAgents({
        scribe: "cat src/mounted/secret; echo x > src/mounted/new; echo x > src/new; true",
      });
      const job = await stage.delegated(repo);
      expect(job).toMatchObject({ status: "completed", result: { changed: [{ path: "src/new" }] } });
      expect(await stage.output(job.id)).not.toContain("secret");
      expect(contentOf(mounted)).toEqual({ secret: "secret\n" });
      // A path that is itself a mount point leads to another file system.
      await expectViolation(await stage.delegated(repo, { allowed: ["src/mounted"] }));
    } finally {
      execFileSync("umount", [mounted]);
    }
  },
);

test("P-08: what is no path is refused before anything looks at it", async () => {
  await expectRefused([
    "src/\0x",
    "src/a\nb",
    "src/\u001b[31m",
    `src/${"x".repeat(4096)}`,
    `src/${"d/".repeat(256)}x`,
  ]);
});

cageTest("P-09: other scripts are taken as they are written", async () => {
  const repo = stage.makeRepo();
  const names = ["．．／x", "e\u0301", "\u202egnp.exe", "zero\u200bwidth", "%2e"];
  const allowed = names.map((name) => `src/${name}`);
  await stage.startAgents({
    scribe: 'for dir in src/*/; do [ "$dir" = src/lib/ ] || echo x > "$dir/file"; done',
  });
  const job = await stage.delegated(repo, { allowed, run: { mode: "in-place" } });
  const written = Object.keys(contentOf(repo)).filter((path) => path.endsWith("/file"));
  expect(written.sort()).toEqual(allowed.map((path) => `${path}/file`).sort());
  expect(job).toMatchObject({ status: "completed" });
  expect((job.result as { changed: { path: string }[] }).changed.map(({ path }) => path).sort()).toEqual(
    written,
  );
});

test("P-10: case counts, and nothing is expanded", async () => {
  await expectRefused(["~/.ssh", "~root"]);
  const repo = stage.makeRepo();
  for (const path of ["SRC/", "Src/x", "$HOME", "$HOME/x", "*"])
    expect(await checked([path], repo)).toBe("PATH_TRAVERSAL_ATTEMPT");
  expect(await checked(["src/*", "src/$HOME", "src/~"], repo)).toBe("src/* src/$HOME src/~");
  await stage.startAgents({ scribe: "echo x >> src/main.txt; echo x > 'src/*/a'" });
  const job = await stage.delegated(repo, { allowed: ["src/*"], run: { mode: "in-place" } });
  expect(readFileSync(join(repo, "src/main.txt"), "utf8")).toBe("one\ntwo\nthree\n");
  expect(job.result).toMatchObject({ changed: [{ path: "src/*/a" }] });
});

describe("P-13: a list of paths", () => {
  cageTest("that is empty allows nothing", async () => {
    const repo = stage.makeRepo();
    const before = contentOf(repo);
    await stage.startAgents({
      scribe: "echo x > src/x; echo x >> src/main.txt; rm README.md; cat src/main.txt",
    });
    for (const mode of ["patch", "in-place"]) {
      const job = await stage.delegated(repo, { allowed: [], run: { mode } });
      expect(job).toMatchObject({ status: "completed", result: { changed: [] } });
      expect(contentOf(repo)).toEqual(before);
    }
  });

  test("with an entry that names nothing, or with too many, is refused", async () => {
    await expectRefused(["", ".", "./", "/", "..", ".git", "src/.git/hooks", "src/.GIT"]);
    const { status, text } = await submitting(Array.from({ length: 10_000 }, (_, index) => `src/${index}`));
    expect([status, text]).toEqual([400, expect.stringContaining("allowed_paths")]);
  });
});

cageTest("forbidden paths inside a repository look empty, also without root", async () => {
  const repo = stage.makeRepo();
  for (const dir of ["home", "src/keys"]) mkdirSync(join(repo, dir));
  writeFileSync(join(repo, "home/token"), "sesame\n", { mode: 0o644 });
  writeFileSync(join(repo, "src/keys/key"), "sesame\n", { mode: 0o644 });
  writeFileSync(join(repo, "secret.txt"), "sesame\n", { mode: 0o644 });
  giveTree(repo);
  const before = contentOf(repo);
  const forbiddenPaths = ["home", "src/keys/", "secret.txt"].map((path) => join(repo, path));
  await stage.startAgents(
    {
      scribe:
        "cat home/* src/keys/* secret.txt; echo x > src/keys/key; echo x > home/x; echo x > new/a; true",
    },
    { forbiddenPaths },
  );
  for (const [mode, allowed] of [
    ["patch", ["src"]],
    ["patch", ["src", "new"]],
    ["in-place", ["src"]],
  ] as const) {
    const job = await stage.delegated(repo, { allowed: [...allowed], run: { mode } });
    expect([mode, job.status]).toEqual([mode, "completed"]);
    expect(await stage.output(job.id)).not.toContain("sesame");
    expect(await stage.artifact(job, `${job.id}/changes.diff`).catch(() => "")).not.toContain("sesame");
    expect(contentOf(repo)).toEqual(before);
  }
  await expectViolation(await stage.delegated(repo, { allowed: ["src/keys/x"] }));
  expect(existsSync(join(repo, "src/keys/x"))).toBe(false);
});
