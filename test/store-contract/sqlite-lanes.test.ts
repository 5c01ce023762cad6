import { describeLaneModel } from "./describe-lanes.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

describeLaneModel("SQLite", () => sqliteUnderTest(), 15);
