#!/bin/sh
# Makes the password with which the hub enters the database, once: a copy for the server, and one for the hub.
set -eu
umask 077
cd /run/database
if [ -e of-hub ]; then
  echo "there is a password already"
  exit 0
fi
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' > of-server
cp of-server draft
chown postgres of-server
chown 10001:10001 draft
mv draft of-hub
