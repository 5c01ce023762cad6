import { expect, it } from "vitest";
import { LabelBudget } from "./label-budget.ts";

it("C10: a tenant has a limited number of types, and the hub a limited number of tenants and pairs", () => {
  const budget = new LabelBudget();
  for (let type = 0; type < 20; type++) budget.labels("acme", `t${type}`);
  expect(budget.labels("acme", "t19")).toEqual({ tenant: "acme", type: "t19" });
  expect(budget.labels("acme", "t20")).toEqual({ tenant: "acme", type: "other" });
  expect(budget.labels("acme", "t0")).toEqual({ tenant: "acme", type: "t0" });
  for (let tenant = 1; tenant < 50; tenant++) {
    for (let type = 0; type < 20; type++) budget.labels(`tenant${tenant}`, `t${type}`);
  }
  expect(budget.labels("tenant9", "t19")).toEqual({ tenant: "tenant9", type: "t19" });
  expect(budget.labels("tenant10", "t0")).toEqual({ tenant: "tenant10", type: "other" });
  expect(budget.labels("late", "t0")).toEqual({ tenant: "other", type: "other" });
  expect(budget.labels(null, null)).toEqual({ tenant: "other", type: "other" });
});
