import { expect, it } from "vitest";
import { differencesOf } from "../support/schedules/zone-oracle.ts";

it("finds around every change of the clock of every place, 2020 to 2040, what a walk by the minute finds", () => {
  let checks = 0;
  for (const zone of Intl.supportedValuesOf("timeZone")) {
    const { checked, differences } = differencesOf(zone);
    expect(differences).toEqual([]);
    checks += checked;
  }
  expect(checks).toBeGreaterThan(50_000);
});
