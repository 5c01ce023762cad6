import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../../runtime/log/logger.ts";
import { putBackLater } from "./put-back.ts";
import { readUndo } from "./undo-record.ts";

const namedMax = 100;

/**
 * Puts back the changes that agents of a killed worker made in repositories. Call it after their processes have ended,
 * and before the files of their attempts are removed. Never rejects: a repository that cannot be put back does not
 * prevent the start. Why: ADR 0066.
 */
export async function undoLeft(jobsDir: string, logger: Logger): Promise<void> {
  for (const jobId of await namesIn(jobsDir))
    for (const attempt of await namesIn(join(jobsDir, jobId))) {
      const about = { job_id: jobId, attempt: Number(attempt) };
      await undoAttempt(join(jobsDir, jobId, attempt), logger.child(about)).catch((error: unknown) =>
        logger.error({ ...about, err: error }, "what an agent changed in place could not be put back"),
      );
    }
}

async function undoAttempt(attemptDir: string, logger: Logger): Promise<void> {
  const found = await readUndo(attemptDir);
  if (found === null) return;
  const { dir } = found.undo;
  const left = await putBackLater(found.undo, found.untilMs);
  if (left.length === 0) return logger.info({ dir }, "what an agent had changed in place was put back");
  logger.warn(
    { dir, left: left.slice(0, namedMax), count: left.length },
    "what an agent had changed in place was put back, but not these files; look at them",
  );
}

function namesIn(dir: string): Promise<string[]> {
  // A directory that does not exist has no attempts.
  return readdir(dir).catch(() => []);
}
