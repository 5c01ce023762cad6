import { describeModel } from "./describe-model.ts";
import { describeStore } from "./describe-store.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

describeStore("SQLite", () => sqliteUnderTest());
describeModel("SQLite", () => sqliteUnderTest(), 25);
