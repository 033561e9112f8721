import json
import os
import uuid

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from petstore.v1 import categories_pb2 as messages
from petstore.v1.categories_pb2_grpc import CategoryServiceStub

KEY = ("authorization", f"Bearer {os.environ['API_KEY']}")

# gRPC sends a call again that got UNAVAILABLE, or whose connection broke. So what creates needs an idempotency key.
RETRIES = {
    "maxAttempts": 5,
    "initialBackoff": "0.5s",
    "maxBackoff": "5s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}
OPTIONS = [("grpc.service_config", json.dumps({"methodConfig": [{"name": [{}], "retryPolicy": RETRIES}]}))]

# With https: grpc.secure_channel and grpc.ssl_channel_credentials().
with grpc.insecure_channel(os.environ["API"].removeprefix("http://"), options=OPTIONS) as channel:
    categories = CategoryServiceStub(channel)

    cats = categories.CreateCategory(
        messages.CreateCategoryRequest(category=messages.NewCategory(name="Cats")),
        metadata=[KEY, ("idempotency-key", str(uuid.uuid4()))],
        timeout=10,
    )
    print(cats.id, cats.name)

    try:
        categories.CreateCategory(messages.CreateCategoryRequest(), metadata=[KEY], timeout=10)
    except grpc.RpcError as error:
        for detail in rpc_status.from_call(error).details:
            info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
            if detail.Unpack(info):
                print(info.reason)  # INVALID_ARGUMENT
            elif detail.Unpack(bad):
                for violation in bad.field_violations:
                    print(violation.field, violation.description)
