import { posix } from "node:path";
import { commandOf } from "../../../contract/kinds.ts";
import type { JobSubmission } from "../../../contract/shapes/submit-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import type { HubSettings } from "../../settings/settings.ts";

/**
 * In these folders, a bare name of an allow list may also be called by its full path. A copy elsewhere is another
 * program.
 */
const systemFolders = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

/**
 * Refuses a command that `commands` in writ.yaml does not allow this user, over HTTP and gRPC alike. A denied command
 * stays denied even if another entry allows it; a user with an allow list may run nothing else. Why: ADR 0012.
 */
export function checkCommand(
  commands: HubSettings["commands"],
  call: { userId: string; submission: JobSubmission },
): void {
  const { run } = call.submission;
  const program = run === undefined ? undefined : commandOf(run)?.[0];
  if (commands === null || program === undefined) return;
  const own = Object.hasOwn(commands.users ?? {}, call.userId) ? commands.users![call.userId]! : {};
  const isDenied = [...(commands.deny ?? []), ...(own.deny ?? [])].some((rule) => isNamed(program, rule));
  const isAllowed = own.allow === undefined || own.allow.some((rule) => isAllowedBy(program, rule));
  if (!isDenied && isAllowed) return;
  throw new WritError(
    "PERMISSION_DENIED",
    `user ${call.userId} may not run ${JSON.stringify(program.slice(0, 200))}`,
  );
}

function isNamed(program: string, rule: string): boolean {
  return program === rule || posix.basename(program) === rule;
}

function isAllowedBy(program: string, rule: string): boolean {
  if (program === rule) return true;
  return posix.basename(program) === rule && systemFolders.includes(posix.dirname(program));
}
