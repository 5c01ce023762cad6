import type { AuditCheckView } from "../../contract/shapes/audit-shapes.ts";

type Block = { from: number; kind: "whole" | "broken" | "waiting" | "unchecked"; isHead: boolean };

const blocksMax = 22;

/** The trail in equal parts: what was checked, what is broken, and which part the newest signature is in. */
export function chainBlocks(check: AuditCheckView | undefined): Block[] {
  const first = check?.verdict?.first ?? 1;
  const last = Math.max(first, check?.last ?? 0);
  const records = check === undefined || check.status === "none" ? blocksMax : last - first + 1;
  const count = Math.min(blocksMax, records);
  return Array.from({ length: count }, (_, index) => {
    const from = first + Math.floor((index * records) / count);
    const until = first + Math.floor(((index + 1) * records) / count);
    const signed = check?.verdict?.signed_through ?? 0;
    return { from, kind: kindOf(check, from, until), isHead: signed >= from && signed < until };
  });
}

function kindOf(check: AuditCheckView | undefined, from: number, until: number): Block["kind"] {
  const verdict = check?.verdict ?? null;
  if (check?.status === "running") return check.through >= until - 1 ? "whole" : "unchecked";
  if (verdict === null) return "unchecked";
  if (verdict.faults.some(({ seq }) => seq !== null && seq >= from && seq < until)) return "broken";
  return from > verdict.last - verdict.unsealed ? "waiting" : "whole";
}

export function percentDone({ through, last }: AuditCheckView): number {
  return last === 0 ? 0 : Math.min(100, Math.floor((through / last) * 100));
}
