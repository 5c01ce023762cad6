import { apiPrefix } from "../../contract/routes/route.ts";

/** Every route is served below both. */
export const apiPrefixes = [apiPrefix, "/api"] as const;
