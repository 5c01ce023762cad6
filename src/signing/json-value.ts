export { Decimal, type JsonObject, type JsonValue, toPlain } from "../core/json-value.ts";
