import { describeStore } from "./describe-store.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";
import { openWithoutThread } from "./sqlite-without-thread.ts";

describeStore("SQLite without its thread", () => sqliteUnderTest({}, openWithoutThread));
