#!/bin/sh
# Creates the certificates for mutual TLS between edge and servers, and their authority: ca.pem, server.pem and
# server.key for the names and addresses in SERVERS, edge.pem and edge.key. In a folder with an authority it renews the
# certificates only. Needs openssl.
#
#   deploy/make-certificates.sh FOLDER NAME-OR-ADDRESS...
#   deploy/make-certificates.sh /etc/petstore/internal petstore-0 petstore-1 10.0.0.11
set -eu
if [ $# -lt 2 ]; then
  echo "usage: $0 FOLDER NAME-OR-ADDRESS..." >&2
  exit 2
fi
umask 027 # the folder's group may read them
mkdir -p "$1"
cd "$1"
shift
ca_days=3650
days=397

names=
for name; do
  case $name in
    *:*) names=$names,IP:$name ;; # IPv6
    *[!0-9.]*) names=$names,DNS:$name ;;
    *) names=$names,IP:$name ;;
  esac
done

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

if [ ! -e ca.key ]; then
  key ca.key
  chmod 600 ca.key
  openssl req -x509 -new -key ca.key -out ca.pem -days $ca_days -subj '/CN=petstore internal' \
    -addext basicConstraints=critical,CA:true,pathlen:0 -addext keyUsage=critical,keyCertSign
fi

# leaf NAME USAGE [SUBJECT-ALTERNATIVE-NAMES]: replaces each file as a whole, the key first.
leaf() {
  key "$1.key.new"
  chmod 640 "$1.key.new"
  printf 'basicConstraints=critical,CA:false\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=%s\n' "$2" >"$1.ext"
  [ -z "${3-}" ] || printf 'subjectAltName=%s\n' "$3" >>"$1.ext"
  openssl req -new -key "$1.key.new" -subj "/CN=petstore $1" |
    openssl x509 -req -CA ca.pem -CAkey ca.key -days $days -extfile "$1.ext" -out "$1.pem.new" 2>/dev/null
  rm "$1.ext"
  mv "$1.key.new" "$1.key"
  mv "$1.pem.new" "$1.pem"
}
# A server's certificate is a client certificate too, for the petstore command on the same machine.
leaf server serverAuth,clientAuth "${names#,}"
leaf edge clientAuth
echo "made $(pwd)/{ca,server,edge}.pem for ${names#,}; keep ca.key elsewhere"
