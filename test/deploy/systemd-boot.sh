# systemd as process 1 in namespaces of its own, on a copy of this machine's files that is gone at its end. It boots no
# service. Arguments: a folder to work in, and the repository, which becomes /opt/petstore.
set -eu
umask 022
work=$1 root=$1/root
mount --make-rprivate /
mount -t tmpfs tmpfs "$work"
mkdir "$work/upper" "$work/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
for folder in run tmp dev; do mount -t tmpfs tmpfs "$root/$folder"; done
chmod 755 "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
umount -R "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
mkdir "$root/sys/fs/cgroup/systemd"
mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
mkdir -p "$root/opt/petstore" "$root/run/targets"
mount --bind "$2" "$root/opt/petstore"
for target in sysinit basic shutdown; do
  printf '[Unit]\nDefaultDependencies=no\n' >"$root/run/targets/$target.target"
done
ip link set lo up
cd "$root"
mkdir old
pivot_root . old
umount -l /old
mount --make-rshared /
exec env -i container=other "PATH=$PATH" SYSTEMD_UNIT_PATH=/run/targets:/etc/systemd/system:/usr/lib/systemd/system \
  /lib/systemd/systemd --system --unit=basic.target --log-target=null
