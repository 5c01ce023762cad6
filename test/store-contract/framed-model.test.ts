import { describeModel } from "./describe-model.ts";
import { framedUnderTest } from "./framed-under-test.ts";

describeModel("group frames", () => framedUnderTest(), 25);
