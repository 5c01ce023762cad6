import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readBlock } from "../docs/page.ts";
import { AgentStage } from "./agent-stage.ts";

const page = "docs/container-workers.md";
const codeOf = (block: string) => /```\w+\n(.*?)```/s.exec(readBlock(page, block))![1]!;

test("what docs/container-workers.md shows of writ-agent is what happens", () => {
  const stage = new AgentStage();
  onTestFinished(() => stage.remove());
  writeFileSync(join(stage.dir, "worker.sh"), codeOf("exec_per_job"));
  const shown = codeOf("run-job");
  // Commands are the lines after `$`, and those of the document that one of them writes.
  const commands = shown.replaceAll(/^(?!\$ )(?!\{$| {2}"|\}$|END$).*\n/gm, "").replaceAll(/^\$ /gm, "");
  const output = shown.replaceAll(/^\$ cat .*?^END\n/gms, "").replaceAll(/^\$ .*\n/gm, "");
  const PATH = `${join(import.meta.dirname, "../../bin")}:${stage.env["PATH"]}`;
  const env = { ...stage.env, PATH };
  expect(execFileSync("sh", ["-c", commands], { cwd: stage.dir, env, encoding: "utf8" })).toBe(output);
});
