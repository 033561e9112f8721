"""Calls the service with the client that openapi-python-client generated, and prints the result of each call."""

import os
import time

from petstore import AuthenticatedClient
from petstore.api.pets import create_category, create_pet, delete_pet, get_pet, list_pets, update_pet
from petstore.api.store import get_order, place_order
from petstore.models import ErrorBody, NewCategory, NewPet, Order, PetPatch, PetStatus

with AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"]) as client:
    cats = create_category.sync(client=client, body=NewCategory(name="Cats"))
    tom = NewPet(name="Tom", category_id=cats.id)
    key = f"rest-{time.time_ns()}"
    created = create_pet.sync_detailed(client=client, body=tom, idempotency_key=key)
    again = create_pet.sync_detailed(client=client, body=tom, idempotency_key=key)
    pet = created.parsed
    etag = created.headers["etag"]
    print("created", int(created.status_code), pet.name, pet.status is PetStatus.AVAILABLE)
    print("again", again.parsed == pet, again.headers["idempotency-replayed"])
    print("listed", list_pets.sync(client=client, status=PetStatus.AVAILABLE, category_id=cats.id) == [pet])
    print("chosen", list_pets.sync(client=client, ids=[pet.id, 999_999]) == [pet])
    print("unchanged", int(get_pet.sync_detailed(pet.id, client=client, if_none_match=etag).status_code))
    print("changed", update_pet.sync(pet.id, client=client, body=PetPatch(name="Tim"), if_match=etag).name)
    print("ordered", place_order.sync(client=client, body=Order()).quantity)
    for error in (
        update_pet.sync(pet.id, client=client, body=PetPatch(name="Tam"), if_match=etag),
        create_category.sync(client=client, body=NewCategory(name="")),
        get_order.sync(999_999, client=client),
    ):
        print("refused", isinstance(error, ErrorBody), error.status, error.code)
    print("deleted", int(delete_pet.sync_detailed(pet.id, client=client).status_code))
