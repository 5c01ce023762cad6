import { describeImages } from "../deploy/describe-images.ts";

describeImages({ isWhole: true });
