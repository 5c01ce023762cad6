/** The entry point for tests of programs that use Writ: `import { TestHub } from "writ/testing"`. */
export { type CallOptions, callHandler, type HandlerCall } from "./call-handler.ts";
export { TestHub, type TestHubOptions } from "./test-hub.ts";
