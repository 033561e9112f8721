-- Generated from the proto files by `npm run generate`: not to be edited.
return {
  headers = {
    body_type = 'x-petstore-body-type',
    accept_encoding = 'x-petstore-accept-encoding',
    connect = 'x-petstore-connect',
    stranger = 'x-petstore-stranger',
    accepted = 'x-petstore-accepted',
    length = 'x-petstore-length',
    not_modified = 'x-petstore-not-modified',
    error = 'x-petstore-error',
    request = 'x-petstore-request',
    account = 'x-petstore-account',
    key = 'x-petstore-key',
    code = 'x-petstore-code',
    refused = 'x-petstore-refused',
  },
  max_body_bytes = 65536,
  call_timeout_ms = 15000,
  unavailable = '{"code":"UNAVAILABLE","message":"the service is not available just now; try again shortly","status":503}',
  deadline_exceeded = '{"code":"DEADLINE_EXCEEDED","message":"the request was not answered in time","status":504}',
  connect = {
    unavailable = '{"code":"unavailable","message":"the service is not available just now; try again shortly","details":[{"type":"google.rpc.ErrorInfo","value":"CgtVTkFWQUlMQUJMRRIIcGV0c3RvcmU"},{"type":"google.rpc.RetryInfo","value":"CgIIAQ"}]}',
    deadline_exceeded = '{"code":"deadline_exceeded","message":"the request was not answered in time","details":[{"type":"google.rpc.ErrorInfo","value":"ChFERUFETElORV9FWENFRURFRBIIcGV0c3RvcmU"}]}',
    statuses = {
      canceled = '499',
      unknown = '500',
      invalid_argument = '400',
      deadline_exceeded = '504',
      not_found = '404',
      already_exists = '409',
      permission_denied = '403',
      resource_exhausted = '429',
      failed_precondition = '400',
      aborted = '409',
      out_of_range = '400',
      unimplemented = '501',
      internal = '500',
      unavailable = '503',
      data_loss = '500',
      unauthenticated = '401',
    },
  },
  retries = {
    on = 'connect-failure,refused-stream,reset-before-request',
    times = 2,
  },
  open_paths = {
    ['/healthz'] = true,
    ['/openapi.json'] = true,
    ['/openapi.yaml'] = true,
    ['/docs'] = true,
    ['/docs/page.js'] = true,
    ['/docs/page.css'] = true,
    ['/docs/favicon.svg'] = true,
    ['/docs/swagger-ui-bundle.js'] = true,
    ['/docs/swagger-ui.css'] = true,
  },
  questions = {
    judge = {
      path = '/petstore.edge.v1.EdgeService/Judge',
      fields = {},
    },
    refuse = {
      path = '/petstore.edge.v1.EdgeService/Refuse',
      fields = {
        method = 1,
        path = 2,
        status = 3,
        reply = 4,
        content_type = 5,
        body = 6,
      },
    },
    fail = {
      path = '/petstore.edge.v1.EdgeService/Fail',
      fields = {
        status = 1,
      },
    },
  },
  operations = {
    ['/petstore.v1.CategoryService/ListCategories'] = {
      status = '200',
      list = 'categories',
      int64 = {
        '"id":"',
      },
    },
    ['/petstore.v1.CategoryService/CreateCategory'] = {
      status = '201',
      int64 = {
        '"id":"',
      },
    },
    ['/petstore.v1.CategoryService/GetCategory'] = {
      status = '200',
      int64 = {
        '"id":"',
      },
    },
    ['/petstore.v1.CategoryService/ReplaceCategory'] = {
      status = '200',
      int64 = {
        '"id":"',
      },
    },
    ['/petstore.v1.CategoryService/UpdateCategory'] = {
      status = '200',
      int64 = {
        '"id":"',
      },
    },
    ['/petstore.v1.CategoryService/DeleteCategory'] = {
      status = '204',
      int64 = {},
    },
    ['/petstore.v1.PetService/ListPets'] = {
      status = '200',
      list = 'pets',
      int64 = {
        '"id":"',
        '"categoryId":"',
      },
    },
    ['/petstore.v1.PetService/CreatePet'] = {
      status = '201',
      int64 = {
        '"id":"',
        '"categoryId":"',
      },
    },
    ['/petstore.v1.PetService/GetPet'] = {
      status = '200',
      int64 = {
        '"id":"',
        '"categoryId":"',
      },
    },
    ['/petstore.v1.PetService/ReplacePet'] = {
      status = '200',
      int64 = {
        '"id":"',
        '"categoryId":"',
      },
    },
    ['/petstore.v1.PetService/UpdatePet'] = {
      status = '200',
      int64 = {
        '"id":"',
        '"categoryId":"',
      },
    },
    ['/petstore.v1.PetService/DeletePet'] = {
      status = '204',
      int64 = {},
    },
    ['/petstore.v1.InventoryService/ListInventory'] = {
      status = '200',
      list = 'items',
      int64 = {
        '"petId":"',
      },
    },
    ['/petstore.v1.InventoryService/GetInventoryItem'] = {
      status = '200',
      int64 = {
        '"petId":"',
      },
    },
    ['/petstore.v1.InventoryService/SetInventory'] = {
      status = '200',
      int64 = {
        '"petId":"',
      },
    },
    ['/petstore.v1.OrderService/ListOrders'] = {
      status = '200',
      list = 'orders',
      int64 = {
        '"id":"',
        '"petId":"',
      },
    },
    ['/petstore.v1.OrderService/PlaceOrder'] = {
      status = '201',
      int64 = {
        '"id":"',
        '"petId":"',
      },
    },
    ['/petstore.v1.OrderService/GetOrder'] = {
      status = '200',
      int64 = {
        '"id":"',
        '"petId":"',
      },
    },
    ['/petstore.v1.OrderService/UpdateOrder'] = {
      status = '200',
      int64 = {
        '"id":"',
        '"petId":"',
      },
    },
    ['/petstore.v1.OrderService/CancelOrder'] = {
      status = '204',
      int64 = {},
    },
  },
}
