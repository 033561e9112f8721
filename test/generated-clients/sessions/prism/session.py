"""REST through Prism, which checks each request and response against the description."""

import json
import os
from urllib.error import HTTPError
from urllib.request import Request, urlopen

HEADERS = {"Authorization": f"Bearer {os.environ['API_KEY']}", "Content-Type": "application/json"}


def send(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(os.environ["API"] + path, data, HEADERS)) as response:
            return json.load(response), response.headers
    except HTTPError as error:
        return json.load(error), error.headers


cats, _ = send("/categories", {"name": "Cats"})
send("/categories", {"name": "\u00a0D\u00f6gs \U0001f436\u2003"})
page, headers = send("/categories?limit=1")
second, _ = send(headers["Link"].split("<")[1].split(">")[0])
refused, _ = send("/categories?pageToken=nothing")
events, _ = send("/events?types=category.created&limit=1")
is_next = str(page[0]["id"] < second[0]["id"]).lower()
print(cats["name"], is_next, refused["code"], events[0]["type"], end=" ", flush=True)
