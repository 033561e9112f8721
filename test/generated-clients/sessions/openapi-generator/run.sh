# Needs java, mvn, python3.
version=7.25.0
mvn -q -B dependency:copy -Dartifact="org.openapitools:openapi-generator-cli:$version" -DoutputDirectory=. >&2
java -jar "openapi-generator-cli-$version.jar" generate -g python -i "$DOCUMENT" -o client >&2
python3 -mpip install --quiet --root-user-action=ignore --target packages -r client/requirements.txt
PYTHONPATH=client:packages python3 session.py
