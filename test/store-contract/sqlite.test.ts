import { describeStore } from "./describe-store.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

describeStore("SQLite", () => sqliteUnderTest());
