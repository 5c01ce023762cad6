import { describeLanes } from "./describe-lanes.ts";
import { describeSpending } from "./describe-spending.ts";
import { describeStandingOrders } from "./describe-standing-orders.ts";
import { describeStore } from "./describe-store.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

describeStore("SQLite", () => sqliteUnderTest());
describeStandingOrders(() => sqliteUnderTest());
describeSpending(() => sqliteUnderTest());
describeLanes(() => sqliteUnderTest());
