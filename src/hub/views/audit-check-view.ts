import type { AuditCheckView } from "../../contract/shapes/audit-shapes.ts";
import type { AuditCheckState } from "../audit/audit-check.ts";

export function auditCheckView(state: AuditCheckState): AuditCheckView {
  const nothing = { started_at: null, ended_at: null, through: 0, last: 0, reason: null, verdict: null };
  switch (state.status) {
    case "none":
      return { ...nothing, status: state.status };
    case "running": {
      const { status, startedAt, through, last } = state;
      return { ...nothing, status, started_at: startedAt, through, last };
    }
    case "failed": {
      const { status, startedAt, endedAt, reason } = state;
      return { ...nothing, status, started_at: startedAt, ended_at: endedAt, reason };
    }
    case "done": {
      const { status, startedAt, endedAt, verdict } = state;
      const { signedThrough, ...rest } = verdict;
      return {
        ...nothing,
        status,
        started_at: startedAt,
        ended_at: endedAt,
        through: verdict.last,
        last: verdict.last,
        verdict: { ...rest, ok: verdict.faults.length === 0, signed_through: signedThrough },
      };
    }
  }
}
