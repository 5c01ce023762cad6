import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

test("the template's copy of writ/jobs is made from its sources (npm test -- test/docs/worker-template.test.ts -u)", async () => {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["src/jobs/index.ts"],
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    write: false,
    banner: { js: "// writ/jobs in one file, for Node 20 or newer; made by Writ, so do not edit it here." },
  });
  await expect(outputFiles[0]!.text).toMatchFileSnapshot(join(root, "templates/worker/js/writ-jobs.mjs"));
});
