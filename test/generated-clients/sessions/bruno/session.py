"""What Bruno has recorded of the imported collection."""

import json
import os


def bodies(key):
    with open(f"{key}.json") as opened:
        results = json.load(opened)[0]["results"]
    return {one["name"]: one["response"]["data"] for one in results}


answers, refused = bodies(os.environ["API_KEY"]), bodies("pst_wrong")
cats, listed = answers["Creates a category"], answers["Lists categories in ascending order of id"]
print(cats["name"], str(len(listed) > 0).lower(), refused["Creates a category"]["code"])
