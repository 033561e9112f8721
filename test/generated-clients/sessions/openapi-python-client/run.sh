# Needs python3.
python3 -mpip install --quiet --root-user-action=ignore --target packages \
  openapi-python-client==0.29.1 openapi-spec-validator==0.9.0
export PYTHONPATH=packages PATH="$PWD/packages/bin:$PATH"
python3 -m openapi_spec_validator "$DOCUMENT" >&2
openapi-python-client generate --path "$DOCUMENT" --output-path client --meta none >&2
python3 session.py
