import { type FileTicket, readTicket } from "../../use-cases/files/file-ticket.ts";
import type { Call } from "../call.ts";

type TicketCall = Call<"putObject" | "getObject" | "removeObject" | "completeUpload">;

/** The permission in this request's URL, checked against its method. */
export function ticketOf({ deps, params, exchange }: TicketCall): FileTicket {
  const { macKey } = deps.keys;
  return readTicket(macKey, params.ticket, { method: exchange.incoming.method!, nowMs: deps.clock.nowMs() });
}
