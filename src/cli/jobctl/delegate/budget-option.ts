import { type AgentBudget, budgetParts } from "../../../core/agents/agent-budget.ts";
import { parsed } from "../../program.ts";

/** `--budget usd=5,tokens=200000,tool_calls=100`: any of the three, each at most once. */
export const budgetOf = parsed(parseBudget, "some of usd=5,tokens=200000,tool_calls=100");

export function parseBudget(text: string): AgentBudget | undefined {
  const budget: AgentBudget = {};
  for (const pair of text.split(",")) {
    const [name, amount = "", ...more] = pair.split("=");
    const part = budgetParts.find((one) => one === name?.trim().replaceAll("-", "_"));
    const form = part === "usd" ? /^\d{1,7}(\.\d{1,6})?$/ : /^\d{1,15}$/;
    if (part === undefined || budget[part] !== undefined || more.length > 0 || !form.test(amount)) return;
    budget[part] = Number(amount);
  }
  return budget;
}
