import { expect, it } from "vitest";
import { differencesOf, zonesOfDistinctRules } from "../support/schedules/zone-oracle.ts";

it("hazard 4: around every change of the clock, one place for each rule, as a walk by the minute finds", () => {
  const zones = zonesOfDistinctRules();
  expect(zones.length).toBeGreaterThan(20);
  let checks = 0;
  for (const zone of zones) {
    const { checked, differences } = differencesOf(zone);
    expect(differences).toEqual([]);
    checks += checked;
  }
  expect(checks).toBeGreaterThan(5_000);
});
