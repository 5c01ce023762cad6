import { describeImages } from "./describe-images.ts";

/** `npm run test:long -- images` asks everything. */
describeImages({ isWhole: false });
