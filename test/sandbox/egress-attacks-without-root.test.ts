import { describe } from "vitest";
import { becomeOrdinaryUser } from "./cage-stage.ts";
import { describeAttacks, openAttackWorld } from "./describe-egress-attacks.ts";

/** The same attacks on a closed network that an ordinary user has made. */
const world = await openAttackWorld();
becomeOrdinaryUser();
describe("without root", () => describeAttacks(world));
