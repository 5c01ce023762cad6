import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { obstacle } from "../sandbox/cage-stage.ts";
import { apply, contentOf, delegateStage, owner } from "./delegate-stage.ts";

const stage = delegateStage();

const goodAgent = `
  cat "$JOB_TASK_FILE"
  sed -i s/two/2/ src/main.txt
  mkdir -p src/new && echo fresh > src/new/file.txt
  rm src/lib/deep.txt
  echo '{"said":"done"}' > "$JOB_RESULT_FILE"
`;
const goodChanges = [
  { path: "src/lib/deep.txt", change: "deleted" },
  { path: "src/main.txt", change: "modified" },
  { path: "src/new/file.txt", change: "added" },
];

test("an agent works on a copy: the repository stays as it is, and the diff can be applied", async () => {
  const repo = stage.makeRepo();
  const before = contentOf(repo);
  await stage.startAgents({ scribe: goodAgent });
  const job = await stage.delegated(repo, { run: { expected_artifacts: ["src/new/file.txt", "README.md"] } });
  expect(job).toMatchObject({
    status: "completed",
    result: { mode: "patch", workspace: "copy", changed: goodChanges, answer: { said: "done" } },
  });
  expect(contentOf(repo)).toEqual(before);
  const keys = (job.output_files as { object_key: string }[]).map(({ object_key }) => object_key);
  expect(keys).toEqual([
    `${job.id}/changes.diff`,
    `${job.id}/files/src/main.txt`,
    `${job.id}/files/src/new/file.txt`,
  ]);
  expect(await stage.artifact(job, `${job.id}/files/src/main.txt`)).toBe("one\n2\nthree\n");

  apply(repo, await stage.artifact(job, `${job.id}/changes.diff`));
  expect(readFileSync(join(repo, "src/main.txt"), "utf8")).toBe("one\n2\nthree\n");
  expect(readFileSync(join(repo, "src/new/file.txt"), "utf8")).toBe("fresh\n");
  expect(contentOf(repo)).not.toHaveProperty(["src/lib/deep.txt"]);
});

test("an agent works in place: its files belong to the owner of the repository", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ scribe: goodAgent });
  const job = await stage.delegated(repo, { run: { mode: "in-place" } });
  expect(job).toMatchObject({
    status: "completed",
    result: { mode: "in-place", workspace: "in-place", changed: goodChanges },
  });
  expect(readFileSync(join(repo, "src/main.txt"), "utf8")).toBe("one\n2\nthree\n");
  if (obstacle === null) expect(statSync(join(repo, "src/new/file.txt"))).toMatchObject(owner);
  expect(await stage.artifact(job, `${job.id}/changes.diff`)).toContain("+2\n");
});

test.each(["patch", "in-place"])(
  "git works in the repository, for the agent and for its validation: %s",
  async (mode) => {
    const repo = stage.makeRepo();
    const git = "git status --short && git log --oneline | wc -l && git diff --name-only";
    await stage.startAgents({
      scribe: { command: ["sh", "-c", `sed -i s/two/2/ src/main.txt; ${git}`], validate: ["sh", "-c", git] },
    });
    const job = await stage.delegated(repo, { run: { mode } });
    const stderr = await stage.output(job.id, "stderr");
    expect([job["status"], stderr]).toEqual(["completed", ""]);
    expect(await stage.output(job.id)).toMatch(
      /^ M src\/main\.txt\n(\?\? \.writ-task\/\n)?1\nsrc\/main\.txt\n/,
    );
  },
);

test("the task file says what the job asked for, and the model is the job's", async () => {
  const repo = stage.makeRepo();
  const script =
    'cat "$1"; echo "$2 $3 $JOB_PROVIDER $JOB_MODEL $JOB_MODEL_ENDPOINT $TOKEN $HOME $USER"; pwd; ls -a';
  await stage.startAgents(
    {
      scribe: {
        command: ["sh", "-c", script, "sh", "{task_file}", "{provider}", "{model}"],
        envFromWorker: ["TOKEN", "OTHER"],
      },
    },
    {
      capabilities: [{ provider: "OLLAMA", model: "small", endpoint: "http://127.0.0.1:1", timeoutMs: 1000 }],
      workerEnv: { TOKEN: "sesame-4711", MORE: "x" },
    },
  );
  const more = { steps: ["first this", { next: "that" }] };
  const job = await stage.delegated(repo, {
    allowed: ["src/", "docs"],
    run: { prompt: "Mend `it`.", expected_artifacts: ["src/main.txt"] },
    more,
  });
  expect(job).toMatchObject({ status: "completed", result: { changed: [] }, output_files: [] });
  const output = await stage.output(job.id);
  const parts = [
    `# Writ job ${job.id}`,
    "Mend `it`.",
    "1. first this",
    '2. {"next":"that"}',
    "- `src/`",
    "- `docs`",
    "- `src/main.txt`",
    "You have 300 seconds.",
  ];
  for (const part of parts) expect(output).toContain(part);
  if (obstacle === null) expect(output).toContain("Create the file `/work/TASK.done`, or exit.");
  expect(output).toContain("OLLAMA small OLLAMA small http://127.0.0.1:1 *********** /tmp \n");
  if (obstacle === null) expect(output).toContain(`${repo}\n.\n..\n.git\n.writ-task\nREADME.md\ndocs\nsrc\n`);
});

test("a marker ends an agent that stays, after a grace", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({
    scribe:
      'echo more >> src/main.txt; ln -s /etc/passwd "$JOB_COMPLETION_MARKER"; sleep 1; rm "$JOB_COMPLETION_MARKER"; touch "$JOB_COMPLETION_MARKER"; sleep 0.5; echo summary; sleep 600',
  });
  const job = await stage.delegated(repo);
  expect(job).toMatchObject({
    status: "completed",
    result: { changed: [{ path: "src/main.txt", change: "modified" }] },
  });
  // It had time for its last words.
  expect(await stage.output(job.id)).toBe("summary\n");
});

test("an agent that does nothing is ended, and one that prints or changes a file is not", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({
    sleeper: "echo begun >> src/main.txt; sleep 600",
    talker: "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done",
    typist: "for i in 1 2 3 4 5 6; do echo $i >> src/main.txt; sleep 0.5; done",
  });
  const run = { idle_timeout_sec: 1 };
  const [idle, talker, typist] = await Promise.all([
    stage.delegated(repo, { run }),
    stage.delegated(repo, { run: { ...run, idle_timeout_sec: 2, agent: "talker" } }),
    stage.delegated(repo, { run: { ...run, idle_timeout_sec: 2, agent: "typist" } }),
  ]);
  expect(idle).toMatchObject({ status: "failed", fail_code: "TIMEOUT", fail_detail: "IDLE_TIMEOUT" });
  // What it had done until then is not lost.
  expect(idle.partial_result).toMatchObject({ changed: [{ path: "src/main.txt" }] });
  expect(idle.output_files).toHaveLength(2);
  expect([talker.status, typist.status]).toEqual(["completed", "completed"]);
});

test("an agent that fails keeps its changes as part of the failure", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ scribe: "echo half >> src/main.txt; exit 3" });
  const job = await stage.delegated(repo);
  expect(job).toMatchObject({ fail_code: "EXECUTION_ERROR", fail_detail: "WORKER_EXIT_ERROR", exit_code: 3 });
  expect(job.partial_result).toMatchObject({ changed: [{ path: "src/main.txt", change: "modified" }] });
});

test("an expected file that is missing, and a validation that fails, fail the job", async () => {
  const repo = stage.makeRepo();
  const validate = [
    "sh",
    "-c",
    'echo "$EXPECTED_ARTIFACTS"; grep -q good src/main.txt || { echo it is not good; exit 1; }; touch src/x 2>/dev/null && echo WROTE; echo "$TOKEN"',
  ];
  const entry = { envFromWorker: ["TOKEN"], validate };
  await stage.startAgents(
    {
      bad: { ...entry, command: ["sh", "-c", "echo bad > src/main.txt"] },
      good: { ...entry, command: ["sh", "-c", "echo good > src/main.txt"] },
    },
    { workerEnv: { TOKEN: "sesame-4711" } },
  );
  const missing = await stage.delegated(repo, {
    run: { agent: "good", expected_artifacts: ["src/report.txt"] },
  });
  expect(missing).toMatchObject({ fail_code: "EXECUTION_ERROR", fail_detail: "VALIDATION_FAILED" });
  expect(missing.fail_history!.at(-1)!.reason).toContain('the expected file "src/report.txt" is not there');

  const bad = await stage.delegated(repo, { run: { agent: "bad", expected_artifacts: ["src/main.txt"] } });
  expect(bad).toMatchObject({
    fail_detail: "VALIDATION_FAILED",
    partial_result: { changed: [{ path: "src/main.txt" }] },
  });
  expect(bad.fail_history!.at(-1)!.reason).toContain("src/main.txt\nit is not good");
  expect(bad.output_files).toHaveLength(2);

  expect(await stage.delegated(repo, { run: { agent: "good" } })).toMatchObject({ status: "completed" });
});

test("changes that are too large are not kept, and the job says so", async () => {
  const repo = stage.makeRepo();
  const limits = { maxFileBytes: 1000, maxTotalBytes: 1500 };
  await stage.startAgents(
    {
      one: "head -c 2000 /dev/zero > src/big",
      many: "for i in 1 2; do head -c 900 /dev/zero > src/big$i; done",
    },
    limits,
  );
  const more = { max_attempts: 3 };
  const one = await stage.delegated(repo, { more, run: { agent: "one" } });
  expect(one).toMatchObject({ fail_code: "INVALID_JOB", attempts: 1, output_files: [] });
  expect(one.fail_history!.at(-1)!.reason).toContain(
    '"src/big" has 2000 bytes; a changed file may have 1000',
  );
  const many = await stage.delegated(repo, { run: { agent: "many" } });
  expect(many.fail_history!.at(-1)!.reason).toContain("1800 bytes in all");
});

test("a name that cannot be kept is not tried again", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ scribe: "echo x > 'src/a\\b'" });
  const named = await stage.delegated(repo, { more: { max_attempts: 3 } });
  expect(named).toMatchObject({ fail_code: "INVALID_JOB", attempts: 1 });
  expect(named.fail_history!.at(-1)!.reason).toContain("must not contain a backslash");
});

test("max_concurrent 1: two jobs of one model follow one another", async () => {
  const repo = stage.makeRepo();
  const agent =
    "echo begin $(date +%s%N) > src/times; sleep 0.3; echo end $(date +%s%N) >> src/times; cat src/times";
  await stage.startAgents(
    { scribe: agent },
    { capabilities: [{ provider: "OLLAMA", model: "small", timeoutMs: 1000, maxConcurrent: 1 }] },
  );
  const ids = [await stage.delegate(repo), await stage.delegate(repo)];
  const outputs = [];
  for (const id of ids) {
    expect((await stage.ended(id)).status).toBe("completed");
    outputs.push((await stage.output(id)).match(/\d{10,}/g)!.map(BigInt));
  }
  const [first, second] = outputs.sort((left, right) => (left[0]! < right[0]! ? -1 : 1));
  expect(second![0]! > first![1]!).toBe(true);
});

test("paths that do not exist are made: in the copy only, or in the repository for its owner", async () => {
  const repo = stage.makeRepo();
  const before = contentOf(repo);
  await stage.startAgents({
    scribe:
      "echo a > new/deep/a.txt && echo b > docs/more/b.txt; echo c > README.md; cat README.md docs/guide.md; ls",
  });
  const allowed = ["new/deep", "docs/more/", "src"];
  const patch = await stage.delegated(repo, { allowed });
  expect(patch).toMatchObject({
    status: "completed",
    result: { changed: [{ path: "docs/more/b.txt" }, { path: "new/deep/a.txt" }] },
  });
  expect(contentOf(repo)).toEqual(before);
  expect(await stage.output(patch.id)).toBe("read me\nguide\nREADME.md\ndocs\nnew\nsrc\n");

  const inPlace = await stage.delegated(repo, { allowed, run: { mode: "in-place" } });
  expect(inPlace).toMatchObject({ status: "completed" });
  expect(readFileSync(join(repo, "new/deep/a.txt"), "utf8")).toBe("a\n");
  if (obstacle === null) expect(statSync(join(repo, "new"))).toMatchObject(owner);
});

test("an agent has its own home, and nothing else of the worker", async () => {
  const repo = stage.makeRepo();
  const home = join(stage.dir, "home-of-scribe");
  await stage.startAgents({
    scribe: {
      command: ["sh", "-c", "echo $HOME; echo hi >> ~/notes; cat ~/notes; env"],
      home,
      envFromWorker: [],
    },
  });
  await stage.delegated(repo);
  const job = await stage.delegated(repo);
  const output = await stage.output(job.id);
  expect(output).toMatch(new RegExp(`^${home}\nhi\nhi\n`));
  expect(output).not.toMatch(/WRIT_|NODE_|VITEST/);
  expect(readFileSync(join(home, "notes"), "utf8")).toBe("hi\nhi\n");
});

test("a delegate in the cloud without a repository works in a directory that holds nothing but its task", async () => {
  await stage.startWorker({
    settings: {
      location: "CLOUD",
      capabilities: [{ provider: "OLLAMA", model: "small" }],
      delegate: {
        agents: [
          {
            name: "scribe",
            command: ["sh", "-c", "ls -a; echo hi > a.txt; mkdir d; echo b > d/b"],
            envFromWorker: [],
            validate: ["cat", "d/b"],
          },
        ],
        capabilities: [{ provider: "OLLAMA", model: "small", timeoutMs: 1000 }],
        allowedPathPrefixes: [],
        forbiddenPaths: [],
        maxFileBytes: 1000,
        maxTotalBytes: 1000,
        workerEnv: {},
      },
    },
  });
  const id = await stage.submit(
    { kind: "delegate", agent: "default", prompt: "p" },
    { type: "delegate", provider: "OLLAMA", model: "small", execution_location: "CLOUD", max_attempts: 1 },
  );
  const job = await stage.ended(id);
  expect(job).toMatchObject({
    status: "completed",
    result: { workspace: "private", changed: [{ path: "a.txt" }, { path: "d/b" }] },
  });
  expect(await stage.output(id)).toBe(".\n..\n.writ-task\n");
});

test("an agent or a model that the worker does not have is an invalid job", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ scribe: "true" });
  const job = await stage.delegated(repo, { run: { agent: "nobody" } });
  expect(job).toMatchObject({ status: "failed", fail_code: "INVALID_JOB", fail_detail: "JOB_NOT_ACCEPTED" });
  const gone = await stage.delegated(join(stage.dir, "none"));
  expect(gone).toMatchObject({ status: "failed", fail_code: "INVALID_JOB" });
});

test("somebody else's edit during the job is not part of the diff", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({
    scribe:
      'echo agent >> src/lib/deep.txt; echo ready; until [ -e /work/go ]; do echo .; sleep 0.2; [ "$SECONDS" = 100 ] && exit 1; grep -q person docs/guide.md && touch /work/go; done',
  });
  if (obstacle !== null) return;
  const id = await stage.delegate(repo);
  await expect.poll(() => stage.output(id)).toContain("ready");
  writeFileSync(join(repo, "src/main.txt"), "edited by a person\n");
  writeFileSync(join(repo, "docs/guide.md"), "person\n");
  const job = await stage.ended(id);
  expect(job).toMatchObject({ status: "completed", result: { changed: [{ path: "src/lib/deep.txt" }] } });
  expect(await stage.artifact(job, `${job.id}/changes.diff`)).not.toContain("person");
});
