import { describeDatabaseFaults, everything } from "../exhaustive/describe-database-faults.ts";

describeDatabaseFaults(everything);
