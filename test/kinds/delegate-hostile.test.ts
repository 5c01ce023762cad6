import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { cageTest, rootTest } from "../sandbox/cage-stage.ts";
import { readEvents } from "../support/database.ts";
import { contentOf, delegateStage, git, giveTree, makeRepo, owner } from "./delegate-stage.ts";
import { hostileModes } from "./hostile-modes.ts";

/**
 * An agent that wants to reach more than it was given. Each attack is run on a copy and in place; afterwards nothing
 * outside of what it may change is different, and where it left a trace the job ends as a violation.
 */
const stage = delegateStage();
/** What an agent must not touch: a directory of the same owner, beside the repository. */
let outside: string;

beforeAll(() => {
  outside = mkdtempSync(join(stage.dir, "outside-"));
  writeFileSync(join(outside, "secret"), "secret\n");
  mkdirSync(join(outside, "dir"));
  giveTree(outside);
});
afterAll(() => rmSync(outside, { recursive: true, force: true }));

type Attack = {
  script: string;
  /** Whether it leaves something that only an attacker leaves. */
  isViolation?: boolean;
};

const violation = {
  status: "failed",
  attempts: 1,
  fail_code: "SECURITY_VIOLATION",
  fail_detail: "PATH_TRAVERSAL_ATTEMPT",
  output_files: [],
};

const attacks: Record<string, Attack> = {
  "writes outside of allowed paths, by every way there is": {
    script: `
      echo x > README.md; echo x > new.txt; echo x > docs/x; rm docs/guide.md; mkdir made; mv docs moved
      echo x > src/../README.md; echo x > ../evil; echo x > src/../../evil; echo x > OUTSIDE/secret; echo x > OUTSIDE/new
      chmod 777 README.md; touch -d yesterday README.md; truncate -s 0 docs/guide.md; true`,
  },
  "makes links that lead out (P-04)": {
    script: `
      ln -s OUTSIDE/secret src/absolute; ln -s ../../outside src/up; ln -s / src/lib/root; ln -s ../../../no/such src/lib/dangling
      echo x > src/absolute; echo x > src/lib/dangling; true`,
    isViolation: true,
  },
  "hides the way out in the middle of a link": {
    script: "mkdir -p src/a/b; ln -s ../.. src/a/b/d; ln -s a/b/d/../../x src/out; true",
    isViolation: true,
  },
  "swaps directories for links while it works": {
    script:
      "mv src/lib src/was; ln -s OUTSIDE src/lib; echo x > src/lib/secret; rm src/lib; ln -s ../docs src/lib; echo x > src/lib/guide.md; true",
  },
  "replaces a directory that may change": {
    script: "mv src src2; rm -rf src; ln -s OUTSIDE src; echo x > src/secret; true",
    isViolation: true,
  },
  "makes hard links": {
    script:
      "ln README.md src/hard; ln OUTSIDE/secret src/hard2; ln docs/guide.md src/hard3; ln .git/config src/hard4; ln /etc/passwd src/hard5; true",
  },
  "uses /proc to get elsewhere": {
    script: `
      for pid in /proc/[0-9]*; do echo x > $pid/root/evil; echo x > $pid/cwd/evil; for fd in $pid/fd/*; do echo x > $fd/evil; done; done
      echo x > /proc/self/root/OUTSIDE/secret; echo x > /proc/1/root/OUTSIDE/secret; ln -s /proc/self/root/OUTSIDE/secret /work/p; echo x > /work/p; true`,
  },
  "leaves a link into /proc": { script: "ln -s /proc/self/root/etc/passwd src/p; true", isViolation: true },
  "makes set-id programs": {
    script:
      "cp /bin/true src/tool; chmod u+s src/tool; chmod g+s src/tool; chmod 6755 src/tool; chmod 755 src/tool; true",
  },
  "makes device files": {
    script:
      "mknod src/null c 1 3; mknod src/disk b 8 0; mknod /work/null c 1 3; mkfifo src/pipe; rm -f src/pipe; true",
  },
  "writes hooks and configuration of git": {
    script: `
      echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.fsmonitor 'touch OUTSIDE/evil'
      git config --file .git/config core.hooksPath src; echo '[core]' >> .git/config; rm -rf .git; mv .git gone; git commit -am evil; true`,
  },
  "makes a repository of its own inside, with hooks": {
    script:
      "cd src && (git init -q . || mkdir -p .git/hooks); mkdir -p .git/hooks; echo 'touch OUTSIDE/evil' > .git/hooks/post-checkout; true",
    isViolation: true,
  },
  "makes another spelling of .git": {
    script: "mkdir -p src/.GIT/hooks; echo x > src/.GIT/config; true",
    isViolation: true,
  },
  "leads a link into .git": {
    script: "ln -s ../.git/hooks src/hooks; echo x > src/hooks/pre-commit; true",
    isViolation: true,
  },
  "removes the task file and forges what the worker reads": {
    script: `
      rm -f "$JOB_TASK_FILE" /work/input.json; ln -s OUTSIDE/secret "$JOB_TASK_FILE"
      mkdir -p "$JOB_OUTPUT_DIR/files"; echo forged > "$JOB_OUTPUT_DIR/changes.diff"
      echo '{"files":[{"local_path":"changes.diff","object_key":"changes.diff"},{"local_path":"/etc/passwd","object_key":"x"}]}' > "$JOB_OUTPUT_DIR/__manifest__.json"
      rm -rf "$JOB_COMPLETION_MARKER"; mkdir "$JOB_COMPLETION_MARKER"; rmdir "$JOB_COMPLETION_MARKER"; ln -s OUTSIDE/marker "$JOB_COMPLETION_MARKER"; true`,
  },
  "reads what it should not see": {
    script: `cat OUTSIDE/secret && echo SEEN; ls HOME && echo SEEN; cat /etc/shadow && echo SEEN; ls /root && echo SEEN; true`,
  },
};

function scriptOf({ script }: Attack): string {
  return script.replaceAll("OUTSIDE", outside).replaceAll("HOME", stage.hub.home);
}

/** Everything but what the agent may change, and the directory itself. */
function restOf(content: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(content).filter(([path]) => !path.startsWith("src/")));
}

function withoutSetAside(content: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(content).filter(([path]) => !path.includes("-set-aside-")));
}

describe.each(hostileModes)("in mode %s", (mode) => {
  for (const [name, attack] of Object.entries(attacks)) {
    cageTest(`an agent that ${name} changes nothing outside`, async () => {
      const repo = stage.makeRepo();
      const before = contentOf(repo);
      const outsideBefore = contentOf(outside);
      await stage.startAgents({ mallory: scriptOf(attack) });
      const job = await stage.delegated(repo, { run: { mode } });

      expect(contentOf(outside)).toEqual(outsideBefore);
      expect(existsSync(join(repo, "..", "evil"))).toBe(false);
      if (mode === "patch") expect(contentOf(repo)).toEqual(before);
      // What looks like a repository is never removed; git does not find it under its new name.
      else if (attack.isViolation) expect(withoutSetAside(contentOf(repo))).toEqual(before);
      else expect(restOf(contentOf(repo))).toEqual(restOf(before));
      if (attack.isViolation) {
        expect(job).toMatchObject(violation);
        expect(job.partial_result).toBeNull();
        const events = readEvents(stage.hub.home).filter(({ job_id }) => job_id === job.id);
        expect(events.map(({ event }) => event)).toContain("PATH_TRAVERSAL_ATTEMPT");
      } else expect(job).toMatchObject({ status: "completed" });
      expect(await stage.output(job.id)).not.toContain("SEEN");
    });
  }
});

cageTest("O-04: a repository inside that an agent moves in place keeps its history", async () => {
  const repo = stage.makeRepo();
  makeRepo(join(repo, "src/nested"));
  const before = contentOf(repo);
  await stage.startAgents({ mallory: "mv src/nested src/moved" });
  const job = await stage.delegated(repo, { run: { mode: "in-place" } });
  expect(job).toMatchObject(violation);
  expect(job.fail_history!.at(-1)!.reason).not.toContain("still changed");
  expect(contentOf(repo)).toEqual(before);
  expect(git(join(repo, "src/nested"), "log", "--format=%s")).toBe("first\n");
});

cageTest("O-04: a hard link in a path that may change does not change the file elsewhere", async () => {
  const repo = stage.makeRepo();
  linkSync(join(outside, "secret"), join(repo, "src/linked"));
  const before = contentOf(repo);
  await stage.startAgents({ mallory: "echo x > src/linked; chmod 777 src/linked; echo x > src/new" });
  const job = await stage.delegated(repo, { run: { mode: "in-place" } });
  expect(job).toMatchObject({ status: "completed", result: { mode: "in-place", workspace: "in-place" } });
  expect(contentOf(outside)).toMatchObject({ secret: "secret\n" });
  expect(statSync(join(outside, "secret")).mode & 0o777).toBe(0o644);
  expect(contentOf(repo)).toEqual({ ...before, "src/linked": "x\n", "src/new": "x\n" });
  const { uid, gid } = statSync(join(repo, "src/new"));
  expect({ uid, gid }).toEqual(owner);
});

/** The home of a hub, of the same owner as the repository that it is in. */
function makeHome(dir: string): void {
  mkdirSync(join(dir, "keys"), { recursive: true, mode: 0o700 });
  for (const name of ["admin.token", "keys/ring.json", "keys/signing-0123456789abcdef.pem"])
    writeFileSync(join(dir, name), "sesame\n", { mode: 0o600 });
  giveTree(dir);
}

const reads = `find . -name admin.token; cat lib/hub/admin.token src/deep/hub/admin.token src/token
  mv src/deep src/moved && cat src/moved/hub/admin.token; cp -r src/deep/hub src/copied; cp src/token src/token2; true`;

cageTest("O-02: an agent sees no home, key or token of Writ below its repository", async () => {
  for (const mode of ["patch", "in-place"]) {
    const repo = stage.makeRepo();
    for (const at of ["lib/hub", "src/deep/hub"]) makeHome(join(repo, at));
    writeFileSync(join(repo, "src/token"), `sk_admin_${"sesame".repeat(6)}`, { mode: 0o600 });
    giveTree(repo);
    await stage.startAgents({ mallory: reads });
    const job = await stage.delegated(repo, { run: { mode } });
    expect([mode, await stage.output(job.id)]).toEqual([mode, expect.not.stringContaining("sesame")]);
    const diff = await stage.artifact(job, `${job.id}/changes.diff`).catch(() => "");
    expect([mode, diff]).toEqual([mode, expect.not.stringContaining("sesame")]);
    for (const at of ["lib/hub", "src/deep/hub"])
      expect(contentOf(join(repo, at))).toHaveProperty(["admin.token"], "sesame\n");
  }
});

cageTest(
  "O-02: a repository that holds the hub's own home can be worked on, and the home looks empty",
  async () => {
    for (const mode of ["patch", "in-place"]) {
      const repo = stage.makeRepo();
      const home = join(repo, ".writ");
      makeHome(home);
      mkdirSync(join(home, "worker"), { mode: 0o700 });
      const forbiddenPaths = [join(home, "worker"), home];
      await stage.startAgents({ scribe: "ls -A .writ; echo mended >> src/main.txt" }, { forbiddenPaths });
      const job = await stage.delegated(repo, { run: { mode } });
      expect([mode, job.status, await stage.output(job.id)]).toEqual([mode, "completed", ""]);
      expect(job.result).toMatchObject({ changed: [{ path: "src/main.txt" }] });
    }
  },
);

rootTest(
  "O-02: what only its owner may read stays closed outside of allowed paths, and is named",
  async () => {
    const repo = stage.makeRepo();
    for (const path of [".env", "src/.env"]) writeFileSync(join(repo, path), `${path}\n`, { mode: 0o600 });
    giveTree(repo);
    await stage.startAgents({ reader: "cat src/.env README.md && cat .env" });
    for (const mode of ["patch", "in-place"]) {
      const job = await stage.delegated(repo, { run: { mode } });
      expect(await stage.output(job.id)).toBe("src/.env\nread me\n");
      expect(job).toMatchObject({ status: "failed", fail_code: "EXECUTION_ERROR" });
      const why = 'the agent could not read these, because only their owner may: ".env"';
      expect(job.fail_history!.at(-1)!.reason).toContain(why);
    }
    chmodSync(repo, 0o700);
    const refused = await stage.delegated(repo);
    expect(refused).toMatchObject({ fail_code: "INVALID_JOB", fail_detail: "JOB_NOT_ACCEPTED" });
    expect(refused.fail_history!.at(-1)!.reason).toContain(`cannot read ${repo} (mode 0700)`);
  },
);
