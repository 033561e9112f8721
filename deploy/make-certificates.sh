#!/bin/sh
# Creates the certificates for mutual TLS between edge and servers, and their authority: ca.pem, server.pem and
# server.key for the names and addresses of all servers, edge.pem and edge.key. In a folder with an authority it renews
# the certificates only. DAYS is how long they are valid. docs/edge.md says when to use what. Needs openssl.
#
#   deploy/make-certificates.sh FOLDER NAME-OR-ADDRESS...
#   deploy/make-certificates.sh /etc/petstore/internal petstore-0 petstore-1 10.0.0.11
#   deploy/make-certificates.sh --new-authority FOLDER    # which signs from now on; the old one stays trusted
#   deploy/make-certificates.sh --only-authority FOLDER   # trust no other
set -eu
action=
case ${1-} in --new-authority | --only-authority) action=$1 && shift ;; esac
if [ $# -lt 1 ] || { [ -z "$action" ] && [ $# -lt 2 ]; }; then
  echo "usage: $0 FOLDER NAME-OR-ADDRESS... | --new-authority FOLDER | --only-authority FOLDER" >&2
  exit 2
fi
umask 027 # the folder's group may read them
mkdir -p "$1"
cd "$1"
shift

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

# Two authorities of one name could not be told apart, so the name has the time.
authority() {
  key ca.key.new
  chmod 600 ca.key.new
  openssl req -x509 -new -key ca.key.new -out ca.pem.new -days 3650 -subj "/CN=petstore internal $(date -u +%FT%TZ)" \
    -addext basicConstraints=critical,CA:true,pathlen:0 -addext keyUsage=critical,keyCertSign
  [ ! -e ca.pem ] || cat ca.pem >>ca.pem.new # the first one signs
  mv ca.key.new ca.key
  mv ca.pem.new ca.pem
}

case $action in
  --new-authority)
    authority
    echo "made a new authority; $(pwd)/ca.pem trusts the old one too: copy it to all hosts"
    exit
    ;;
  --only-authority)
    openssl x509 -in ca.pem -out ca.pem.new # keeps the first one
    mv ca.pem.new ca.pem
    echo "$(pwd)/ca.pem trusts the newest authority only: copy it to all hosts"
    exit
    ;;
esac
[ -e ca.key ] || authority

names=
for name; do
  case $name in
    *:*) names=$names,IP:$name ;; # IPv6
    *[!0-9.]*) names=$names,DNS:$name ;;
    *) names=$names,IP:$name ;;
  esac
done

# leaf NAME USAGE [SUBJECT-ALTERNATIVE-NAMES]: replaces each file as a whole, the key first.
leaf() {
  key "$1.key.new"
  chmod 640 "$1.key.new"
  printf 'basicConstraints=critical,CA:false\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=%s\n' "$2" >"$1.ext"
  [ -z "${3-}" ] || printf 'subjectAltName=%s\n' "$3" >>"$1.ext"
  openssl req -new -key "$1.key.new" -subj "/CN=petstore $1" |
    openssl x509 -req -CA ca.pem -CAkey ca.key -days "${DAYS:-397}" -extfile "$1.ext" -out "$1.pem.new" 2>/dev/null
  rm "$1.ext"
  mv "$1.key.new" "$1.key"
  mv "$1.pem.new" "$1.pem"
}
# A server's certificate is a client certificate too, for the petstore command on the same machine.
leaf server serverAuth,clientAuth "${names#,}"
leaf edge clientAuth
echo "made $(pwd)/{ca,server,edge}.pem for ${names#,}; keep ca.key elsewhere"
