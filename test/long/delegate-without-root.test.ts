import { describeWithoutRoot } from "../kinds/describe-without-root.ts";

describeWithoutRoot({ isWhole: true });
