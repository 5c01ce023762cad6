#!/bin/sh
# Makes the password with which the hub enters the broker, once: a copy for the hub, and its hash for the broker.
set -eu
umask 077
cd /run/broker
if [ -e passwd ]; then
  echo "there is a password already"
  exit 0
fi
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' > password
printf 'writ:%s\n' "$(cat password)" > draft
mosquitto_passwd -U draft
chown 10001:10001 password
chown mosquitto draft
mv draft passwd
