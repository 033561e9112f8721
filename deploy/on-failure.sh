#!/bin/sh
# Run by systemd when a unit has failed, with its name: an alert in the journal, and your own program. That program gets
# no privileges, so it can't send mail by sendmail, which is setuid or setgid: docs/operations.md has one that can.
set -eu
echo "<1>$1 has failed: journalctl --unit $1"
hook=/etc/petstore/on-failure
if [ -x "$hook" ]; then exec "$hook" "$1"; fi
