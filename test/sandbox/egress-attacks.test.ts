import { describeAttacks, openAttackWorld } from "./describe-egress-attacks.ts";

describeAttacks(await openAttackWorld());
