import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

/** In a process of its own: it uses up all of its descriptors. */
const program = `
  import { closeSync, openSync } from "node:fs";
  const { AgentProcess } = await import(${JSON.stringify(join(import.meta.dirname, "agent-process.ts"))});
  const open = [];
  try { for (;;) open.push(openSync("/dev/null", "r")); } catch {}
  const agent = new AgentProcess({ argv: ["true"], env: {}, onPiece() {} });
  agent.send({ hurry: true });
  agent.abandon();
  const { exit } = await agent.exited;
  agent.kill();
  for (const fd of open) closeSync(fd);
  console.log(agent.pid, exit.spawnCode);
`;

test("a worker without free descriptors cannot start an agent and continues", () => {
  const args = ["-c", 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, program];
  const { status, stdout, stderr } = spawnSync("sh", args, { encoding: "utf8" });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "0 EMFILE\n", stderr: "" });
});
