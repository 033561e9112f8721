import os
import random
import sys
import time
from pathlib import Path

import grpc
from petstore.v1 import events_pb2 as messages
from petstore.v1.events_pb2_grpc import EventServiceStub

KEY = ("authorization", f"Bearer {os.environ['API_KEY']}")
FIRST_DELAY, MAX_DELAY = 0.2, 10
# After any other status the same request would fail again.
PASSING = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "CANCELLED", "INTERNAL", "UNKNOWN"}
OPTIONS = [
    ("grpc.max_reconnect_backoff_ms", MAX_DELAY * 1000),
    # A connection that breaks without a sign is found after 35 s.
    ("grpc.keepalive_time_ms", 25_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
]
CURSOR, NEXT_CURSOR = Path("cursor"), Path("cursor.new")


def store(cursor: int) -> None:
    """Replaces the file at once, so that it is complete whenever the program ends."""
    NEXT_CURSOR.write_text(str(cursor))
    NEXT_CURSOR.replace(CURSOR)


cursor = int(CURSOR.read_text()) if CURSOR.exists() else 0  # 0: begin with the oldest event that is kept
delay = FIRST_DELAY
with grpc.insecure_channel(os.environ["API"].removeprefix("http://"), options=OPTIONS) as channel:
    events = EventServiceStub(channel)
    while True:
        try:
            for message in events.WatchEvents(messages.WatchEventsRequest(after=cursor), metadata=[KEY]):
                delay = FIRST_DELAY
                if message.HasField("event"):
                    print(message.event.id, message.event.type, flush=True)  # your own work
                    cursor = message.event.id
                else:
                    cursor = message.checkpoint.id
                store(cursor)
        except grpc.RpcError as error:
            if error.code().name in ("OUT_OF_RANGE", "INVALID_ARGUMENT"):  # EVENTS_EXPIRED, EVENT_NOT_REACHED
                sys.exit(f"read the lists again: {error.details()}")
            if error.code().name not in PASSING:
                raise
        time.sleep(delay * random.uniform(1, 1.5))
        delay = min(2 * delay, MAX_DELAY)
