// What is told about lanes. Why: ADR 0137.
import type { LaneStore, StoredLane } from "../lane-store.ts";
import { type Act, all } from "./act.ts";
import { Columns, nullable, number, text } from "./columns.ts";
import type { ReadDriver } from "./driver.ts";
import { type LaneRow, readLanes } from "./lane-rows.ts";

const holdersShown = 5;

export function* listLanes(
  _: ReadDriver,
  { tenantId, after, limit }: Parameters<LaneStore["listLanes"]>[0],
): Act<StoredLane[]> {
  const from = after ?? { tenantId: "", name: "" };
  const lanes = yield* readLanes(
    "WHERE (tenant_id = ?1 OR ?1 = '') AND (tenant_id, name) > (?2, ?3) ORDER BY tenant_id, name LIMIT ?4",
    tenantId ?? "",
    from.tenantId,
    from.name,
    limit,
  );
  return yield* withHolders(lanes);
}

export function* getLanes(
  _: ReadDriver,
  { tenantId, names }: Parameters<LaneStore["getLanes"]>[0],
): Act<StoredLane[]> {
  return yield* withHolders(
    yield* readLanes("WHERE tenant_id = ? AND name = ANY (?) ORDER BY name", tenantId, names),
  );
}

const places = new Columns({
  jobId: text("job_id"),
  userId: text("user_id"),
  until: nullable(number("until")),
});

function* withHolders(lanes: LaneRow[]): Act<StoredLane[]> {
  const found: StoredLane[] = [];
  for (const { id, opensAt: _, ...lane } of lanes) {
    const holders = yield* all(
      places,
      `SELECT ${places.list} FROM lane_places WHERE lane_id = ? ORDER BY job_seq, attempt LIMIT ${holdersShown}`,
      id,
    );
    found.push({ ...lane, holders });
  }
  return found;
}
