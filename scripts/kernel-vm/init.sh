#!/bin/busybox sh
# The first process of the test machine: puts its root together from the disks that the host attached, gives the
# cgroup controllers to all children of the root cgroup, runs /run-tests on the real root and powers off.
# A step that fails says so on the console, so that "no result" has a reason in the host's serial log.

/bin/busybox --install -s /bin
export PATH=/bin

fail() {
  echo "VMINIT FAIL: $*" >/dev/console
  poweroff -f
}

disk() {
  for block in /sys/block/vd*; do
    [ "$(cat "$block/serial" 2>/dev/null)" = "$1" ] && echo "/dev/${block##*/}"
  done
}

port_count() {
  set -- /sys/class/virtio-ports/*/name
  [ -e "$1" ] && echo $# || echo 0
}

# Devices are found in the background; two seconds are a hundred times what that takes.
wait_for_devices() {
  tries=0
  while [ -z "$(disk base)" ] || [ -z "$(disk project)" ] || [ -z "$(disk scratch)" ] || [ -z "$(disk swap)" ] ||
    [ "$(port_count)" -lt 3 ]; do
    tries=$((tries + 1))
    [ $tries -gt 200 ] && fail "disks or ports missing: $(ls /sys/block /sys/class/virtio-ports | tr '\n' ' ')"
    usleep 50000
  done
}

mount -t proc proc /proc || fail "no /proc"
mount -t sysfs sysfs /sys || fail "no /sys"
mount -t devtmpfs devtmpfs /dev || fail "no /dev"
for module in $(cat /modules/order); do insmod "/modules/$module" || fail "insmod $module"; done
wait_for_devices

mkdir -p /base /project /rw /root
mount -t ext4 -o ro "$(disk base)" /base || fail "cannot mount the base image"
mount -t ext4 -o ro "$(disk project)" /project || fail "cannot mount the project image"
mount -t tmpfs -o size=60% rw /rw || fail "cannot mount a tmpfs"
mkdir /rw/upper /rw/work
chmod 755 /rw/upper
mount -t overlay -o lowerdir=/project:/base,upperdir=/rw/upper,workdir=/rw/work overlay /root || fail "no overlay"
mount -t ext4 -o noinit_itable "$(disk scratch)" /root/scratch || fail "cannot mount the scratch disk"
{ mkswap "$(disk swap)" && swapon "$(disk swap)"; } >/dev/null || fail "no swap"

for port in /sys/class/virtio-ports/*; do ln -s "${port##*/}" "/dev/vm-$(cat "$port/name")"; done
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts || fail "no /dev/pts"
mount -t tmpfs -o mode=1777 shm /dev/shm || fail "no /dev/shm"
ln -s /proc/self/fd /dev/fd
for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${n%%:*}" "/dev/${n##*:}"; done
ip link set lo up || fail "no loopback"
hostname writ-kernel-test

mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup2 /sys/fs/cgroup || fail "no cgroup v2"
echo "+cpu +memory +io +pids" >/sys/fs/cgroup/cgroup.subtree_control || fail "cgroup controllers missing"
for place in proc sys dev; do mount --move "/$place" "/root/$place" || fail "cannot move /$place"; done

echo "VMINIT OK" >/root/dev/console
# The status goes out after the output and alone on its port; power-off is left to no one else.
exec switch_root /root /bin/busybox sh -c '
  setsid sh /run-tests </dev/null >/dev/vm-output 2>&1
  echo "exit $?" >/dev/vm-status
  poweroff -f'
