import { describe } from "vitest";
import { becomeOrdinaryUser } from "./cage-stage.ts";

/** The tests of a cage once more, in cages that an ordinary user builds. */
becomeOrdinaryUser();
describe("without root, a cage", () => import("./cage.test.ts").then(() => {}));
describe("without root, escapes", () => import("./escapes.test.ts").then(() => {}));
describe("without root, endings", () => import("./endings.test.ts").then(() => {}));
