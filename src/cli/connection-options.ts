import type { Command } from "commander";

/** The options that every command shares. They have a file of their own so that `--help` loads no client. */
export function addConnectionOptions(program: Command): void {
  program
    .option(
      "--home <dir>",
      "the hub's home directory (WRIT_HOME; default: .writ in the checkout, else ~/.writ)",
    )
    .option("--hub <url>", "the hub's HTTP address (WRIT_HUB_URL; default: the hub that runs in --home)")
    .option(
      "--token <token>",
      "the token to send; WRIT_TOKEN keeps it out of the process list (default: admin.token in --home)",
    )
    .option(
      "--ca <file>",
      "PEM file of the authority that signed the hub's certificate (WRIT_CA_FILE; default: the one in --home)",
    )
    .option("--json", "print JSON, one object per line");
}

/** The options of a program that also uses gRPC. */
export function addCertificateOptions(program: Command): void {
  program
    .option(
      "--grpc <address>",
      "the hub's gRPC address as host:port (WRIT_GRPC_ADDR; default: the hub that runs in --home)",
    )
    .option(
      "--user <name>",
      "use this user's client certificate from --home (WRIT_USER; default: your login name)",
    )
    .option("--cert <file>", "PEM file of another client certificate (WRIT_CERT_FILE)")
    .option(
      "--key <file>",
      "PEM file of its private key (WRIT_KEY_FILE; default: the .key file beside --cert)",
    );
}
