import os, random, sys, time, uuid
from pathlib import Path
from threading import Timer

import grpc
import petstore_pb2 as shop
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from grpc_status import rpc_status
from petstore_pb2_grpc import CategoryServiceStub, EventServiceStub, InventoryServiceStub
from petstore_pb2_grpc import OrderServiceStub, PetServiceStub

API, KEY = os.environ["API"], ("authorization", f"Bearer {os.environ['API_KEY']}")
PINGS = {"keepalive_time_ms": 25_000, "keepalive_timeout_ms": 10_000, "http2.ping_timeout_ms": 10_000}
OTHERS = {"http2.max_pings_without_data": 0, "max_reconnect_backoff_ms": 15_000}
OPTIONS = [(f"grpc.{name}", value) for name, value in {**PINGS, **OTHERS}.items()]
REPEATED = ["UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN", "CANCELLED"]
CURSOR = Path("cursor")


def pause_after(error, attempt):
    """Tells what is wrong, and returns the seconds until the next attempt: None if it would fail again."""
    info, bad, retry = ErrorInfo(), BadRequest(), RetryInfo()
    status = rpc_status.from_call(error)
    for detail in status.details if status else []:
        _ = [detail.Unpack(one) for one in (info, bad, retry)]  # fills the one whose type it has
    told = retry.retry_delay.ToTimedelta().total_seconds()
    fields = [f"{one.field}: {one.description}" for one in bad.field_violations]
    print(error.code().name, info.reason, error.details(), *fields, file=sys.stderr)
    if error.code().name not in REPEATED and not (error.code().name == "RESOURCE_EXHAUSTED" and told):
        return None
    return (told or min(2**attempt / 4, 15)) * random.uniform(1, 1.25)


def call(method, request, key=None):
    """Calls until it gets a response, for some minutes. What creates needs a key: then it is executed once."""
    metadata = [KEY] + ([("idempotency-key", key)] if key else [])
    for attempt in range(1, 11):
        try:
            return method(request, metadata=metadata, timeout=10)
        except grpc.RpcError as error:
            pause = pause_after(error, attempt)
            if pause is None or pause > 120 or attempt == 10:
                raise
            time.sleep(pause)


def follow(events, cursor):
    """Yields each event once, whatever ends the stream, and stores how far it is."""
    attempt = 0
    while True:
        stream = events.WatchEvents(shop.WatchEventsRequest(after=cursor), metadata=[KEY])
        try:
            while True:
                silence = Timer(35, stream.cancel)  # a message comes every 15 s
                silence.start()
                try:
                    message = next(stream)
                finally:
                    silence.cancel()
                attempt = 0
                if message.HasField("event"):
                    yield message.event
                cursor = message.event.id or message.checkpoint.id
                Path("cursor.new").write_text(str(cursor))
                Path("cursor.new").replace(CURSOR)
        except grpc.RpcError as error:
            attempt += 1
            pause = pause_after(error, attempt)
            if pause is None:
                raise
            time.sleep(pause)


scheme, host = API.split("://")
if scheme == "https":
    channel = grpc.secure_channel(host, grpc.ssl_channel_credentials(), OPTIONS)
else:
    channel = grpc.insecure_channel(host, OPTIONS)
categories, pets = CategoryServiceStub(channel), PetServiceStub(channel)
inventory, orders = InventoryServiceStub(channel), OrderServiceStub(channel)

new_category = shop.CreateCategoryRequest(category=shop.NewCategory(name="Cats"))
cats = call(categories.CreateCategory, new_category, key=str(uuid.uuid4()))
new_pet = shop.CreatePetRequest(pet=shop.NewPet(name="Tom", category_id=cats.id))
tom = call(pets.CreatePet, new_pet, key=str(uuid.uuid4()))
stock = shop.SetInventoryRequest(pet_id=tom.id, inventory=shop.InventoryUpdate(quantity=12))
call(inventory.SetInventory, stock)
order = shop.PlaceOrderRequest(order=shop.Order(pet_id=tom.id, quantity=2))
placed = call(orders.PlaceOrder, order, key=str(uuid.uuid4()))
print(f"order {placed.id}: {placed.quantity} of {tom.name}", flush=True)

page, count = shop.ListOrdersRequest(pet_id=tom.id, limit=100), 0
while True:
    answer = call(orders.ListOrders, page)
    count += len(answer.orders)
    page.page_token = answer.next_page_token
    if not page.page_token:
        break
print(f"orders of {tom.name}: {count}", flush=True)

start = int(CURSOR.read_text()) if CURSOR.exists() else 0  # 0: the oldest event that is kept
for event in follow(EventServiceStub(channel), start):
    print(event.id, event.type, flush=True)  # your own work
