import { describe, it } from "vitest";
import { noPostgres } from "../support/postgres-cluster.ts";
import { describeLanes } from "./describe-lanes.ts";
import { describeSpending } from "./describe-spending.ts";
import { describeStandingOrders } from "./describe-standing-orders.ts";
import { describeStore } from "./describe-store.ts";
import { postgresUnderTest } from "./postgres-under-test.ts";

if (noPostgres === undefined) {
  describeStore("PostgreSQL", () => postgresUnderTest());
  describeStandingOrders(() => postgresUnderTest());
  describeSpending(() => postgresUnderTest());
  describeLanes(() => postgresUnderTest());
} else describe.skip(`store on PostgreSQL: ${noPostgres}`, () => it("runs the contract", () => {}));
