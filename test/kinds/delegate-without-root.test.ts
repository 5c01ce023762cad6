import { describe } from "vitest";
import { becomeOrdinaryUser } from "../sandbox/cage-stage.ts";

/** The tests of coding agents once more, with a worker that is an ordinary user. */
becomeOrdinaryUser();
describe("without root, an agent", () => import("./delegate.test.ts").then(() => {}));
describe("without root, a hostile agent", () => import("./delegate-hostile.test.ts").then(() => {}));
describe("without root, paths", () => import("./delegate-paths.test.ts").then(() => {}));
describe("without root, an agent outside the cage", () =>
  import("./delegate-outside.test.ts").then(() => {}));
