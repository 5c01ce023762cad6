import { createInterface } from "node:readline";
import { scenes } from "./scenes.ts";
import { SqliteRun } from "./sqlite-run.ts";
import { SqliteStage } from "./sqlite-stage.ts";
import type { Told } from "./verdict.ts";
import { FaultPage, faultsOf, type WriteCall, type WriteFault } from "./write-faults.ts";

/**
 * Plays scenes in a process of its own, because failing-writes.c has to be loaded before libc. Each line on standard input is
 * a `SceneRequest`; the line that answers it is a `SceneReport`.
 */
export type SceneRequest =
  /** The act of a scene; with a long log, the checkpoint that follows it too. */
  | { scene: string; isLogLong?: boolean }
  /** The rows that follow from the act of a scene, which are written later. */
  | { rowsOf: string }
  /** Opening a database for the first time; only every so many calls are struck. */
  | { openingEvery: number };
export type SceneReport = { calls: number; told: Record<Told, number>; wrong: string[] };

/** More would only repeat the first ones. */
const wrongMax = 10;

const [folder = "", pagePath = ""] = process.argv.slice(2);
const stage = new SqliteStage(folder);
await stage.make();
const run = new SqliteRun(stage, new FaultPage(pagePath));
for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await play(JSON.parse(line) as SceneRequest)));

async function play(request: SceneRequest): Promise<SceneReport> {
  if ("openingEvery" in request) {
    const calls = await run.rehearseOpening();
    const struck = calls.filter(({ number, kind }) => kind === "sync" || number % request.openingEvery === 0);
    return strikeAll(struck, (call, fault) => run.faultOpening(call, fault));
  }
  const isOfRows = "rowsOf" in request;
  const name = isOfRows ? request.rowsOf : request.scene;
  const scene = scenes.find((each) => each.name === name)!;
  const isLogLong = !isOfRows && request.isLogLong === true;
  const reference = await run.rehearse(scene, { isLogLong, isOfRows });
  return strikeAll(reference.once.calls, (call, fault) => run.fault(reference, call, fault));
}

type Strike = (call: WriteCall, fault: WriteFault) => Promise<Told>;

async function strikeAll(calls: WriteCall[], strike: Strike): Promise<SceneReport> {
  const told = { done: 0, "nothing changed": 0, "not known": 0 };
  const wrong: string[] = [];
  for (const call of calls)
    for (const fault of faultsOf(call)) {
      if (wrong.length >= wrongMax) break;
      try {
        told[await strike(call, fault)]++;
      } catch (error) {
        wrong.push(`${nameOf(call)}, ${fault.name}: ${(error as Error).message}`);
      }
    }
  return { calls: calls.length, told, wrong };
}

function nameOf({ number, kind, file, bytes }: WriteCall): string {
  return `call ${number}, ${kind} of ${bytes} bytes to writ.db${file}`;
}
