import { describeStore } from "./describe-store.ts";
import { framedUnderTest } from "./framed-under-test.ts";

describeStore("group frames", () => framedUnderTest());
