"""REST by OpenAPI Generator, in Python."""

import json
import os
from urllib.parse import parse_qs

from openapi_client import ApiClient, Configuration, NewCategory, PetsApi, StoreApi
from openapi_client.exceptions import BadRequestException

client = ApiClient(Configuration(host=os.environ["API"], access_token=os.environ["API_KEY"]))
pets, store = PetsApi(client), StoreApi(client)
cats = pets.create_category(new_category=NewCategory(name="Cats"))
pets.create_category(new_category=NewCategory(name="Dogs"))
page = pets.list_categories_with_http_info(limit=1)
query = parse_qs({name.lower(): value for name, value in page.headers.items()}["link"].split("?")[1].split(">")[0])
second = pets.list_categories(limit=1, page_token=query["pageToken"][0])
try:
    pets.list_categories(page_token="nothing")
except BadRequestException as error:
    refused = json.loads(error.body)["code"]
events = store.list_events(types=["category.created"])
print(cats.name, str(page.data[0].id < second[0].id).lower(), refused, events[0].type)
