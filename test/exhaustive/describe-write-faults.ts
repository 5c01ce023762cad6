import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isWrite } from "../../src/store/act-names.ts";
import type { SceneReport, SceneRequest } from "./play-sqlite.ts";
import { scenes } from "./scenes.ts";
import { FaultPage } from "./write-faults.ts";

type Plan = { rule: string; openingEvery: number; isWithCheckpoint: boolean };

/** Acts are struck at every call in both; a checkpoint works on a log of 32 MB, and a first opening writes hundreds of pages. */
export const everyWrite: Plan = {
  rule: "every act, opening and checkpoint, every call, every fault",
  openingEvery: 1,
  isWithCheckpoint: true,
};
export const everyAct: Plan = {
  rule: "every act, every call, every fault; opening at its syncs and each twentieth call",
  openingEvery: 20,
  isWithCheckpoint: false,
};

const noCompiler = spawnSync("cc", ["--version"]).error === undefined ? null : "no C compiler";

/**
 * Every act that writes is done once to count the system calls by which it does so, and then again for each of them and each
 * fault. What is stored must be as before or as after the act, for the store itself and for one that is opened after a crash;
 * the caller must have been told which, or that it is not known; and the next call must find everything in order.
 */
export function describeWriteFaults(plan: Plan): void {
  describe.skipIf(noCompiler !== null)(
    `faults at SQLite${noCompiler ? ` (not capable: ${noCompiler})` : ""}`,
    () => {
      let player: Player;
      const totals = { scenes: 0, calls: 0, done: 0, "nothing changed": 0, "not known": 0 };
      beforeAll(() => {
        player = new Player();
      });
      afterAll(async () => {
        await player.stop();
        const { scenes, calls, ...told } = totals;
        const faults = Object.values(told).reduce((sum, count) => sum + count);
        const parts = Object.entries(told).map(([what, count]) => `"${what}" ${count} times`);
        console.log(
          `faults at SQLite (${plan.rule}): ${scenes} scenes with ${calls} calls that write, ${faults} faults; callers were told ${parts.join(", ")}`,
        );
      });

      async function play(request: SceneRequest): Promise<SceneReport> {
        const report = await player.play(request);
        totals.scenes++;
        totals.calls += report.calls;
        for (const what of ["done", "nothing changed", "not known"] as const)
          totals[what] += report.told[what];
        expect(report.wrong).toEqual([]);
        return report;
      }

      test.each(scenes.filter(({ act }) => isWrite(act)).map(({ name }) => name))(
        "%s happens or does not, and the caller is told",
        async (scene) => {
          await play({ scene });
        },
      );

      test.each(["submitJobs", "changeJobs to fail"] as const)(
        "the rows that follow from %s are written as a whole, or by the next read",
        async (act) => {
          expect((await play({ rowsOf: act })).calls).toBeGreaterThan(1);
        },
      );

      test("a database that could not be made is made the next time", async () => {
        expect((await play({ openingEvery: plan.openingEvery })).calls).toBeGreaterThan(10);
      });

      if (!plan.isWithCheckpoint) return;
      test("a checkpoint that fails costs nothing that was answered", async () => {
        const [short, long] = [
          await play({ scene: "submitJobs" }),
          await play({ scene: "submitJobs", isLogLong: true }),
        ];
        expect(long.calls).toBeGreaterThan(short.calls);
      });
    },
  );
}

/** The process in which system calls fail. */
class Player {
  readonly #folder = mkdtempSync(join(tmpdir(), "writ-writes-"));
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  readonly #exit: Promise<unknown>;

  constructor() {
    const at = (name: string) => join(this.#folder, name);
    const here = import.meta.dirname;
    const source = join(here, "failing-writes.c");
    const flags = ["-std=c11", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"];
    const built = spawnSync("cc", [...flags, "-o", at("failing-writes.so"), source, "-ldl"], {
      encoding: "utf8",
    });
    if (built.status !== 0) throw new Error(built.stderr);
    FaultPage.create(at("page"));
    this.#child = spawn(process.execPath, [join(here, "play-sqlite.ts"), this.#folder, at("page")], {
      env: {
        ...process.env,
        LD_PRELOAD: at("failing-writes.so"),
        WRIT_FAULT_FOLDER: at("live/"),
        WRIT_FAULT_PAGE: at("page"),
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#exit = once(this.#child, "close");
    this.#answers = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  async play(request: SceneRequest): Promise<SceneReport> {
    this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await this.#answers.next();
    if (done) throw new Error("the player has ended");
    return JSON.parse(value) as SceneReport;
  }

  async stop(): Promise<void> {
    this.#child.stdin!.end();
    await this.#exit;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
