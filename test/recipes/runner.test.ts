import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import { eventually } from "../support/eventually.ts";
import { CheckoutCopy } from "./checkout-copy.ts";
import { readRecipe } from "./read-recipe.ts";

const copy = new CheckoutCopy();

/** Follows docs/recipes/runner.md: its row, its file, its name in the list, and nothing else. */
beforeAll(async () => {
  const [row, runner] = readRecipe("runner");
  copy.edit("src/contract/kinds.ts", "\n};\n\nexport type RunKind", `\n${row}};\n\nexport type RunKind`);
  copy.write("src/runners/greet.ts", runner!);
  const list = "src/runners/create-runners.ts";
  copy.edit(list, "    execRunner(deps),", "    greetRunner(deps),\n    execRunner(deps),");
  copy.edit(
    list,
    "import { execRunner }",
    'import { greetRunner } from "./greet.ts";\nimport { execRunner }',
  );
  await copy.startHub();
});
afterAll(() => copy.remove());

function greet(body: Record<string, unknown> = {}, run: Record<string, unknown> = {}) {
  return copy.call("POST", "/jobs", {
    type: "hello",
    ...body,
    run: { kind: "greet", name: "Ada", ...run },
  });
}

test("the type checker is content with the worker, and with those in the hub who ask the table", async () => {
  const askers = ["use-cases/jobs/submit-jobs.ts", "use-cases/jobs/export-bundle.ts", "views/job-view.ts"];
  const files = askers.map((file) => `src/hub/${file}`);
  expect(await copy.checkTypes("src/worker/start.ts", ...files)).toBe("");
});

test("the hub knows the kind from its row", async () => {
  for (const refused of [
    await greet({}, { name: "" }),
    await greet({}, { surname: "Lovelace" }),
    await greet({ timeout_sec: 61 }),
  ]) {
    expect(refused.status).toBe(400);
  }
});

test("the worker registers the kind, is given a job of it and runs it", async () => {
  const accepted = await greet();
  expect(accepted.status).toBe(201);
  const { id } = accepted.body as { id: string };
  const job = await eventually("the job ends", async () => {
    const { body } = await copy.call("GET", `/jobs/${id}`);
    return (body as JobView).completed_at !== null && (body as JobView);
  });
  expect(job).toMatchObject({ status: "completed", result: "hello Ada", timeout_sec: 60 });
  const [worker] = (await copy.call("GET", "/workers")).body as WorkerView[];
  expect(worker!.kinds).toContain("greet");
});
