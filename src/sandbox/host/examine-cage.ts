import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildAdvice } from "../../runtime/built-files.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { type CageSummary, cageSummary } from "../cage-summary.ts";
import { builtLauncherFile, Launcher } from "../launcher/launcher.ts";
import type { IsolationLevel } from "../sandbox.ts";
import { defaultLevel, hostObstacle } from "./decide-isolation.ts";
import { type PartFinding, type PartName, partNames } from "./host-facts.ts";
import { probeHost } from "./probe-host.ts";

export type CageReport = {
  /** The level that a worker would choose here by default. */
  level: IsolationLevel;
  /** Why a worker here would start no process at all; null if it would. */
  obstacle: string | null;
  summary: CageSummary;
  parts: (PartFinding & { part: PartName | "launcher" })[];
};

/** Reports to people which parts this host supports. Tries a cage once and leaves nothing behind. */
export async function examineCage(input: { workDir: string; pid: number; uid: number }): Promise<CageReport> {
  const launcher = new Launcher({ file: builtLauncherFile, clock: systemClock });
  const scratchDir = await makeScratchDir(input.workDir);
  try {
    const facts = await probeHost({ ...input, launcher, scratchDir, visiblePaths: [], mayMove: false });
    const why = facts.launcherObstacle ?? "";
    const advice = `install gcc (or clang) and ${buildAdvice}`;
    const level = defaultLevel(facts);
    return {
      level,
      obstacle: hostObstacle(level, facts),
      summary: cageSummary(facts),
      parts: [
        { part: "launcher", had: why === "", why, advice },
        ...partNames.map((part) => ({ part, ...facts.parts[part] })),
      ],
    };
  } finally {
    await launcher.stop();
    await rm(scratchDir, { recursive: true, force: true });
  }
}

/** On the disk that jobs will use, if possible, because file systems differ in what they support. */
function makeScratchDir(workDir: string): Promise<string> {
  const name = "writ-doctor-";
  return mkdtemp(join(workDir, name)).catch(() => mkdtemp(join(tmpdir(), name)));
}
