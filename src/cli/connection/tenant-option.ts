import { tenantId } from "../../contract/shapes/fields.ts";
import { parsed } from "../program.ts";

export const tenantAllowed = "3 to 50 letters, digits or _";

/** A commander parser for a tenant: refused here, it is named as the option and not as the field of a request. */
export const parseTenant = parsed((text) => tenantId.safeParse(text).data, tenantAllowed);
