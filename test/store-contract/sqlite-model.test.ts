import { describeModel } from "./describe-model.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

describeModel("SQLite", () => sqliteUnderTest(), 25);
