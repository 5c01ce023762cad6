// What coding agents of a tenant have used on one day. Why: ADR 0145.
import { nothingSpent, type Spent } from "../../core/agents/agent-budget.ts";
import { type Act, first } from "./act.ts";
import { Columns, number } from "./columns.ts";
import type { ReadDriver } from "./driver.ts";

const spentColumns = new Columns<Spent>({
  usd: number("usd"),
  tokens: number("tokens"),
  tool_calls: number("tool_calls"),
});

export function* getSpending(
  _: ReadDriver,
  { tenantId, day }: { tenantId: string; day: string },
): Act<Spent> {
  const text = `SELECT ${spentColumns.list} FROM agent_spending WHERE tenant_id = ? AND day = ?`;
  return (yield* first(spentColumns, text, tenantId, day)) ?? nothingSpent;
}

/** `rows` are the new values. A newer day begins at nothing; a hub whose clock is behind adds to the newer one. */
export function addSpendingText(rows: string): string {
  const sum = (part: string): string =>
    `${part} = excluded.${part} + CASE WHEN agent_spending.day < excluded.day THEN 0 ELSE agent_spending.${part} END`;
  return `INSERT INTO agent_spending (tenant_id, day, usd, tokens, tool_calls) ${rows}
    ON CONFLICT (tenant_id) DO UPDATE SET ${sum("usd")}, ${sum("tokens")}, ${sum("tool_calls")},
      day = CASE WHEN agent_spending.day < excluded.day THEN excluded.day ELSE agent_spending.day END`;
}
