import { realpathSync } from "node:fs";
import { join } from "node:path";
import { checkout, type MadeDebian, makeDebian } from "../support/make-debian.ts";

/** A shell, Python, a broker, and what Node needs; our Node and our programs are mounted or added. */
const packages = [
  ...["dash", "coreutils", "sed", "procps", "tar", "gzip"],
  ...["libstdc++6", "libatomic1", "python3", "mosquitto"],
];

const finish = `
for dir in proc sys root run tmp usr/local/bin var/lib/writ-agent var/log/writ-agent "$checkout"; do
  mkdir -p "$root/$dir"
done
printf '%s\n' root:x:0:0:root:/root:/bin/sh mosquitto:x:101:101::/:/bin/false > "$root/etc/passwd"
printf '%s\n' root:x:0: mosquitto:x:101: > "$root/etc/group"
ln -s "$checkout/bin/writ-agent" "$root/usr/local/bin/writ-agent"
`;

/** A Debian for the containers of the tests. */
export function rootFileSystem(): MadeDebian {
  if (!realpathSync(join(checkout, "node_modules/.writ/node")).startsWith(checkout))
    return { path: "", obstacle: "the Node of set-up is outside of the checkout" };
  return makeDebian({ name: "test-debian", variant: "extract", packages, finish });
}
