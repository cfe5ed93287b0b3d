# The service as systemd runs it, in namespaces that end with this process: a system of its own over
# the files of this one. Called as: systemd.sh SINEW WORK OUT, in new mount, process, network, cgroup,
# host name and IPC namespaces. What is seen is written to OUT; OUT/done is the last of it.
set -e
sinew=$1 work=$2 out=$3

mount --make-rprivate /
mount -t tmpfs tmpfs "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root"
cd "$work/root"
install -m 755 "$sinew" usr/local/bin/sinew
mount -t proc proc proc
# Nothing of the kernel is to be changed.
mount -o bind,ro proc/sys proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/urandom c 1 9
# Neither the port nor a device that every program may use: no service may open it.
mknod -m 666 dev/other c 10 229
# Nothing else is to be started or mounted.
: > etc/fstab
rm -rf etc/systemd/system/*
echo 'sinew:x:64321:64321::/nonexistent:/usr/sbin/nologin' >> etc/passwd
echo 'sinew:x:64321:' >> etc/group
mkdir "$work/root/out"
mount --bind "$out" "$work/root/out"
mkdir old
pivot_root . old
exec > /out/log 2>&1
umount -l /old
cd /
ip link set lo up

sinew sim vacuum --symlink /dev/ttyV0 &
until [ -e /dev/ttyV0 ]; do sleep 0.05; done
# As the rule for udev would have it, which does not run here.
chown root:sinew "$(readlink /dev/ttyV0)"
chmod 660 "$(readlink /dev/ttyV0)"
sinew service --port /dev/ttyV0 --write /

# What the daemon may do, tried by a program that has the same rights.
cat > /usr/local/bin/try <<'TRY'
#!/bin/sh
try() { name=$1; shift; if "$@" 2> /dev/null; then echo "$name yes"; else echo "$name no"; fi; }
{
    try state touch /var/lib/sinew/x
    try etc touch /etc/x
    try usr touch /usr/x
    try home ls /home
    try other sh -c ': < /dev/other'
    try port sh -c ': < /dev/ttyV0'
    try mount mount -t tmpfs tmpfs /tmp
    try namespace unshare --user true
    try unix python3 -c 'import socket; socket.socket(socket.AF_UNIX)'
    try inet python3 -c 'import socket; socket.socket()'
    try processes sh -c '[ -e /proc/1/comm ]'
} > /var/lib/sinew/tried
TRY
chmod 755 /usr/local/bin/try
mkdir -p /etc/systemd/system/sinew.service.d
cat > /etc/systemd/system/sinew.service.d/test.conf <<'UNIT'
[Unit]
DefaultDependencies=no
[Service]
ExecStartPost=/usr/local/bin/try
UNIT
# Where root may not raise limits, the right itself stands in for them: the rest is as it is.
if ! prlimit --rtprio=20 true; then
    printf 'AmbientCapabilities=CAP_SYS_NICE\nCapabilityBoundingSet=CAP_SYS_NICE\n' \
        >> /etc/systemd/system/sinew.service.d/test.conf
    touch /out/no-limits
fi

ready() { until sinew robots --json 2> /dev/null | grep -q '"state":"ready"'; do sleep 0.1; done; }
main() { systemctl show --property MainPID --value sinew; }
(
    until [ -S /run/systemd/private ]; do sleep 0.05; done
    systemctl start sinew
    ready
    first=$(main)
    cat "/proc/$first/status" > /out/process
    cat "/proc/$first/limits" > /out/limits
    cp /var/lib/sinew/tried /out/tried
    env -u SINEW_TOKEN sinew doctor --vacuum serial:/dev/ttyV0 --json > /out/doctor || true
    # It does not stay dead.
    kill -KILL "$first"
    until [ "$(main)" != "$first" ] && [ "$(main)" != 0 ]; do sleep 0.1; done
    ready
    systemctl show --property NRestarts sinew > /out/stopped
    systemctl stop sinew
    systemctl show --property Result,ExecMainStatus,ActiveState sinew >> /out/stopped
    # What counts then are the rights of the service, not those of this user.
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all env -u SINEW_TOKEN \
        sinew doctor --vacuum serial:/dev/ttyV0 --json > /out/doctor-after || true
    touch /out/done
) &
container=test exec /lib/systemd/systemd --system --unit=basic.slice
