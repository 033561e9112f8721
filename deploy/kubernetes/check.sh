#!/bin/sh
# Builds the manifests with kustomize and checks them against Kubernetes' schemas, which must know every field. The
# schemas (120 MB) are in a PyPI package, installed into a temporary folder. They don't cover cert-manager's kinds.
# Needs Python 3 with pip, and kustomize or kubectl.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv --without-pip "$work/python"
python3 -m pip --python "$work/python/bin/python" install --quiet kubernetes-validate==1.37.0

cp migration.yaml "$work/migration.all"
for folder in base autoscaling-by-calls; do
  if command -v kustomize >/dev/null; then kustomize build $folder; else kubectl kustomize $folder; fi \
    >"$work/$folder.all"
done
# One object per file, without cert-manager's objects.
for file in "$work"/*.all; do
  csplit --quiet --elide-empty-files --suppress-matched --prefix="$file." --suffix-format='%02d.yaml' \
    "$file" '/^---$/' '{*}'
done
grep -l '^apiVersion: cert-manager.io/' "$work"/*.yaml | xargs rm
"$work/python/bin/kubernetes-validate" --strict --quiet "$work"/*.yaml
echo "valid: $(find "$work" -maxdepth 1 -name '*.yaml' | wc -l) objects"
