import { config } from "zod";

// zod compiles shapes to functions where it may. The page's policy forbids that, and even trying would be reported.
config({ jitless: true });
