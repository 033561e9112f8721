# Needs go.
GOBIN="$PWD" go install go.k6.io/k6@v1.8.1 >&2
./k6 run --quiet --log-format raw session.js > summary 2> log
grep -q '✓ gRPC lists' summary
cat log
