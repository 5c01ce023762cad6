import { type LevelWithSilent, type Logger as PinoLogger, pino, stdSerializers } from "pino";
import { redactFields, redactText } from "./redact.ts";
import { RotatingFile } from "./rotating-file.ts";

export type Logger = PinoLogger;
type LogLevel = LevelWithSilent;

type LoggerOptions = {
  file: string;
  level: LogLevel;
  /** 10 MiB unless told. */
  maxSizeBytes?: number;
  /** How many rotated files are kept, 5 unless told. */
  keep?: number;
};

const fileBytesDefault = 10 * 1024 * 1024;
const filesKept = 5;

/** A logger of JSON lines into a private file that rotates. `close()` writes what is still in memory. */
export function openLogger(options: LoggerOptions): Logger & { close(): void } {
  const file = new RotatingFile({
    file: options.file,
    sizeBytesMax: options.maxSizeBytes ?? fileBytesDefault,
    keep: options.keep ?? filesKept,
  });
  const logger = pino(
    {
      level: options.level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: hideSecrets,
      },
      serializers: { err: showError, error: showError },
    },
    // Tokens are hidden by field name above and by their shape here, because a message may quote one.
    { write: (line: string) => file.write(redactText(line)) },
  );
  hideSecretsOfChildren(logger);
  return Object.assign(logger, { close: () => file.close() });
}

export const silentLogger: Logger = pino({ level: "silent" });

/** Pino formats the fields of a call, but not those that a child logger is made with; children inherit this. */
function hideSecretsOfChildren(logger: Logger): void {
  const makeChild: (this: Logger, bindings: pino.Bindings, options?: object) => unknown = logger.child;
  logger.child = function <L extends string = never>(
    this: Logger,
    bindings: pino.Bindings,
    options?: pino.ChildLoggerOptions<L>,
  ): PinoLogger<L> {
    return makeChild.call(this, hideSecrets(bindings), options) as PinoLogger<L>;
  };
}

function hideSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  return redactFields(fields) as Record<string, unknown>;
}

function showError(error: unknown): unknown {
  return error instanceof Error ? redactFields({ ...stdSerializers.err(error) }) : error;
}
