"""A session with the client that openapi-python-client has generated."""

import os
from urllib.parse import parse_qs

from client import AuthenticatedClient
from client.api.pets import create_category, list_categories
from client.api.store import list_events
from client.models import ListEventsTypesItem, NewCategory

shop = AuthenticatedClient(base_url=os.environ["API"], token=os.environ["API_KEY"])
cats = create_category.sync(client=shop, body=NewCategory(name="Cats"))
create_category.sync(client=shop, body=NewCategory(name="Dogs"))
page = list_categories.sync_detailed(client=shop, limit=1)
query = parse_qs(page.headers["Link"].split("?")[1].split(">")[0])
second = list_categories.sync(client=shop, limit=1, page_token=query["pageToken"][0])
wrong = create_category.sync(client=shop, body=NewCategory(name=""))
events = list_events.sync(client=shop, types=[ListEventsTypesItem.CATEGORY_CREATED])
print(cats.name, str(page.parsed[0].id < second[0].id).lower(), wrong.code, events[0].type_)
