import { macBytes } from "../../frames/frame.ts";
import type { Context } from "../context.ts";

/**
 * Of a frame of which nothing is left, only its MAC is kept, which the next head names; and of several such frames in a row only the
 * last MAC. So what is kept does not grow with every frame that ever was. Why: ADR 0116.
 */
export function foldFrames({ sql, tallies, frame, frames }: Context, numbers: Iterable<number>): void {
  for (const number of numbers) {
    // The next frame follows the last one, and needs more than its MAC.
    if (number >= frame.number - 1) continue;
    const folded = sql.run(
      `UPDATE frames SET head = substr(head, -${macBytes}), first_event = last_event + 1
        WHERE number = ?1 AND length(head) > ${macBytes} AND (last_event <= ?2 OR last_event < first_event)
          AND NOT EXISTS (SELECT 1 FROM payloads WHERE place >= 8 * ?1 AND place < 8 * ?1 + 8)`,
      number,
      tallies.get("pruned_event"),
    );
    if (folded === 0) continue;
    frames.forget(number);
    dropNeighbours(sql, number);
  }
}

function dropNeighbours(sql: Context["sql"], number: number): void {
  const isFolded = `length(head) = ${macBytes}`;
  const next = sql.first<{ isFolded: number }>(
    `SELECT ${isFolded} AS isFolded FROM frames WHERE number > ? ORDER BY number LIMIT 1`,
    number,
  );
  if (next?.isFolded === 1) sql.run("DELETE FROM frames WHERE number = ?", number);
  const before = sql.first<{ number: number; isFolded: number }>(
    `SELECT number, ${isFolded} AS isFolded FROM frames WHERE number < ? ORDER BY number DESC LIMIT 1`,
    number,
  );
  if (before?.isFolded === 1) sql.run("DELETE FROM frames WHERE number = ?", before.number);
}
