"""A session with the client that openapi-python-client has generated."""

import os

from client import AuthenticatedClient
from client.api.pets import create_category, get_category, list_categories
from client.models import NewCategory

shop = AuthenticatedClient(base_url=os.environ["API"], token=os.environ["API_KEY"])
made = create_category.sync(client=shop, body=NewCategory(name="Cats"))
read = get_category.sync(made.id, client=shop)
listed = list_categories.sync(client=shop)
wrong = create_category.sync(client=shop, body=NewCategory(name=""))
print(read.name, str(len(listed) > 0).lower(), wrong.code)
