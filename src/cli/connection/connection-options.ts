import type { Command } from "commander";

/** The options that every command shares. They have a file of their own so that `--help` loads no client. */
export function addConnectionOptions(program: Command): void {
  program
    .option(
      "--home <dir>",
      "the hub's home directory (WRIT_HOME; default: .writ in the checkout, else ~/.writ)",
    )
    .option(
      "--hub <url>",
      "the hub's HTTP address, or several with commas (WRIT_HUB_URL; default: the hub that runs in --home)",
    )
    .option(
      "--token <token>",
      "act with this token; WRIT_TOKEN keeps it out of the process list (default: what --home holds)",
    )
    .option(
      "--ca <file>",
      "PEM file of the authority that signed the hub's certificate (WRIT_CA_FILE; default: the one in --home)",
    )
    .option("--json", "print JSON, one object per line");
}

/** The options of a certificate, which is used instead of a token. */
export function addCertificateOptions(program: Command): void {
  program
    .option(
      "--grpc <address>",
      "the hub's gRPC address as host:port, or several with commas (WRIT_GRPC_ADDR; default: as --hub)",
    )
    .option(
      "--user <name>",
      "act with this user's client certificate in --home (WRIT_USER; default: your login name)",
    )
    .option("--cert <file>", "act with this client certificate, a PEM file (WRIT_CERT_FILE)")
    .option(
      "--key <file>",
      "PEM file of its private key (WRIT_KEY_FILE; default: the .key file beside --cert)",
    );
}
