import { describeOldHomes } from "../compat/describe-old-homes.ts";
import { schemasOfHomes } from "../compat/old-home.ts";

describeOldHomes(schemasOfHomes());
