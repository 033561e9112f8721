"""What newman has recorded of the converted collection."""

import json


def bodies(file):
    with open(file) as opened:
        executions = json.load(opened)["run"]["executions"]
    return {one["item"]["name"]: json.loads(bytes(one["response"]["stream"]["data"])) for one in executions}


answers, refused = bodies("out.json"), bodies("refused.json")
cats, listed = answers["Creates a category"], answers["Lists categories in ascending order of id"]
print(cats["name"], str(len(listed) > 0).lower(), refused["Creates a category"]["code"])
