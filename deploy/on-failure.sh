#!/bin/sh
# Run by systemd when a unit has failed, with its name: an alert in the journal, and your own program, such as a mail.
set -eu
echo "<1>$1 has failed: journalctl --unit $1"
hook=/etc/petstore/on-failure
if [ -x "$hook" ]; then exec "$hook" "$1"; fi
