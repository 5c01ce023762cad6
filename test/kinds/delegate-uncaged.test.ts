import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { openPlainSandbox } from "../../src/sandbox/plain/open-plain-sandbox.ts";
import { freshName } from "../support/jobs.ts";
import { startTestWorker, type TestWorker } from "../support/worker.ts";
import { contentOf, delegateSettings, delegateStage, model } from "./delegate-stage.ts";

/** With isolation none, nothing confines an agent. What it changed is compared all the same, and more of it. */
const stage = delegateStage();
let worker: TestWorker | undefined;

afterEach(async () => {
  await worker?.stop();
  worker = undefined;
});

async function startUncaged(script: string): Promise<void> {
  const workDir = join(stage.dir, freshName("work"));
  mkdirSync(workDir);
  const sandbox = await openPlainSandbox({ workDir, uid: process.getuid!() });
  worker = await startTestWorker(stage.hub, {
    sandbox,
    env: { WRIT_WORK_DIR: workDir },
    settings: { delegate: delegateSettings({ scribe: script }), capabilities: [model] },
  });
}

const agent = "echo mended > src/main.txt; echo new > src/new.txt; rm src/lib/deep.txt; cat README.md";
const changed = [
  { path: "src/lib/deep.txt", change: "deleted" },
  { path: "src/main.txt", change: "modified" },
  { path: "src/new.txt", change: "added" },
];

test("without a cage an agent gets a copy of the whole repository, and starts in it", async () => {
  const repo = stage.makeRepo();
  const before = contentOf(repo);
  await startUncaged(agent);
  const job = await stage.delegated(repo);
  expect(job).toMatchObject({
    status: "completed",
    isolation: { level: "none" },
    result: { workspace: "copy", changed },
  });
  expect(contentOf(repo)).toEqual(before);
  expect(await stage.output(job.id)).toBe("read me\n");
});

test("without a cage a change elsewhere in the copy is a violation", async () => {
  const repo = stage.makeRepo();
  const before = contentOf(repo);
  await startUncaged(`${agent}; chmod u+w .; echo x > README.md; echo x > evil`);
  expect(await stage.delegated(repo)).toMatchObject({
    fail_code: "SECURITY_VIOLATION",
    fail_detail: "PATH_TRAVERSAL_ATTEMPT",
    output_files: [],
  });
  expect(contentOf(repo)).toEqual(before);
});

test("without a cage a change elsewhere in the repository is a violation, and is put back", async () => {
  const repo = stage.makeRepo();
  for (const path of ["", "src", "src/lib", "README.md", "src/main.txt"]) chmodSync(join(repo, path), 0o777);
  const before = contentOf(repo);
  await startUncaged(`${agent}; echo x > README.md; echo x > evil`);
  const job = await stage.delegated(repo, { run: { mode: "in-place" } });
  expect(job).toMatchObject({ fail_code: "SECURITY_VIOLATION", fail_detail: "PATH_TRAVERSAL_ATTEMPT" });
  expect(contentOf(repo)).toEqual(before);
  expect(readFileSync(join(repo, "README.md"), "utf8")).toBe("read me\n");
});
