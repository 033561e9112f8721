#!/bin/sh
# Creates the Containerfile's two base images from Debian's packages, for machines without access to an image registry:
# petstore-build (a compiler, Python with pip, this machine's Node and npm) and petstore-base (the C and C++ libraries,
# without a shell or a package manager). Needs mmdebstrap, buildah and root. Takes two minutes.
#
#   deploy/container/make-bases.sh
#   buildah build --build-arg BUILD_IMAGE=localhost/petstore-build --build-arg BASE_IMAGE=localhost/petstore-base ...
set -eu
suite=${DEBIAN_SUITE:-bookworm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# import NAME: an image of the root file system on standard input
import() {
  container=$(buildah from scratch)
  buildah add -q "$container" "$work/$1.tar" / >/dev/null
  buildah commit -q --rm "$container" "localhost/$1" >/dev/null
  echo "made localhost/$1"
}

# The runtime image. Packages are unpacked but not configured, so it has none of Debian's own tools.
mmdebstrap --quiet --variant=extract --include=libc6,libstdc++6,libatomic1,ca-certificates,tzdata \
  --customize-hook='cd "$1" && rm -rf usr/share/doc usr/share/man usr/share/locale var/lib/dpkg var/cache' \
  --customize-hook='cat "$1"/usr/share/ca-certificates/mozilla/*.crt >"$1"/etc/ssl/certs/ca-certificates.crt' \
  --customize-hook='printf "petstore:x:65532:65532::/nonexistent:/nologin\n" >"$1"/etc/passwd' \
  --customize-hook='mkdir -p "$1"/tmp && chmod 1777 "$1"/tmp' \
  "$suite" "$work/petstore-base.tar"
import petstore-base

# The build image. It has this machine's Node and npm, because Debian's are too old, its Node headers, which node-gyp
# would download, and the certificate authorities that it trusts.
mmdebstrap --quiet --variant=minbase --include=ca-certificates,g++,make,python3,python3-pip \
  --customize-hook="copy-in $(readlink -f "$(command -v node)") /usr/bin" \
  --customize-hook="copy-in $(npm root --global) /usr/lib" \
  --customize-hook='ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1"/usr/bin/npm' \
  --customize-hook='copy-in /usr/include/node /usr/include' \
  --customize-hook='copy-in /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs' \
  --customize-hook='printf "nodedir=/usr\ncafile=/etc/ssl/certs/ca-certificates.crt\n" >"$1"/root/.npmrc' \
  --customize-hook='printf "[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n" >"$1"/etc/pip.conf' \
  "$suite" "$work/petstore-build.tar"
import petstore-build
