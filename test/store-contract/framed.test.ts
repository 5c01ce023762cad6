import { describeStore } from "./describe-store.ts";
import { describeTerms } from "./describe-terms.ts";
import { framedUnderTest } from "./framed-under-test.ts";

describeStore("group frames", () => framedUnderTest());
describeTerms(() => framedUnderTest());
