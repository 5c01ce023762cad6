import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { runCli } from "../support/run-cli.ts";
import { delegateStage, git } from "./delegate-stage.ts";

const stage = delegateStage();
const id = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
const commitEnv = {
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@example.com",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "safe.directory",
  GIT_CONFIG_VALUE_0: "*",
};

type Proof = {
  bundle: { job_id: string; receipt: string; document: string };
  directory: string;
  patch: string;
};

let keys: string;
beforeAll(async () => {
  const env = { WRIT_HOME: stage.hub.home };
  keys = join(stage.dir, "keys.pem");
  const exported = await runCli("writ", ["keys", "export"], { env });
  writeFileSync(keys, exported.stdout);
});

/** A repository in which an agent has changed two files; one of them has the name of a diff. */
async function delegated(): Promise<{ repo: string; job: string }> {
  const repo = stage.makeRepo();
  const script = "sed -i s/two/2/ src/main.txt; printf 'diff --git a/src/x b/src/x\\n' > src/changes.diff";
  await stage.startAgents({ scribe: script });
  const { id: job, status } = await stage.delegated(repo);
  expect(status).toBe("completed");
  return { repo, job };
}

function jobctl(repo: string, ...args: string[]) {
  const env = { WRIT_HOME: stage.hub.home, PATH: process.env["PATH"] ?? "", ...commitEnv };
  return runCli("jobctl", args, { env, cwd: repo });
}

/** Offline: another home, and only the keys that the reader trusts. */
function verify(repo: string, revision = "HEAD", ...args: string[]) {
  const env = { WRIT_HOME: join(stage.dir, "nobody"), HOME: stage.dir, PATH: process.env["PATH"] ?? "" };
  const flags = args.length === 0 ? ["--keys", keys] : args;
  return runCli("jobctl", ["verify", "--commit", revision, ...flags], {
    env: { ...env, ...commitEnv },
    cwd: repo,
  });
}

async function committed() {
  const place = await delegated();
  const applied = await jobctl(place.repo, "apply", place.job, "--yes", "--commit");
  expect(applied, applied.stderr).toMatchObject({ code: 0 });
  const head = git(place.repo, "rev-parse", "HEAD").trim();
  const note = git(place.repo, "notes", "--ref=refs/notes/writ", "show", head);
  return { ...place, head, note, proof: JSON.parse(note) as Proof };
}

type Forged = { tree?: string; parent?: string; message?: string; note?: string };

/** A commit that anybody who can write to the repository could make. */
function forge(repo: string, head: string, note: string, change: Forged): string {
  const tree = change.tree ?? git(repo, "rev-parse", `${head}^{tree}`).trim();
  const parent = change.parent ?? git(repo, "rev-parse", `${head}^`).trim();
  const message = change.message ?? git(repo, "log", "-1", "--format=%B", head);
  const made = git(repo, ...id, "commit-tree", tree, "-p", parent, "-m", message).trim();
  const file = join(stage.dir, "note");
  writeFileSync(file, change.note ?? note);
  const blob = git(repo, "hash-object", "-w", file).trim();
  git(repo, ...id, "notes", "--ref=refs/notes/writ", "add", "-f", "-C", blob, made);
  return made;
}

/** The tree of a commit with one more file. */
function withFile(repo: string, path: string, text: string): string {
  const before = git(repo, "rev-parse", "HEAD").trim();
  mkdirSync(join(repo, path, ".."), { recursive: true });
  writeFileSync(join(repo, path), text);
  git(repo, "add", "-f", path);
  const tree = git(repo, "write-tree").trim();
  git(repo, "reset", "-q", "--hard", before);
  return tree;
}

test("a commit is exactly the diff, names its job, and is proven without a hub", async () => {
  const place = await delegated();
  const { repo, job } = place;
  writeFileSync(join(repo, "README.md"), "somebody works here\n");
  const applied = await jobctl(repo, "apply", job, "--yes", "--commit", "--json");
  expect(applied, applied.stderr).toMatchObject({ code: 0 });
  const head = git(repo, "rev-parse", "HEAD").trim();
  expect(JSON.parse(applied.stdout)).toMatchObject({ job_id: job, commit: head });
  expect(git(repo, "log", "-1", "--format=%B")).toBe(`Do it.\n\nWrit-Job: ${job}\n\n`);
  expect(git(repo, "diff", "--name-only", "HEAD^", "HEAD")).toBe("src/changes.diff\nsrc/main.txt\n");
  // What somebody else has changed is neither committed nor lost, and nothing is staged.
  expect(git(repo, "status", "--porcelain")).toBe(" M README.md\n");
  const proven = await verify(repo);
  expect(proven, proven.stdout).toMatchObject({ code: 0 });
  expect(proven.stdout).toMatch(/ok +tree +is that of its parent \w+ with the diff, and nothing else/);
  // The objects of the check are not left in the repository.
  expect(git(repo, "fsck", "--unreachable")).toBe("");
});

test("a commit that was altered is refused, whatever was altered", async () => {
  const { repo, head, note, proof } = await committed();
  const more = withFile(repo, "src/evil.txt", "evil\n");
  const first = git(repo, "rev-parse", "HEAD^").trim();
  const other = git(
    repo,
    ...id,
    "commit-tree",
    withFile(repo, "src/other.txt", "o\n"),
    "-p",
    first,
    "-m",
    "x",
  ).trim();
  const asNote = (change: Partial<Proof>): string => `${JSON.stringify({ ...proof, ...change })}\n`;
  const patch = Buffer.from(proof.patch, "base64").toString();
  const evilPatch = Buffer.from(patch.replace("+2", "+3")).toString("base64");
  const ownFile = readFileSync(join(repo, "src/changes.diff")).toString("base64");
  const receipt = proof.bundle.receipt.replace(/"exit_code":0/, '"exit_code":1');
  const otherJob = proof.bundle.job_id.replace(/.$/, (end) => (end === "0" ? "1" : "0"));
  const cases: [string, Forged, RegExp][] = [
    ["more in its tree", { tree: more }, /broken +tree/],
    ["another parent", { parent: other }, /broken +tree/],
    ["another diff in the note", { note: asNote({ patch: evilPatch }) }, /broken +diff[\s\S]*broken +tree/],
    ["a file of the agent as the diff", { note: asNote({ patch: ownFile }) }, /broken +diff/],
    ["another place in the tree", { note: asNote({ directory: "docs" }) }, /broken +tree/],
    ["another receipt", { note: asNote({ bundle: { ...proof.bundle, receipt } }) }, /broken +receipt/],
    ["another job", { message: `x\n\nWrit-Job: ${otherJob}\n` }, /broken +trailer/],
    ["no job", { message: "x" }, /broken +trailer +the commit names no job/],
    [
      "two jobs",
      { message: `x\n\nWrit-Job: ${proof.bundle.job_id}\nWrit-Job: ${otherJob}\n` },
      /broken +trailer/,
    ],
    ["no proof", { note: "{}" }, /broken +note/],
    ["a way out of the tree", { note: asNote({ directory: "../x" }) }, /broken +note/],
  ];
  for (const [what, change, told] of cases) {
    const result = await verify(repo, forge(repo, head, note, change));
    expect(result.stdout, what).toMatch(told);
    expect(result.code, what).toBe(1);
  }
  const untold = git(repo, ...id, "commit-tree", more, "-p", first, "-m", "x").trim();
  expect(await verify(repo, untold)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/broken +note/),
  });
  // A replacement shows another commit under the same name.
  git(repo, "replace", forge(repo, head, note, { tree: more }), head);
  const hidden = git(repo, "replace", "--list").trim();
  expect(await verify(repo, hidden)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/broken +tree/),
  });
});

test("the proof counts only with keys that the caller trusts", async () => {
  const { repo } = await committed();
  const bare = await verify(repo, "HEAD", "--complete");
  expect(bare).toMatchObject({ code: 1, stdout: expect.stringContaining("no trusted key") });
  const foreign = join(stage.dir, "foreign.pem");
  const key = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";
  writeFileSync(foreign, `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----\n`);
  const refused = await verify(repo, "HEAD", "--keys", foreign);
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringMatching(/broken +hub key/) });
  const nothing = await verify(repo, "nowhere", "--keys", keys);
  expect(nothing).toMatchObject({ code: 4, stderr: expect.stringContaining("there is no commit nowhere") });
});

test("a diff that does not fit the newest commit, or whose files are staged, is not committed, and nothing changes", async () => {
  const { repo, job } = await delegated();
  const before = git(repo, "rev-parse", "HEAD");
  // It fits the files, and not the commit.
  const text = readFileSync(join(repo, "src/main.txt"), "utf8");
  writeFileSync(join(repo, "src/main.txt"), "one\nzwei\nthree\n");
  git(repo, ...id, "commit", "-qam", "another");
  writeFileSync(join(repo, "src/main.txt"), text);
  const unfit = await jobctl(repo, "apply", job, "--yes", "--commit");
  expect(unfit).toMatchObject({ code: 1, stderr: expect.stringContaining("does not fit the commit") });
  git(repo, "reset", "-q", "--hard", before.trim());
  writeFileSync(join(repo, "src/main.txt"), `${text}four\n`);
  git(repo, "add", "src/main.txt");
  const staged = await jobctl(repo, "apply", job, "--yes", "--commit");
  expect(staged).toMatchObject({ code: 1, stderr: expect.stringContaining("staged changes") });
  expect(git(repo, "rev-parse", "HEAD")).toBe(before);
  expect(readFileSync(join(repo, "src/main.txt"), "utf8")).toBe(`${text}four\n`);
});

test("a job in a folder of the repository is committed there, and proven", async () => {
  const repo = stage.makeRepo();
  const sub = join(repo, "src");
  await stage.startAgents({ scribe: "sed -i s/deep/Deep/ lib/deep.txt" }, { allowedPathPrefixes: ["lib"] });
  const { id: job } = await stage.delegated(sub, { allowed: ["lib"] });
  const applied = await jobctl(
    sub,
    "apply",
    job,
    "--yes",
    "--commit",
    "--message",
    "Mend it\n\nSigned-off-by: a",
  );
  expect(applied, applied.stderr).toMatchObject({ code: 0 });
  expect(git(repo, "log", "-1", "--format=%B")).toBe(`Mend it\n\nSigned-off-by: a\nWrit-Job: ${job}\n\n`);
  expect(git(repo, "diff", "--name-only", "HEAD^", "HEAD")).toBe("src/lib/deep.txt\n");
  const proven = await verify(sub);
  expect(proven, proven.stdout).toMatchObject({ code: 0, stdout: expect.stringContaining("below src") });
});

test("several agents get one task, and are compared by their diffs and by what they report", async () => {
  const repo = stage.makeRepo();
  const use = JSON.stringify({
    type: "result",
    total_cost_usd: 0.25,
    usage: { input_tokens: 7, output_tokens: 3 },
  });
  const teller = {
    command: ["sh", "-c", `echo 2 > src/main.txt; echo '${use}'`],
    protocol: "claude-stream" as const,
  };
  await stage.startAgents({ one: "echo one > src/new.txt", teller, bad: "exit 3" });
  const flags = ["--allow", "src", "--provider", "OLLAMA", "--model", "small", "--attempts", "1"];
  const asked = await jobctl(
    repo,
    "delegate",
    "Do it.",
    ...flags,
    "--agent",
    "one,teller,bad",
    "--n",
    "2",
    "--json",
  );
  expect(asked.code).toBe(1);
  const rows = asked.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(
    rows.map(({ agent, status, why, added, removed, cost_usd: cost, tokens }) => [
      agent,
      status,
      why,
      added,
      removed,
      cost,
      tokens,
    ]),
  ).toEqual(
    [1, 2].flatMap(() => [
      ["one", "completed", "", 1, 0, null, null],
      ["teller", "completed", "", 1, 3, 0.25, 10],
      ["bad", expect.stringMatching(/failed|quarantined/), "WORKER_EXIT_ERROR", 0, 0, null, null],
    ]),
  );
  expect(rows[0].sha256).toBe(rows[3].sha256);
  const ids = rows.slice(0, 2).map(({ job_id: job }) => job);
  const compared = await jobctl(repo, "compare", ...ids, "--diff");
  expect(compared, compared.stderr).toMatchObject({ code: 0, stderr: "" });
  expect(compared.stdout).toMatch(/teller +completed +1 +\+1 -3 +0 +10 +\$0\.25/);
  expect(compared.stdout).toContain("+++ b/src/new.txt\n");
  const taken = await jobctl(repo, "apply", ids[0], "--yes");
  expect(taken.code).toBe(0);
  expect(readFileSync(join(repo, "src/new.txt"), "utf8")).toBe("one\n");
});
